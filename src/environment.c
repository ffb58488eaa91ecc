#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <event2/event.h>

#include "clock.h"
#include "conf.h"
#include "environment.h"
#include "job_record.h"
#include "job_verdict.h"
#include "log.h"
#include "mem.h"
#include "msg.h"
#include "pool.h"
#include "supervisor.h"

/* Longest time from a fork to a zygote that serves, imports included. */
#define START_S		60
/* Starts in a row that may fail before its jobs are answered so. */
#define STARTS_MAX	3
/* Workers in a row that may fail before the zygote is replaced. */
#define FAILURES_MAX	8

static void	on_available(void *);
static void	on_returned(struct job *, void *);
static void	on_born(const char *, void *);
static void	on_start_timer(evutil_socket_t, short, void *);
static void	on_progress(const char *, void *);
static void	on_installed(const struct install_result *, const char *,
		    void *);

static const struct pool_observer pool_observer = {
	on_available, on_returned, on_born
};
static const struct install_observer install_observer = {
	on_progress, on_installed
};

struct environment *
environment_new(struct environments *all, const char *packages)
{
	struct environment *e = xcalloc(1, sizeof *e);

	e->all = all;
	e->packages = xstrdup(packages);
	job_queue_init(&e->queue);
	e->pool = pool_new(environments_base(all),
	    (struct conf *)environments_conf(all), &pool_observer, e);
	/* Each environment has a pool of its own. */
	pool_set_prefault_max(e->pool, 1);
	e->ev_start = event_new(environments_base(all), -1, 0,
	    on_start_timer, e);
	return e;
}

static void
forget_found(struct environment *e)
{
	free(e->found.path);
	free(e->found.site);
	free(e->found.modules);
	memset(&e->found, 0, sizeof e->found);
}

void
environment_free(struct environment **ep)
{
	struct environment *e = *ep;

	*ep = NULL;
	install_free(&e->install);
	pool_free(&e->pool);
	event_free(e->ev_start);
	forget_found(e);
	free(e->packages);
	free(e);
}

/* Tells every job that waits in the queue. */
static void
tell(struct job *job, void *arg)
{
	if (job->observer->waits != NULL)
		job->observer->waits(job, arg, job->arg);
}

static void
on_progress(const char *what, void *arg)
{
	struct environment *e = arg;
	char *text = xstrdup(what);

	job_queue_each(&e->queue, tell, text);
	free(text);
}

void
environment_install(struct environment *e)
{
	char *keep = environments_in_use(e->all);

	e->state = ENV_INSTALLING;
	e->install = install_start(environments_base(e->all),
	    environments_conf(e->all), environments_supervisor(e->all),
	    e->packages, keep, &install_observer, e);
	free(keep);
}

static void
on_installed(const struct install_result *r, const char *why, void *arg)
{
	struct environment *e = arg;

	environments_note(e->all, r);
	if (r == NULL) {
		char *text = xstrdup(why);

		install_free(&e->install);
		environment_fail(e, text);
		free(text);
		return;
	}
	forget_found(e);
	e->found = *r;
	if (!r->plain) {
		e->found.path = xstrdup(r->path);
		e->found.site = xstrdup(r->site);
		e->found.modules = xstrdup(r->modules);
	}
	install_free(&e->install);
	e->state = ENV_FOUND;
	e->import = supervisor_may_import(environments_supervisor(e->all));
	e->starts = 0;
	e->ready_us = clock_us();
	if (e->found.plain)
		environments_plain(e);
	else
		environments_merge(e);
}

static void
stop_zygotes(struct environment *e)
{
	struct supervisor *s = environments_supervisor(e->all);

	event_del(e->ev_start);
	if (e->bare != 0)
		supervisor_zygote_stop(s, e->bare);
	if (e->generation != 0)
		supervisor_zygote_stop(s, e->generation);
	e->bare = e->generation = 0;
	pool_drain(e->pool);
}

void
environment_cool(struct environment *e)
{
	stop_zygotes(e);
	install_free(&e->install);
	e->state = ENV_COLD;
	environments_look(e->all);
}

void
environment_fail(struct environment *e, const char *why)
{
	struct job *job;
	unsigned n;

	environment_cool(e);
	/* Whoever is answered may ask again. */
	for (n = e->queue.n; n > 0; n--) {
		job = job_queue_next(&e->queue, NULL);
		job_queue_remove(&e->queue, job);
		job_finish(&job, VERDICT_INSTALL, xstrdup(why));
	}
}

