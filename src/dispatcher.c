#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/time.h>

#include <event2/event.h>

#include "clock.h"
#include "conf.h"
#include "dispatcher.h"
#include "job_queue.h"
#include "job_files.h"
#include "job_record.h"
#include "job_verdict.h"
#include "log_pipe.h"
#include "mem.h"
#include "metrics.h"
#include "pool.h"
#include "sandboxes.h"
#include "supervisor.h"

struct dispatcher {
	struct event_base	*base;
	struct conf		*conf;
	struct pool		*pool;
	struct supervisor	*supervisor;
	struct job_queue	 queue;
	struct job_queue	 sessions;	/* runnable in theirs */
	struct sandboxes	*sandboxes;
	TAILQ_HEAD(, job)	 running;
	unsigned		 nrunning;
	TAILQ_HEAD(, job)	 refused;	/* to be answered busy */
	struct event		*ev_refused;
	struct event		*ev_dispatch;
	struct event		*ev_queue;	/* queue.timeout */
	const void		*only;		/* principal, NULL for all */
	uint64_t		 calls[VERDICT_COUNT];
	struct metrics		 metrics;
	struct file_dir		*files;		/* NULL: nothing is kept */
};

/* What the dispatcher keeps of a job beside the job itself. */
struct ticket {
	struct dispatcher	*d;
	const struct job_observer *observer;
	void			*arg;
};

static void	on_started(struct job *, void *);
static void	on_output(struct job *, enum job_stream, const char *, size_t,
		    void *);
static void	on_done(struct job *, const struct job_result *, void *);
static void	on_file(struct job *, const struct job_file *, int, void *);
static void	on_available(void *);
static void	on_returned(struct job *, void *);
static void	on_born(const char *, void *);
static void	on_runnable(struct job *, void *);
static void	on_failed(struct job *, int, void *);
static void	dispatch(evutil_socket_t, short, void *);
static void	answer_refused(evutil_socket_t, short, void *);
static void	on_queue_timer(evutil_socket_t, short, void *);

/* The dispatcher counts what ends, then tells the one who asked. */
static const struct job_observer job_observer = {
	on_started, on_output, on_done, on_file
};
static const struct pool_observer pool_observer = {
	on_available, on_returned, on_born
};
static const struct sandboxes_observer sandboxes_observer = {
	on_runnable, on_failed, on_available
};

struct dispatcher *
dispatcher_new(struct event_base *base, struct conf *conf, char **why)
{
	struct dispatcher *d = xcalloc(1, sizeof *d);

	d->base = base;
	d->conf = conf_ref(conf);
	job_queue_init(&d->queue);
	job_queue_init(&d->sessions);
	TAILQ_INIT(&d->running);
	TAILQ_INIT(&d->refused);
	d->ev_refused = event_new(base, -1, 0, answer_refused, d);
	d->ev_dispatch = event_new(base, -1, 0, dispatch, d);
	d->ev_queue = event_new(base, -1, 0, on_queue_timer, d);
	d->pool = pool_new(base, conf, &pool_observer, d);
	d->sandboxes = sandboxes_new(base, conf, &sandboxes_observer, d);
	pool_set_sandboxes(d->pool, d->sandboxes);
	d->supervisor = supervisor_new(base, conf, d->pool, why);
	if (d->supervisor == NULL)
		dispatcher_free(&d);
	return d;
}

void
dispatcher_on_fatal(struct dispatcher *d, void (*call)(const char *, void *),
    void *arg)
{
	supervisor_on_fatal(d->supervisor, call, arg);
}

const char *
dispatcher_scratch(const struct dispatcher *d)
{
	return supervisor_scratch(d->supervisor);
}

void
dispatcher_hold(struct dispatcher *d, const void *principal)
{
	d->only = principal;
	event_active(d->ev_dispatch, 0, 0);
}

void
dispatcher_keep_files(struct dispatcher *d, struct file_dir *files)
{
	d->files = files;
}

void
dispatcher_set_confined(struct dispatcher *d)
{
	supervisor_set_confined(d->supervisor);
}

void
dispatcher_socket_remove(struct dispatcher *d, const char *path,
    const struct stat *st)
{
	supervisor_socket_remove(d->supervisor, path, st);
}

static void
job_drop(struct job *job)
{
	struct ticket *t = job->arg;

	free(t);
	job_free(&job);
}

static void
drop_list(struct dispatcher *d)
{
	struct job *job;

	while ((job = job_queue_next(&d->queue, NULL)) != NULL) {
		job_queue_remove(&d->queue, job);
		job_drop(job);
	}
	while ((job = job_queue_next(&d->sessions, NULL)) != NULL) {
		job_queue_remove(&d->sessions, job);
		job_drop(job);
	}
	while ((job = sandboxes_oldest(d->sandboxes)) != NULL) {
		sandboxes_withdraw(d->sandboxes, job);
		job_drop(job);
	}
	while ((job = TAILQ_FIRST(&d->refused)) != NULL) {
		TAILQ_REMOVE(&d->refused, job, entry);
		job_drop(job);
	}
	/* Those that run are freed with their workers. */
	TAILQ_FOREACH(job, &d->running, entry)
		free(job->arg);
}

