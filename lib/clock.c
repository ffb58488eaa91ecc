#include "config.h"

#include <time.h>

#include "clock.h"

/* No clock has this number; to ask it fails. */
#define NO_CLOCK	((clockid_t)0x7fff)

static uint64_t
timespec_us(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * 1000000 + ts->tv_nsec / 1000;
}

uint64_t
clock_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return timespec_us(&ts);
}

clockid_t
clock_of_process(pid_t pid)
{
	clockid_t clk;

	return clock_getcpuclockid(pid, &clk) == 0 ? clk : NO_CLOCK;
}

uint64_t
clock_cpu_us(clockid_t clk)
{
	struct timespec ts;

	return clock_gettime(clk, &ts) == 0 ? timespec_us(&ts) : 0;
}
