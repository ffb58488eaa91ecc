#include "config.h"

#include <string.h>
#include <sys/time.h>

#include <event2/event.h>

#include "clock.h"
#include "conf.h"
#include "dispatcher_private.h"
#include "environments.h"
#include "job_record.h"
#include "job_verdict.h"
#include "mem.h"
#include "pool.h"
#include "sandboxes.h"
#include "supervisor.h"
#include "units.h"

/* Where jobs wait: in the queue of plain ones, in that of an environment of
 * packages, or in their session. */

unsigned
dispatcher_waiting(const struct dispatcher *d)
{
	return d->queue.n + d->sessions.n + sandboxes_waiting(d->sandboxes) +
	    environments_queued(d->environments);
}

int
dispatcher_is_full(const struct dispatcher *d, const struct job_spec *spec)
{
	unsigned n = dispatcher_waiting(d);

	if (d->only != NULL && d->only == spec->principal)
		return 0;
	return n > 0 && n >= d->conf->queue_max;
}

static int
sessions_wait(const struct dispatcher *d, const struct environment *e)
{
	return e == NULL && !sandboxes_have_source(d->sandboxes);
}

struct job *
dispatcher_next(const struct dispatcher *d, const struct job_queue *q,
    const struct environment *e)
{
	return sessions_wait(d, e) ? job_queue_next_run(q, d->only) :
	    job_queue_next(q, d->only);
}

unsigned
dispatcher_demand(const struct dispatcher *d, const struct job_queue *q,
    const struct environment *e)
{
	return sessions_wait(d, e) ? job_queue_runs(q) : q->n;
}

void
dispatcher_withdraw(struct dispatcher *d, struct job *job)
{
	if (job->spec.opens != NULL && job->spec.sandbox != NULL)
		dispatcher_close(d, job);
	else if (job->env != NULL)
		job_queue_remove(environment_queue(job->env), job);
	else if (job->spec.sandbox == NULL)
		job_queue_remove(&d->queue, job);
	else {
		/* What follows it in its session may be queued in its place,
		 * so it leaves first. */
		if (sandboxes_is_runnable(d->sandboxes, job))
			job_queue_remove(&d->sessions, job);
		sandboxes_withdraw(d->sandboxes, job);
		job->result.fate = SESSION_KEPT;
	}
}

/* When a job that waits is answered busy; the time that it waits for more
 * than a worker does not count. */
static uint64_t
due_us(const struct job *job, uint64_t since)
{
	return (job->submitted_us > since ? job->submitted_us : since) +
	    job->conf->queue_timeout * 1000;
}

struct job *
dispatcher_first_due(const struct dispatcher *d, uint64_t *due)
{
	struct environment *e = NULL;
	struct job *job[3], *first = NULL;
	uint64_t since;
	int i;

	job[0] = job_queue_oldest(&d->queue);
	job[1] = job_queue_oldest(&d->sessions);
	job[2] = sandboxes_oldest(d->sandboxes);
	for (i = 0; i < 3; i++)
		if (job[i] != NULL && (first == NULL ||
		    due_us(job[i], 0) < *due)) {
			first = job[i];
			*due = due_us(first, 0);
		}
	while ((e = environments_next(d->environments, e)) != NULL) {
		since = environment_ready_us(e);
		job[0] = job_queue_oldest(environment_queue(e));
		if (since != 0 && job[0] != NULL && (first == NULL ||
		    due_us(job[0], since) < *due)) {
			first = job[0];
			*due = due_us(first, since);
		}
	}
	return first;
}

char *
dispatcher_busy_reason(const struct dispatcher *d, const struct job *job)
{
	struct dispatcher_status st;
	char wait[32], *why;

	memset(&st, 0, sizeof st);
	supervisor_status(d->supervisor, &st);
	if (st.ready)
		return job_reason(job, VERDICT_BUSY);
	duration_text(job->conf->queue_timeout, wait, sizeof wait);
	xasprintf(&why, "The program was not run: Python did not start on the "
	    "server within %s, the longest that a call may wait; its log says "
	    "why.  Try again in a minute.", wait);
	return why;
}

void
dispatcher_watch(struct dispatcher *d)
{
	uint64_t now = clock_us(), due;
	struct timeval tv;

	if (dispatcher_first_due(d, &due) == NULL) {
		event_del(d->ev_queue);
		return;
	}
	due = due > now ? due - now : 0;
	tv.tv_sec = due / 1000000;
	tv.tv_usec = due % 1000000;
	event_add(d->ev_queue, &tv);
}

void
dispatcher_on_warm(struct dispatcher *d, void (*call)(void *), void *arg)
{
	d->warm = call;
	d->warm_arg = arg;
}

void
dispatcher_warm(void *arg)
{
	struct dispatcher *d = arg;

	if (d->warm != NULL)
		d->warm(d->warm_arg);
	/* Sessions have waited for it. */
	event_active(d->ev_dispatch, 0, 0);
}

void
dispatcher_status(const struct dispatcher *d, struct dispatcher_status *st)
{
	uint64_t due;
	const struct job *oldest = dispatcher_first_due(d, &due);
	struct environments_counts e;
	struct sandboxes_counts s;
	struct pool_counts c;

	memset(st, 0, sizeof *st);
	pool_counts(d->pool, &c);
	st->workers_idle = c.parked;
	st->workers_prefaulted = c.prefaulted;
	st->workers_busy = c.busy;
	st->workers_starting = c.starting;
	st->prepare_us = c.prepare_us;
	st->confine_us = c.confine_us;
	st->queued = dispatcher_waiting(d);
	sandboxes_counts(d->sandboxes, &s);
	st->sessions_open = s.open;
	st->sessions_busy = s.busy;
	st->sessions_memory = s.memory;
	st->sessions_opened = s.opened;
	st->sessions_expired = s.expired;
	st->sessions_lost = s.lost;
	st->sessions_evicted = s.evicted;
	environments_counts(d->environments, &e);
	st->environments_zygotes = e.zygotes;
	st->environments_sessions = e.sessions;
	st->environments_installs = e.installs;
	st->environments_failures = e.failures;
	st->environments_evictions = e.evictions;
	if (oldest != NULL)
		st->queue_age_us = clock_us() - oldest->submitted_us;
	memcpy(st->calls, d->calls, sizeof st->calls);
	st->metrics = &d->metrics;
	supervisor_status(d->supervisor, st);
}