/* One whose packages replace some that the plain zygote has imported is
 * forked from a zygote that has imported nothing, and imports all itself. */
static void
fork_zygote(struct environment *e)
{
	const struct conf *conf = environments_conf(e->all);
	struct msg_ZYGOTE_FORK m = { .generation = e->bare,
	    .path = slice_of(e->found.path), .site = slice_of(e->found.site),
	    .import = e->import, .memory = conf->limits_memory };
	char *modules;

	xasprintf(&modules, "%s%s%s", e->found.shadows ?
	    conf->python_modules : "", e->found.shadows ? "," : "",
	    e->found.modules);
	m.modules = slice_of(modules);
	e->generation = supervisor_zygote_fork(
	    environments_supervisor(e->all), &m);
	free(modules);
	if (e->generation != 0)
		e->state = ENV_STARTING;
}

void
environment_start(struct environment *e)
{
	static const struct timeval limit = { START_S, 0 };
	struct supervisor *s = environments_supervisor(e->all);

	if (!e->found.shadows)
		fork_zygote(e);
	else if ((e->bare = supervisor_zygote_bare(s)) != 0)
		e->state = ENV_STARTING;
	if (e->state == ENV_STARTING)
		event_add(e->ev_start, &limit);
}

/* A package may not bear to be imported ahead of a fork, or be hostile: the
 * next zygote only has it where programs find it. */
static void
start_failed(struct environment *e)
{
	stop_zygotes(e);
	e->import = 0;
	e->state = ENV_FOUND;
	if (++e->starts >= STARTS_MAX)
		environment_fail(e, "The packages were installed, but no "
		    "process with them could be started; the log of the "
		    "server may say why.");
	else if (e->queue.n == 0)
		environment_cool(e);
	environments_look(e->all);
}

static void
on_start_timer(evutil_socket_t fd, short what, void *arg)
{
	struct environment *e = arg;

	log_warnx("zygote %" PRIu64 ": %s did not start within %d s",
	    e->generation, e->found.path, START_S);
	start_failed(e);
}

static void
become_ready(struct environment *e)
{
	struct supervisor *s = environments_supervisor(e->all);

	event_del(e->ev_start);
	if (e->bare != 0)
		supervisor_zygote_stop(s, e->bare);
	e->bare = 0;
	e->state = ENV_READY;
	e->failures = 0;
	e->ready_us = e->used_us = clock_us();
	log_debug("zygote %" PRIu64 " ready for %s", e->generation,
	    e->found.path);
	pool_set_source(e->pool, supervisor_keeper(s), e->generation);
	environments_available(e->all);
}

void
environment_zygote(struct environment *e, uint64_t generation, int ready)
{
	if (ready && generation == e->bare && e->generation == 0) {
		fork_zygote(e);
		if (e->generation == 0)
			start_failed(e);
	} else if (ready && generation == e->generation)
		become_ready(e);
	else if (!ready && (generation == e->generation ||
	    generation == e->bare)) {
		log_warnx("zygote %" PRIu64 " of %s ended", generation,
		    e->found.path);
		if (generation == e->generation)
			e->generation = 0;
		else
			e->bare = 0;
		start_failed(e);
	}
}

void
environment_lost(struct environment *e)
{
	event_del(e->ev_start);
	install_free(&e->install);
	e->bare = e->generation = 0;
	pool_abandon(e->pool);
	e->state = e->queue.n > 0 ? ENV_QUEUED : ENV_COLD;
}

static void
on_available(void *arg)
{
	struct environment *e = arg;

	environments_available(e->all);
	environments_look(e->all);
}

static void
on_returned(struct job *job, void *arg)
{
	struct environment *e = arg;

	environments_returned(e->all, job);
}

static void
on_born(const char *why, void *arg)
{
	struct environment *e = arg;

	if (why == NULL) {
		e->failures = e->starts = 0;
		return;
	}
	if (e->state != ENV_READY || ++e->failures != FAILURES_MAX)
		return;
	log_errorx("zygote %" PRIu64 ": %u workers in a row failed; it is "
	    "replaced", e->generation, e->failures);
	start_failed(e);
}