void
dispatcher_free(struct dispatcher **dp)
{
	struct dispatcher *d = *dp;

	if (d == NULL)
		return;
	*dp = NULL;
	supervisor_free(&d->supervisor);
	drop_list(d);
	sandboxes_free(&d->sandboxes);
	pool_free(&d->pool);
	log_pipe_close_all();
	event_free(d->ev_queue);
	event_free(d->ev_dispatch);
	event_free(d->ev_refused);
	conf_unref(&d->conf);
	free(d);
}

void
dispatcher_reload(struct dispatcher *d, struct conf *conf)
{
	conf_unref(&d->conf);
	d->conf = conf_ref(conf);
	pool_set_conf(d->pool, conf);
	sandboxes_set_conf(d->sandboxes, conf);
	supervisor_reload(d->supervisor, conf);
}

static unsigned
waiting(const struct dispatcher *d)
{
	return d->queue.n + d->sessions.n + sandboxes_waiting(d->sandboxes);
}

/* The job that has waited longest, for a worker or for its session. */
static struct job *
oldest_job(const struct dispatcher *d)
{
	struct job *job[3], *oldest = NULL;
	int i;

	job[0] = job_queue_oldest(&d->queue);
	job[1] = job_queue_oldest(&d->sessions);
	job[2] = sandboxes_oldest(d->sandboxes);
	for (i = 0; i < 3; i++)
		if (job[i] != NULL && (oldest == NULL ||
		    job[i]->submitted_us < oldest->submitted_us))
			oldest = job[i];
	return oldest;
}

