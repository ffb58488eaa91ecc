#include "config.h"

#include <unistd.h>

#include "conf.h"
#include "pool_prefault.h"
#include "refill.h"

/* What a worker touches at a time takes it about half a millisecond. */
#define PAGES_AT_ONCE	256
/* What it has touched counts against its memory limit, of which this part
 * is no job's to miss. */
#define MEMORY_PART	8

/* Calls of sessions end without a word to the pool. */
#define CALLS_AGAIN_US	10000

uint64_t
pool_prefault_wait_us(const struct refill_state *s, unsigned calls)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned others = cpus > 2 ? cpus - 2 : 0;

	/* One CPU is for the worker that is asked, one for adderd. */
	if (s->queued > 0 || s->starting > 0 || s->busy > others)
		return PREFAULT_NOT_NOW;
	return s->busy + calls > others ? CALLS_AGAIN_US : refill_quiet_us(s);
}

static uint64_t
pages_max(const struct conf *conf)
{
	uint64_t bytes = conf->limits_memory / MEMORY_PART;

	return bytes == 0 ? UINT64_MAX : bytes / sysconf(_SC_PAGESIZE);
}

/* Of the first heads that wait, the first that has something left. */
static struct worker_proc *
find_next(const struct worker_list *workers, uint64_t heads, uint64_t max)
{
	struct worker_proc *w;

	TAILQ_FOREACH(w, workers, entry) {
		if (w->state != WORKER_PARKED)
			continue;
		if (heads-- == 0)
			return NULL;
		if (!w->prefault_done && w->prefaulted < max)
			return w;
	}
	return NULL;
}

int
pool_prefault_is_due(const struct worker_list *workers, uint64_t heads,
    const struct conf *conf)
{
	return find_next(workers, heads, pages_max(conf)) != NULL;
}

struct worker_proc *
pool_prefault_ask(struct worker_list *workers, uint64_t heads,
    const struct conf *conf)
{
	uint64_t max = pages_max(conf), left;
	struct worker_proc *w = find_next(workers, heads, max);

	if (w == NULL)
		return NULL;
	left = max - w->prefaulted;
	worker_proc_prefault(w, left < PAGES_AT_ONCE ? left : PAGES_AT_ONCE);
	return w;
}
