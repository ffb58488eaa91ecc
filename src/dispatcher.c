#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/time.h>

#include <event2/event.h>

#include "clock.h"
#include "conf.h"
#include "dispatcher.h"
#include "dispatcher_private.h"
#include "environments.h"
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
static void	on_env_returned(struct job *, void *);
static void	on_plain(struct job *, void *);
static void	on_waits(struct job *, const char *, void *);
static void	dispatch(evutil_socket_t, short, void *);
static void	answer_refused(evutil_socket_t, short, void *);
static void	on_queue_timer(evutil_socket_t, short, void *);

/* The dispatcher counts what ends, then tells the one who asked. */
static const struct job_observer job_observer = {
	on_started, on_output, on_done, on_file, on_waits
};
static const struct environments_observer environments_observer = {
	on_available, on_env_returned, on_plain
};
static const struct pool_observer pool_observer = {
	on_available, on_returned, on_born
};
static const struct sandboxes_observer sandboxes_observer = {
	on_runnable, on_failed, on_available, dispatcher_opened
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
	TAILQ_INIT(&d->opening);
	d->ev_refused = event_new(base, -1, 0, answer_refused, d);
	d->ev_dispatch = event_new(base, -1, 0, dispatch, d);
	d->ev_queue = event_new(base, -1, 0, on_queue_timer, d);
	d->pool = pool_new(base, conf, &pool_observer, d);
	d->sandboxes = sandboxes_new(base, conf, &sandboxes_observer, d);
	pool_set_sandboxes(d->pool, d->sandboxes);
	d->supervisor = supervisor_new(base, conf, d->pool, why);
	if (d->supervisor == NULL)
		dispatcher_free(&d);
	else {
		supervisor_on_warm(d->supervisor, dispatcher_warm, d);
		d->environments = environments_new(base, conf, d->supervisor,
		    &environments_observer, d);
		environments_set_sandboxes(d->environments, d->sandboxes);
	}
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
drop_queue(struct job_queue *q)
{
	struct job *job;

	while ((job = job_queue_next(q, NULL)) != NULL) {
		job_queue_remove(q, job);
		job_drop(job);
	}
}

static void
drop_list(struct dispatcher *d)
{
	struct environment *e = NULL;
	struct job *job;

	drop_queue(&d->queue);
	drop_queue(&d->sessions);
	while ((job = sandboxes_oldest(d->sandboxes)) != NULL) {
		sandboxes_withdraw(d->sandboxes, job);
		job_drop(job);
	}
	while (d->environments != NULL &&
	    (e = environments_next(d->environments, e)) != NULL)
		drop_queue(environment_queue(e));
	while ((job = TAILQ_FIRST(&d->refused)) != NULL) {
		TAILQ_REMOVE(&d->refused, job, entry);
		job_drop(job);
	}
	while ((job = TAILQ_FIRST(&d->opening)) != NULL) {
		dispatcher_close(d, job);
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
	drop_list(d);
	environments_free(&d->environments);
	supervisor_free(&d->supervisor);
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
	environments_reload(d->environments, conf);
	supervisor_reload(d->supervisor, conf);
}

void
dispatcher_enqueue(struct dispatcher *d, struct job *job, int first)
{
	job_queue_push(&d->queue, job, first);
	if (dispatcher_waiting(d) == 1)
		dispatcher_watch(d);
}

void
dispatcher_refuse(struct dispatcher *d, struct job *job, enum verdict verdict)
{
	TAILQ_INSERT_TAIL(&d->refused, job, entry);
	job_condemn(job, verdict);
	event_active(d->ev_refused, 0, 0);
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
	if (dispatcher_is_full(d, spec)) {
		dispatcher_refuse(d, job, VERDICT_BUSY);
		return job;
	}
	if (spec->opens != NULL && spec->opens->from != NULL) {
		dispatcher_branch(d, job);
		return job;
	}
	if (job->spec.sandbox != NULL) {
		sandboxes_submit(d->sandboxes, job);
		if (dispatcher_waiting(d) == 1)
			dispatcher_watch(d);
		return job;
	}
	if (spec->packages == NULL ||
	    !environments_submit(d->environments, job))
		dispatcher_enqueue(d, job, 0);
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

/* Gives waiting jobs to workers, one a principal in turn; e is NULL for plain
 * ones.  What starts a session needs no worker. */
static void
serve(struct dispatcher *d, struct job_queue *q, struct pool *pool,
    struct environment *e)
{
	struct job *job;

	while ((job = dispatcher_next(d, q, e)) != NULL) {
		if (job->spec.opens == NULL &&
		    (d->nrunning >= d->conf->pool_max ||
		    !pool_can_take(pool)))
			break;
		job_queue_take(q, job);
		if (job->spec.opens != NULL) {
			dispatcher_open(d, job, e);
			continue;
		}
		TAILQ_INSERT_TAIL(&d->running, job, entry);
		d->nrunning++;
		pool_assign(pool, job);
	}
	pool_set_demand(pool, dispatcher_demand(d, q, e));
}

static void
serve_environments(struct dispatcher *d)
{
	struct environment *e = NULL;

	while ((e = environments_next(d->environments, e)) != NULL)
		if (environment_pool(e) != NULL)
			serve(d, environment_queue(e), environment_pool(e),
			    e);
}

/* Where as many jobs run as may, plain ones and others take turns. */
static void
dispatch(evutil_socket_t fd, short what, void *arg)
{
	struct dispatcher *d = arg;

	d->plain_last = !d->plain_last;
	dispatch_sessions(d);
	if (d->plain_last)
		serve_environments(d);
	serve(d, &d->queue, d->pool, NULL);
	if (!d->plain_last)
		serve_environments(d);
}

static void
answer(struct job *job, enum verdict verdict)
{
	char *reason = job_reason(job, verdict);

	job_finish(&job, verdict, reason);
}

static void
answer_refused(evutil_socket_t fd, short what, void *arg)
{
	struct dispatcher *d = arg;
	struct job *job;

	while ((job = TAILQ_FIRST(&d->refused)) != NULL) {
		TAILQ_REMOVE(&d->refused, job, entry);
		answer(job, job->condemned_as);
	}
}

static void
on_queue_timer(evutil_socket_t fd, short what, void *arg)
{
	struct dispatcher *d = arg;
	uint64_t now = clock_us(), due;
	struct job *job;

	while ((job = dispatcher_first_due(d, &due)) != NULL && due <= now) {
		dispatcher_withdraw(d, job);
		job_finish(&job, VERDICT_BUSY, dispatcher_busy_reason(d,
		    job));
	}
	dispatcher_watch(d);
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
		pool_cancel(job);
		return;
	}
	if (job->condemned)
		TAILQ_REMOVE(&d->refused, job, entry);
	else
		dispatcher_withdraw(d, job);
	job_drop(job);
}

void
dispatcher_pause(struct dispatcher *d, struct job *job, int on)
{
	job->paused = on;
	pool_pause(job);
}

struct sandboxes *
dispatcher_sandboxes(struct dispatcher *d)
{
	return d->sandboxes;
}

unsigned
dispatcher_jobs(const struct dispatcher *d)
{
	return dispatcher_waiting(d) + d->nrunning + d->nopening;
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
	/* A session that was started is no run of a program. */
	if (result->opened[0] == '\0') {
		d->calls[result->verdict]++;
		metrics_job(&d->metrics, result);
	}
	t->observer->done(job, result, t->arg);
	free(t);
}

static void
on_available(void *arg)
{
	struct dispatcher *d = arg;

	if (dispatcher_waiting(d) > 0) {
		event_active(d->ev_dispatch, 0, 0);
		dispatcher_watch(d);
	}
}

static void
on_returned(struct job *job, void *arg)
{
	struct dispatcher *d = arg;

	TAILQ_REMOVE(&d->running, job, entry);
	d->nrunning--;
	dispatcher_enqueue(d, job, 1);
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
on_env_returned(struct job *job, void *arg)
{
	struct dispatcher *d = arg;

	TAILQ_REMOVE(&d->running, job, entry);
	d->nrunning--;
}

static void
on_plain(struct job *job, void *arg)
{
	struct dispatcher *d = arg;

	dispatcher_enqueue(d, job, 0);
	event_active(d->ev_dispatch, 0, 0);
}

static void
on_failed(struct job *job, int taken, void *arg)
{
	struct dispatcher *d = arg;
	if (taken)
		job_queue_remove(&d->sessions, job);
	answer(job, job->condemned_as);
}

static void
on_waits(struct job *job, const char *what, void *arg)
{
	struct ticket *t = arg;

	if (t->observer->waits != NULL)
		t->observer->waits(job, what, t->arg);
}