/* Takes a job that waits out of wherever it does. */
static void
withdraw(struct dispatcher *d, struct job *job)
{
	if (job->spec.sandbox == NULL)
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

/* Arms the timer for the job that has waited longest. */
static void
watch_queue(struct dispatcher *d)
{
	struct job *job = oldest_job(d);
	uint64_t now = clock_us(), due;
	struct timeval tv;

	if (job == NULL) {
		event_del(d->ev_queue);
		return;
	}
	due = job->submitted_us + job->conf->queue_timeout * 1000;
	due = due > now ? due - now : 0;
	tv.tv_sec = due / 1000000;
	tv.tv_usec = due % 1000000;
	event_add(d->ev_queue, &tv);
}

static void
enqueue(struct dispatcher *d, struct job *job, int first)
{
	job_queue_push(&d->queue, job, first);
	if (waiting(d) == 1)
		watch_queue(d);
}

struct job *
dispatcher_submit(struct dispatcher *d, struct job_spec *spec,
    const struct job_observer *observer, void *arg)
{
	struct ticket *t = xcalloc(1, sizeof *t);
	struct job *job;

	t->d = d;
	t->observer = observer;
	t->arg = arg;
	job = job_new(spec, d->conf, &job_observer, t);
	if (d->files != NULL && spec->keep)
		job_files_keep(job, d->files);
	if (waiting(d) > 0 && waiting(d) >= d->conf->queue_max) {
		TAILQ_INSERT_TAIL(&d->refused, job, entry);
		job_condemn(job, VERDICT_BUSY);
		event_active(d->ev_refused, 0, 0);
		return job;
	}
	if (job->spec.sandbox != NULL) {
		sandboxes_submit(d->sandboxes, job);
		if (waiting(d) == 1)
			watch_queue(d);
		return job;
	}
	enqueue(d, job, 0);
	event_active(d->ev_dispatch, 0, 0);
	return job;
}

/* Jobs whose turn in their session has come need no worker, only that not too
 * many run. */
static void
dispatch_sessions(struct dispatcher *d)
{
	struct job *job;

	while (d->nrunning < d->conf->pool_max &&
	    (job = job_queue_next(&d->sessions, d->only)) != NULL) {
		job_queue_take(&d->sessions, job);
		TAILQ_INSERT_TAIL(&d->running, job, entry);
		d->nrunning++;
		if (sandboxes_assign(d->sandboxes, job) == 0)
			continue;
		/* No descriptors: it is tried again when a job ends. */
		TAILQ_REMOVE(&d->running, job, entry);
		d->nrunning--;
		job_queue_push(&d->sessions, job, 1);
		break;
	}
}

/* Gives waiting jobs to workers, one a principal in turn. */
static void
dispatch(evutil_socket_t fd, short what, void *arg)
{
	struct dispatcher *d = arg;
	struct job *job;

	dispatch_sessions(d);
	while (pool_can_take(d->pool) &&
	    (job = job_queue_next(&d->queue, d->only)) != NULL) {
		job_queue_take(&d->queue, job);
		TAILQ_INSERT_TAIL(&d->running, job, entry);
		d->nrunning++;
		pool_assign(d->pool, job);
	}
	pool_set_demand(d->pool, d->queue.n);
}

static void
answer_busy(struct job *job)
{
	char *reason = job_reason(job, VERDICT_BUSY);

	job_finish(&job, VERDICT_BUSY, reason);
}

static void
answer_refused(evutil_socket_t fd, short what, void *arg)
{
	struct dispatcher *d = arg;
	struct job *job;

	while ((job = TAILQ_FIRST(&d->refused)) != NULL) {
		TAILQ_REMOVE(&d->refused, job, entry);
		answer_busy(job);
	}
}

static void
on_queue_timer(evutil_socket_t fd, short what, void *arg)
{
	struct dispatcher *d = arg;
	uint64_t now = clock_us();
	struct job *job;

	while ((job = oldest_job(d)) != NULL &&
	    job->submitted_us + job->conf->queue_timeout * 1000 <= now) {
		withdraw(d, job);
		answer_busy(job);
	}
	watch_queue(d);
}

void
dispatcher_cancel(struct dispatcher *d, struct job *job)
{
	struct ticket *t = job->arg;

	d->calls[VERDICT_CANCELLED]++;
	if (job->worker != NULL) {
		TAILQ_REMOVE(&d->running, job, entry);
		d->nrunning--;
		free(t);
		pool_cancel(d->pool, job);
		return;
	}
	if (job->condemned)
		TAILQ_REMOVE(&d->refused, job, entry);
	else
		withdraw(d, job);
	job_drop(job);
}

void
dispatcher_pause(struct dispatcher *d, struct job *job, int on)
{
	job->paused = on;
	pool_pause(job);
}

void
dispatcher_status(const struct dispatcher *d, struct dispatcher_status *st)
{
	const struct job *oldest = oldest_job(d);
	struct sandboxes_counts s;
	struct pool_counts c;

	memset(st, 0, sizeof *st);
	pool_counts(d->pool, &c);
	st->workers_idle = c.parked;
	st->workers_busy = c.busy;
	st->workers_starting = c.starting;
	st->prepare_us = c.prepare_us;
	st->confine_us = c.confine_us;
	st->queued = waiting(d);
	sandboxes_counts(d->sandboxes, &s);
	st->sessions_open = s.open;
	st->sessions_busy = s.busy;
	st->sessions_memory = s.memory;
	st->sessions_opened = s.opened;
	st->sessions_expired = s.expired;
	st->sessions_lost = s.lost;
	st->sessions_evicted = s.evicted;
	if (oldest != NULL)
		st->queue_age_us = clock_us() - oldest->submitted_us;
	memcpy(st->calls, d->calls, sizeof st->calls);
	st->metrics = &d->metrics;
	supervisor_status(d->supervisor, st);
}

struct sandboxes *
dispatcher_sandboxes(struct dispatcher *d)
{
	return d->sandboxes;
}

unsigned
dispatcher_jobs(const struct dispatcher *d)
{
	return waiting(d) + d->nrunning;
}

static void
on_started(struct job *job, void *arg)
{
	struct ticket *t = arg;

	if (t->observer->started != NULL)
		t->observer->started(job, t->arg);
}

static void
on_output(struct job *job, enum job_stream stream, const char *data,
    size_t len, void *arg)
{
	struct ticket *t = arg;

	if (t->observer->output != NULL)
		t->observer->output(job, stream, data, len, t->arg);
}

static void
on_file(struct job *job, const struct job_file *f, int is_image, void *arg)
{
	struct ticket *t = arg;

	if (t->observer->file != NULL)
		t->observer->file(job, f, is_image, t->arg);
}

static void
on_done(struct job *job, const struct job_result *result, void *arg)
{
	struct ticket *t = arg;
	struct dispatcher *d = t->d;

	if (job->tries > 0 && job->started_us != 0) {
		TAILQ_REMOVE(&d->running, job, entry);
		d->nrunning--;
	}
	d->calls[result->verdict]++;
	metrics_job(&d->metrics, result);
	t->observer->done(job, result, t->arg);
	free(t);
}

static void
on_available(void *arg)
{
	struct dispatcher *d = arg;

	if (d->queue.n + d->sessions.n > 0)
		event_active(d->ev_dispatch, 0, 0);
}

static void
on_returned(struct job *job, void *arg)
{
	struct dispatcher *d = arg;

	TAILQ_REMOVE(&d->running, job, entry);
	d->nrunning--;
	enqueue(d, job, 1);
	event_active(d->ev_dispatch, 0, 0);
}

static void
on_born(const char *why, void *arg)
{
	struct dispatcher *d = arg;

	supervisor_worker_born(d->supervisor, why);
}

static void
on_runnable(struct job *job, void *arg)
{
	struct dispatcher *d = arg;

	job_queue_push(&d->sessions, job, 0);
	event_active(d->ev_dispatch, 0, 0);
}

static void
on_failed(struct job *job, int taken, void *arg)
{
	struct dispatcher *d = arg;
	char *reason = job_reason(job, job->condemned_as);

	if (taken)
		job_queue_remove(&d->sessions, job);
	job_finish(&job, job->condemned_as, reason);
}
