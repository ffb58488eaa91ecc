#include "config.h"

#include <time.h>

#include "clock.h"

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

uint64_t
clock_process_cpu_us(pid_t pid)
{
	struct timespec ts;
	clockid_t clk;

	if (clock_getcpuclockid(pid, &clk) != 0 ||
	    clock_gettime(clk, &ts) == -1)
		return 0;
	return timespec_us(&ts);
}
