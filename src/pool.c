#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "clock.h"
#include "conf.h"
#include "job_record.h"
#include "log.h"
#include "mem.h"
#include "pool.h"
#include "pool_prefault.h"
#include "refill.h"
#include "sandboxes.h"
#include "worker_proc.h"

/* Workers whose start is remembered for the status. */
#define RECENT		64

struct pool {
	struct event_base	*base;
	struct conf		*conf;
	struct keeper_proc	*keeper;
	uint64_t		 generation;
	int			 early;		/* no worker ahead of need */
	unsigned		 demand;
	struct worker_list	 workers;
	struct event		*ev_tend;
	uint64_t		 prepare_us[RECENT];	/* of the last parked */
	uint64_t		 confine_us[RECENT];
	unsigned		 nparked;
	unsigned		 starting_max;
	unsigned		 prefault_max;
	struct worker_proc	*prefaulting;	/* that was asked to */
	uint64_t		 touched_us;	/* a job last began or ended */
	const struct pool_observer *observer;
	void			*arg;
	struct sandboxes	*sandboxes;	/* NULL for none */
};

static void	on_parked(struct worker_proc *, void *);
static void	on_failed(struct worker_proc *, const char *, void *);
static void	on_prefaulted(struct worker_proc *, void *);
static void	on_returned(struct worker_proc *, struct job *, void *);
static void	on_idle_over(struct worker_proc *, void *);
static void	on_exited(struct worker_proc *, void *);

static const struct worker_observer worker_observer = {
	on_parked, on_failed, on_prefaulted, on_returned, on_idle_over,
	on_exited
};

/* States change inside worker_proc; the counts are taken when asked for. */
static void
count_states(const struct pool *p, unsigned count[WORKER_STATES])
{
	const struct worker_proc *w;

	memset(count, 0, sizeof(unsigned) * WORKER_STATES);
	TAILQ_FOREACH(w, &p->workers, entry)
		count[w->state]++;
}

static unsigned
workers_wanted(const struct pool *p, const unsigned count[WORKER_STATES])
{
	unsigned running = count[WORKER_BUSY] + count[WORKER_ENDING];
	unsigned want = p->conf->pool_warm, room = 0;

	if (running < p->conf->pool_max)
		room = p->conf->pool_max - running;
	if (p->early) {
		want = p->demand < p->starting_max ? p->demand :
		    p->starting_max;
		return want < room ? want : room;
	}
	if (p->demand > want)
		want = p->demand < room ? p->demand : room;
	return want;
}

/* Workers being made at once: as many as there are CPUs to make them, since
 * more would wait for each other, and running jobs for all of them. */
static unsigned
count_starting_max(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus < 2 ? 2 : cpus;
}

static void
begin_workers(struct pool *p, unsigned n)
{
	struct worker_proc *w;
	struct limits lim;

	worker_proc_limits(p->conf, &lim);
	while (n-- > 0) {
		w = worker_proc_new(p->base, p->keeper, p->generation, &lim,
		    &worker_observer, p);
		TAILQ_INSERT_TAIL(&p->workers, w, entry);
	}
}

static unsigned
calls_of_sessions(const struct pool *p)
{
	struct sandboxes_counts c = { .busy = 0 };

	if (p->sandboxes != NULL)
		sandboxes_counts(p->sandboxes, &c);
	return c.busy;
}

/* How long to wait until there is something to ask for. */
static uint64_t
prefault(struct pool *p, const struct refill_state *s)
{
	uint64_t wait, heads = p->conf->pool_prefault;

	if (heads > p->prefault_max)
		heads = p->prefault_max;
	if (p->prefaulting != NULL ||
	    !pool_prefault_is_due(&p->workers, heads, p->conf))
		return 0;
	wait = pool_prefault_wait_us(s, calls_of_sessions(p));
	if (wait == 0)
		p->prefaulting = pool_prefault_ask(&p->workers, heads,
		    p->conf);
	return wait == PREFAULT_NOT_NOW ? 0 : wait;
}

static void
take_stock(const struct pool *p, struct refill_state *s)
{
	unsigned count[WORKER_STATES];

	count_states(p, count);
	s->starting = count[WORKER_STARTING];
	s->parked = count[WORKER_PARKED];
	s->busy = count[WORKER_BUSY] + count[WORKER_ENDING];
	s->wanted = workers_wanted(p, count);
	s->starting_max = p->starting_max;
	s->queued = p->demand;
	s->touched_us = p->touched_us;
	s->now_us = clock_us();
}

