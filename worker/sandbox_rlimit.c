#include "config.h"

#include <stddef.h>
#include <sys/resource.h>

#include "sandbox_rlimit.h"

#define STACK_BYTES	(8 * 1024 * 1024)
/* Else a job could hold close to 100,000 queued signals and timers. */
#define SIGPENDING_MAX	256

static int
set(int what, rlim_t soft, rlim_t hard)
{
	struct rlimit rl, now;

	/* A limit can only be kept or lowered here. */
	if (getrlimit(what, &now) == -1)
		return -1;
	rl.rlim_max = hard < now.rlim_max ? hard : now.rlim_max;
	rl.rlim_cur = soft < rl.rlim_max ? soft : rl.rlim_max;
	return setrlimit(what, &rl);
}

static int
set_cpu(uint64_t ms)
{
	rlim_t s = (ms + 999) / 1000;

	/* The soft limit sends SIGXCPU, which kills by default; a program
	 * that ignores it is killed a second later. */
	return ms == 0 ? 0 : set(RLIMIT_CPU, s, s + 1);
}

static int
set_one(int what, uint64_t value)
{
	return value == 0 ? 0 : set(what, value, value);
}

int
rlimit_apply(const struct limits *lim, uint64_t base_as)
{
	static const struct {
		int	what;
		rlim_t	value;
	} fixed[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_STACK, STACK_BYTES },
		{ RLIMIT_MSGQUEUE, 0 },
		{ RLIMIT_MEMLOCK, 0 },
		{ RLIMIT_SIGPENDING, SIGPENDING_MAX },
	};
	size_t i;

	for (i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
		if (set(fixed[i].what, fixed[i].value, fixed[i].value) == -1)
			return -1;
	if (set_cpu(lim->cpu_ms) == -1 ||
	    set_one(RLIMIT_NOFILE, lim->fds) == -1 ||
	    set_one(RLIMIT_FSIZE, lim->scratch) == -1)
		return -1;
	return lim->memory == 0 ? 0 :
	    set_one(RLIMIT_AS, base_as + lim->memory);
}

/* What of b is tighter than a; 0 if it is not. */
static uint64_t
tighter(uint64_t a, uint64_t b)
{
	return b != 0 && (a == 0 || b < a) ? b : 0;
}

int
rlimit_lower(const struct limits *made_with, const struct limits *job,
    uint64_t base_as)
{
	uint64_t memory = tighter(made_with->memory, job->memory);

	if (set_cpu(tighter(made_with->cpu_ms, job->cpu_ms)) == -1 ||
	    set_one(RLIMIT_NOFILE, tighter(made_with->fds, job->fds)) == -1 ||
	    set_one(RLIMIT_FSIZE,
	    tighter(made_with->scratch, job->scratch)) == -1)
		return -1;
	return memory == 0 ? 0 : set_one(RLIMIT_AS, base_as + memory);
}

int
rlimit_cpu_from_now(uint64_t cpu_ms)
{
	struct rlimit rl;
	struct rusage ru;
	rlim_t until;

	if (cpu_ms == 0)
		return 0;
	if (getrlimit(RLIMIT_CPU, &rl) == -1 ||
	    getrusage(RUSAGE_SELF, &ru) == -1)
		return -1;
	until = ru.ru_utime.tv_sec + ru.ru_stime.tv_sec + 1 +
	    (cpu_ms + 999) / 1000;
	rl.rlim_cur = until < rl.rlim_max ? until : rl.rlim_max;
	return setrlimit(RLIMIT_CPU, &rl);
}
