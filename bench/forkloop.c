/*
 * The bare cost of a process: an interpreter in the zygote's state, brought
 * there by the zygote's own code, forks, the child leaves at once and the
 * parent waits, again and again; then the same after its memory has been
 * compacted.  Prints one JSON object.
 *
 *   forkloop PYTHON-ENV MODULES COUNT
 */
#include "config.h"

#include "pycompat.h"

#include <sys/wait.h>

#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "compact.h"
#include "interp.h"
#include "log.h"
#include "mem.h"
#include "preload.h"

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Microseconds of one fork, exit and wait. */
static uint64_t
fork_once(void)
{
	uint64_t start = clock_us();
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(0);
	if (pid == -1)
		err(2, "fork");
	if (waitpid(pid, &status, 0) != pid || status != 0)
		errx(2, "a child ended with wait status 0x%x", status);
	return clock_us() - start;
}

static void
start_python(const char *env, const char *modules)
{
	static const char *const threads[] = { "OPENBLAS_NUM_THREADS",
	    "OMP_NUM_THREADS", "MKL_NUM_THREADS" };
	char *why = NULL;
	size_t i;

	setenv("MPLBACKEND", "Agg", 1);
	for (i = 0; i < sizeof threads / sizeof threads[0]; i++)
		setenv(threads[i], "1", 1);
	if (interp_start(env, &why) == -1 || preload(modules, &why) == -1)
		errx(2, "%s", why);
	preload_warm("");
	if (preload_hook_figures(&why) == -1)
		errx(2, "%s", why);
}

static void
measure(const char *name, uint64_t *times, unsigned long n)
{
	uint64_t start;
	unsigned long i;

	for (i = 0; i < 50; i++)
		fork_once();
	start = clock_us();
	for (i = 0; i < n; i++)
		times[i] = fork_once();
	start = clock_us() - start;
	qsort(times, n, sizeof(*times), compare);
	printf("\"%s\": {\"per_second\": %.1f, \"p50_us\": %llu}", name,
	    (double)n * 1e6 / (double)start,
	    (unsigned long long)times[n / 2]);
}

int
main(int argc, char **argv)
{
	unsigned long n = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	struct compact_result compacted;
	const char *step;
	uint64_t *times;

	if (n == 0) {
		fprintf(stderr, "usage: forkloop python-env modules count\n");
		return 2;
	}
	log_init("forkloop", LOG_LEVEL_WARN);
	start_python(strcmp(argv[1], "system") == 0 ? "" : argv[1], argv[2]);
	times = xcalloc(n, sizeof(*times));
	printf("{");
	measure("plain", times, n);
	printf(", ");
	fflush(stdout);
	if (compact(&compacted, &step) == -1)
		err(2, "compaction: %s", step);
	measure("compacted", times, n);
	printf("}\n");
	return 0;
}