/* Makes workers, or makes those that there are better, or comes back for it
 * when it is time. */
static void
tend(evutil_socket_t fd, short what, void *arg)
{
	struct pool *p = arg;
	struct refill_state s;
	struct timeval tv;
	uint64_t again_us;
	unsigned n;

	if (p->generation == 0)
		return;
	take_stock(p, &s);
	n = refill_due(&s, &again_us);
	if (n > 0)
		begin_workers(p, n);
	else if (again_us == 0)
		again_us = prefault(p, &s);
	if (again_us > 0) {
		tv.tv_sec = again_us / 1000000;
		tv.tv_usec = again_us % 1000000;
		event_add(p->ev_tend, &tv);
	}
}

/* Left to the loop's next turn: an answer goes out first. */
static void
tend_soon(struct pool *p)
{
	event_active(p->ev_tend, 0, 0);
}

struct pool *
pool_new(struct event_base *base, struct conf *conf,
    const struct pool_observer *observer, void *arg)
{
	struct pool *p = xcalloc(1, sizeof *p);

	p->base = base;
	p->conf = conf_ref(conf);
	p->observer = observer;
	p->arg = arg;
	TAILQ_INIT(&p->workers);
	p->starting_max = count_starting_max();
	p->prefault_max = UINT_MAX;
	p->ev_tend = event_new(base, -1, 0, tend, p);
	return p;
}

static void
worker_remove(struct pool *p, struct worker_proc *w)
{
	TAILQ_REMOVE(&p->workers, w, entry);
	if (p->prefaulting == w)
		p->prefaulting = NULL;
	worker_proc_free(&w);
}

void
pool_free(struct pool **pp)
{
	struct pool *p = *pp;

	if (p == NULL)
		return;
	*pp = NULL;
	while (!TAILQ_EMPTY(&p->workers))
		worker_remove(p, TAILQ_FIRST(&p->workers));
	event_free(p->ev_tend);
	conf_unref(&p->conf);
	free(p);
}

void
pool_set_prefault_max(struct pool *p, unsigned max)
{
	p->prefault_max = max;
}

void
pool_set_sandboxes(struct pool *p, struct sandboxes *sandboxes)
{
	p->sandboxes = sandboxes;
}

void
pool_worker_uses(struct pool *p, const struct msg_WORKER_USES *m)
{
	if (p->sandboxes != NULL)
		sandboxes_worker_uses(p->sandboxes, m);
}

void
pool_set_conf(struct pool *p, struct conf *conf)
{
	conf_unref(&p->conf);
	p->conf = conf_ref(conf);
}

/* Kills the idle workers that another generation made. */
static void
discard_old(struct pool *p)
{
	struct worker_proc *w;

	TAILQ_FOREACH(w, &p->workers, entry)
		if (w->generation != p->generation &&
		    (w->state == WORKER_STARTING ||
		    w->state == WORKER_PARKED))
			worker_proc_discard(w);
}

void
pool_permit_sessions(struct pool *p, int on)
{
	if (p->sandboxes != NULL)
		sandboxes_permit(p->sandboxes, on);
}

void
pool_set_source(struct pool *p, struct keeper_proc *keeper,
    uint64_t generation)
{
	p->keeper = keeper;
	p->generation = generation;
	p->early = 0;
	if (p->sandboxes != NULL)
		sandboxes_set_source(p->sandboxes, keeper, generation);
	if (generation == 0)
		return;
	discard_old(p);
	tend_soon(p);
}

void
pool_set_early(struct pool *p, struct keeper_proc *keeper,
    uint64_t generation)
{
	p->keeper = keeper;
	p->generation = generation;
	p->early = 1;
	tend_soon(p);
}

void
pool_set_demand(struct pool *p, unsigned queued)
{
	p->demand = queued;
	if (queued > 0)
		tend_soon(p);
}

int
pool_can_take(const struct pool *p)
{
	unsigned count[WORKER_STATES];

	if (p->keeper == NULL)
		return 0;
	count_states(p, count);
	return count[WORKER_PARKED] > 0 &&
	    count[WORKER_BUSY] + count[WORKER_ENDING] < p->conf->pool_max;
}

void
pool_assign(struct pool *p, struct job *job)
{
	struct worker_proc *w;

	TAILQ_FOREACH(w, &p->workers, entry)
		if (w->state == WORKER_PARKED)
			break;
	if (p->prefaulting == w)
		p->prefaulting = NULL;
	worker_proc_assign(w, job);
	p->touched_us = job->started_us;
	tend_soon(p);
}

void
pool_cancel(struct job *job)
{
	worker_proc_discard(job->worker);
}

void
pool_pause(struct job *job)
{
	if (job->worker != NULL)
		worker_proc_pause(job->worker, job->paused);
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t
median(const uint64_t *values, unsigned n)
{
	uint64_t sorted[RECENT];

	if (n == 0)
		return 0;
	if (n > RECENT)
		n = RECENT;
	memcpy(sorted, values, n * sizeof sorted[0]);
	qsort(sorted, n, sizeof sorted[0], compare);
	return sorted[n / 2];
}

void
pool_counts(const struct pool *p, struct pool_counts *c)
{
	unsigned count[WORKER_STATES];
	const struct worker_proc *w;

	count_states(p, count);
	c->starting = count[WORKER_STARTING];
	c->parked = count[WORKER_PARKED];
	c->busy = count[WORKER_BUSY] + count[WORKER_ENDING];
	c->prefaulted = 0;
	TAILQ_FOREACH(w, &p->workers, entry)
		c->prefaulted += w->state == WORKER_PARKED &&
		    w->prefault_done;
	c->prepare_us = median(p->prepare_us, p->nparked);
	c->confine_us = median(p->confine_us, p->nparked);
}

static struct worker_proc *
worker_find(struct pool *p, uint64_t id)
{
	struct worker_proc *w;

	TAILQ_FOREACH(w, &p->workers, entry)
		if (w->id == id)
			return w;
	return NULL;
}

int
pool_worker_forked(struct pool *p, uint64_t id, pid_t pid)
{
	struct worker_proc *w = worker_find(p, id);

	if (w != NULL)
		worker_proc_forked(w, pid);
	else if (p->sandboxes != NULL)
		sandboxes_worker_forked(p->sandboxes, id, pid);
	return w != NULL;
}

int
pool_worker_refused(struct pool *p, uint64_t id, const char *why)
{
	struct worker_proc *w = worker_find(p, id);

	if (w != NULL)
		worker_proc_refused(w, why);
	else if (p->sandboxes != NULL)
		sandboxes_worker_ended(p->sandboxes, id, why);
	return w != NULL;
}

int
pool_worker_exited(struct pool *p, const struct msg_WORKER_EXITED *m)
{
	struct worker_proc *w = worker_find(p, m->worker);

	if (w != NULL)
		worker_proc_exited(w, m);
	else if (p->sandboxes != NULL)
		sandboxes_worker_ended(p->sandboxes, m->worker, NULL);
	return w != NULL;
}

void
pool_drain(struct pool *p)
{
	p->generation = 0;
	discard_old(p);
}

int
pool_is_empty(const struct pool *p)
{
	return TAILQ_EMPTY(&p->workers);
}

void
pool_abandon(struct pool *p)
{
	struct worker_proc *w;

	p->generation = 0;
	p->keeper = NULL;
	if (p->sandboxes != NULL)
		sandboxes_abandon(p->sandboxes);
	while ((w = TAILQ_FIRST(&p->workers)) != NULL)
		worker_proc_abandoned(w);
}

static void
on_parked(struct worker_proc *w, void *arg)
{
	struct pool *p = arg;

	if (w->generation != p->generation && p->generation != 0) {
		worker_proc_discard(w);
		return;
	}
	p->prepare_us[p->nparked % RECENT] = w->prepare_us;
	p->confine_us[p->nparked++ % RECENT] = w->confine_us;
	p->observer->born(NULL, p->arg);
	p->observer->available(p->arg);
	tend_soon(p);
}

static void
on_failed(struct worker_proc *w, const char *why, void *arg)
{
	struct pool *p = arg;

	log_warnx("worker %" PRIu64 ": not started: %s", w->id, why);
	p->observer->born(why, p->arg);
}

static void
on_prefaulted(struct worker_proc *w, void *arg)
{
	struct pool *p = arg;

	if (p->prefaulting == w)
		p->prefaulting = NULL;
	tend_soon(p);
}

static void
on_returned(struct worker_proc *w, struct job *job, void *arg)
{
	struct pool *p = arg;

	p->observer->returned(job, p->arg);
}

static void
on_idle_over(struct worker_proc *w, void *arg)
{
	struct pool *p = arg;

	p->touched_us = clock_us();
	tend_soon(p);
	p->observer->available(p->arg);
}

static void
on_exited(struct worker_proc *w, void *arg)
{
	struct pool *p = arg;

	worker_remove(p, w);
	if (p->generation != 0)
		tend_soon(p);
}
