#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <event2/event.h>

#include "clock.h"
#include "conf.h"
#include "environment.h"
#include "job_record.h"
#include "mem.h"
#include "msg.h"
#include "pool.h"
#include "sandboxes.h"
#include "supervisor.h"

/* How often idle environments are looked for. */
#define IDLE_LOOK_US	1000000
#define IDLE_LOOK_MIN_US 50000

static void	on_zygote(uint64_t, int, void *);
static void	on_plain_ready(void *);
static void	on_lost(void *);
static void	on_install_exited(const struct msg_INSTALL_EXITED *, void *);
static void	on_worker_forked(uint64_t, pid_t, void *);
static void	on_worker_refused(uint64_t, const char *, void *);
static void	on_worker_exited(const struct msg_WORKER_EXITED *, void *);
static void	on_look(evutil_socket_t, short, void *);
static void	on_idle(evutil_socket_t, short, void *);

static const struct supervisor_observer supervisor_observer = {
	on_zygote, on_plain_ready, on_lost, on_install_exited,
	on_worker_forked, on_worker_refused, on_worker_exited
};

struct environments *
environments_new(struct event_base *base, struct conf *conf,
    struct supervisor *supervisor,
    const struct environments_observer *observer, void *arg)
{
	struct environments *all = xcalloc(1, sizeof *all);

	all->base = base;
	all->conf = conf_ref(conf);
	all->supervisor = supervisor;
	all->observer = observer;
	all->arg = arg;
	TAILQ_INIT(&all->list);
	TAILQ_INIT(&all->names);
	all->ev_look = event_new(base, -1, 0, on_look, all);
	all->ev_idle = event_new(base, -1, 0, on_idle, all);
	supervisor_observe(supervisor, &supervisor_observer, all);
	return all;
}

const struct conf *
environments_conf(const struct environments *all)
{
	return all->conf;
}

struct supervisor *
environments_supervisor(struct environments *all)
{
	return all->supervisor;
}

struct event_base *
environments_base(struct environments *all)
{
	return all->base;
}

/* --- the list */

static void
remove_one(struct environment *e)
{
	environment_names_move(e, NULL, 1);
	TAILQ_REMOVE(&e->all->list, e, entry);
	environment_free(&e);
}

void
environments_free(struct environments **allp)
{
	struct environments *all = *allp;

	if (all == NULL)
		return;
	*allp = NULL;
	while (!TAILQ_EMPTY(&all->list))
		remove_one(TAILQ_FIRST(&all->list));
	environment_names_clear(all);
	event_free(all->ev_look);
	event_free(all->ev_idle);
	conf_unref(&all->conf);
	free(all);
}

int
environments_submit(struct environments *all, struct job *job)
{
	const char *packages = job->spec.packages;
	struct environment_name *n = environment_names_find(all, packages);
	struct environment *e = n == NULL ? NULL : n->env;

	if (n != NULL) {
		TAILQ_REMOVE(&all->names, n, entry);
		TAILQ_INSERT_HEAD(&all->names, n, entry);
		if (e == NULL)
			return 0;
	} else {
		e = environment_new(all, packages);
		TAILQ_INSERT_TAIL(&all->list, e, entry);
		environment_names_add(all, packages, e);
	}
	job->env = e;
	e->used_us = clock_us();
	job_queue_push(&e->queue, job, 0);
	if (e->state == ENV_COLD) {
		e->state = ENV_QUEUED;
		environments_look(all);
	}
	return 1;
}

unsigned
environments_queued(const struct environments *all)
{
	const struct environment *e;
	unsigned n = 0;

	TAILQ_FOREACH(e, &all->list, entry)
		n += e->queue.n;
	return n;
}

struct environment *
environments_next(struct environments *all, struct environment *e)
{
	return e == NULL ? TAILQ_FIRST(&all->list) : TAILQ_NEXT(e, entry);
}

struct job_queue *
environment_queue(struct environment *e)
{
	return &e->queue;
}

struct pool *
environment_pool(struct environment *e)
{
	return e->state == ENV_READY ? e->pool : NULL;
}

const char *
environment_name(const struct environment *e)
{
	return strrchr(e->found.path, '/') + 1;
}

uint64_t
environment_generation(const struct environment *e)
{
	return e->generation;
}

void
environment_busy(struct environment *e, int more)
{
	e->others += more;
	e->used_us = clock_us();
	environments_look(e->all);
}

void
environments_set_sandboxes(struct environments *all,
    const struct sandboxes *sandboxes)
{
	all->sandboxes = sandboxes;
}

uint64_t
environment_ready_us(const struct environment *e)
{
	return e->state == ENV_READY || e->state == ENV_FOUND ||
	    e->state == ENV_STARTING ? e->ready_us : 0;
}

void
environments_reload(struct environments *all, struct conf *conf)
{
	struct environment *e;

	conf_unref(&all->conf);
	all->conf = conf_ref(conf);
	TAILQ_FOREACH(e, &all->list, entry) {
		pool_set_conf(e->pool, conf);
		environment_cool(e);
		if (e->queue.n > 0)
			e->state = ENV_QUEUED;
	}
	/* Another interpreter has other packages. */
	environment_names_clear(all);
	TAILQ_FOREACH(e, &all->list, entry)
		environment_names_add(all, e->packages, e);
}

void
environments_available(struct environments *all)
{
	all->observer->available(all->arg);
}

void
environments_returned(struct environments *all, struct job *job)
{
	all->observer->returned(job, all->arg);
	environments_again(all, job);
}

void
environments_again(struct environments *all, struct job *job)
{
	struct environment *e = job->env;

	job_queue_push(&e->queue, job, 1);
	if (e->state == ENV_COLD)
		e->state = ENV_QUEUED;
	environments_look(all);
	environments_available(all);
}

void
environments_plain(struct environment *e)
{
	struct environments *all = e->all;
	struct job *job;

	environment_names_move(e, NULL, 0);
	while ((job = job_queue_next(&e->queue, NULL)) != NULL) {
		job_queue_remove(&e->queue, job);
		job->env = NULL;
		all->observer->plain(job, all->arg);
	}
	environment_cool(e);
}

void
environments_merge(struct environment *e)
{
	struct environments *all = e->all;
	struct environment *other;
	struct job *job;

	environments_look(all);
	TAILQ_FOREACH(other, &all->list, entry)
		if (other != e && other->state > ENV_INSTALLING &&
		    strcmp(other->found.path, e->found.path) == 0)
			break;
	if (other == NULL)
		return;
	environment_names_move(e, other, 0);
	while ((job = job_queue_next(&e->queue, NULL)) != NULL) {
		job_queue_remove(&e->queue, job);
		job->env = other;
		job_queue_push(&other->queue, job, 0);
	}
	other->used_us = clock_us();
	environment_cool(e);
	environments_available(all);
}

/* --- what each may do next */

void
environments_look(struct environments *all)
{
	event_active(all->ev_look, 0, 0);
}

static unsigned
count(const struct environments *all, enum environment_state from,
    enum environment_state to)
{
	const struct environment *e;
	unsigned n = 0;

	TAILQ_FOREACH(e, &all->list, entry)
		n += e->state >= from && e->state <= to;
	return n;
}

static int
is_idle(const struct environment *e)
{
	struct pool_counts c;

	pool_counts(e->pool, &c);
	return e->state == ENV_READY && e->queue.n == 0 && c.busy == 0 &&
	    e->others == 0;
}

/* The idle one that was used least lately, or NULL. */
static struct environment *
least_used(struct environments *all)
{
	struct environment *e, *found = NULL;

	TAILQ_FOREACH(e, &all->list, entry)
		if (is_idle(e) && (found == NULL ||
		    e->used_us < found->used_us))
			found = e;
	return found;
}

static void
start_some(struct environments *all)
{
	struct environment *e, *idle;

	TAILQ_FOREACH(e, &all->list, entry) {
		if (e->state != ENV_FOUND)
			continue;
		if (e->queue.n == 0) {
			environment_cool(e);
			continue;
		}
		if (count(all, ENV_STARTING, ENV_READY) >=
		    all->conf->deps_zygotes) {
			if ((idle = least_used(all)) == NULL)
				return;
			environment_cool(idle);
		}
		environment_start(e);
	}
}

static void
install_some(struct environments *all)
{
	struct environment *e;

	if (!supervisor_may_install(all->supervisor))
		return;
	TAILQ_FOREACH(e, &all->list, entry)
		if (e->state == ENV_QUEUED && count(all, ENV_INSTALLING,
		    ENV_INSTALLING) < all->conf->deps_installs)
			environment_install(e);
}

static void
remove_some(struct environments *all)
{
	struct environment *e, *next;

	for (e = TAILQ_FIRST(&all->list); e != NULL; e = next) {
		next = TAILQ_NEXT(e, entry);
		if (e->state == ENV_COLD && e->queue.n == 0 && e->others == 0 &&
		    pool_is_empty(e->pool))
			remove_one(e);
	}
}

static void
on_look(evutil_socket_t fd, short what, void *arg)
{
	struct environments *all = arg;
	struct timeval tv = { 0, 0 };

	install_some(all);
	start_some(all);
	remove_some(all);
	if (TAILQ_EMPTY(&all->list) ||
	    event_pending(all->ev_idle, EV_TIMEOUT, NULL))
		return;
	tv.tv_usec = all->conf->deps_idle * 1000 / 4 < IDLE_LOOK_US ?
	    IDLE_LOOK_MIN_US : IDLE_LOOK_US - 1;
	event_add(all->ev_idle, &tv);
}

static void
on_idle(evutil_socket_t fd, short what, void *arg)
{
	struct environments *all = arg;
	uint64_t now = clock_us();
	struct environment *e;

	TAILQ_FOREACH(e, &all->list, entry)
		if (is_idle(e) &&
		    now - e->used_us >= all->conf->deps_idle * 1000)
			environment_cool(e);
	environments_look(all);
}

/* --- what the supervisor tells */

static void
on_zygote(uint64_t generation, int ready, void *arg)
{
	struct environments *all = arg;
	struct environment *e;

	TAILQ_FOREACH(e, &all->list, entry)
		if (e->bare == generation || e->generation == generation) {
			environment_zygote(e, generation, ready);
			return;
		}
}

static void
on_plain_ready(void *arg)
{
	environments_look(arg);
}

static void
on_lost(void *arg)
{
	struct environments *all = arg;
	struct environment *e;

	TAILQ_FOREACH(e, &all->list, entry)
		environment_lost(e);
	environments_look(all);
}

static void
on_install_exited(const struct msg_INSTALL_EXITED *m, void *arg)
{
	struct environments *all = arg;
	struct environment *e, *next;

	for (e = TAILQ_FIRST(&all->list); e != NULL; e = next) {
		next = TAILQ_NEXT(e, entry);
		if (e->install != NULL)
			install_exited(e->install, m);
	}
}

static void
on_worker_forked(uint64_t worker, pid_t pid, void *arg)
{
	struct environments *all = arg;
	struct environment *e;

	TAILQ_FOREACH(e, &all->list, entry)
		if (pool_worker_forked(e->pool, worker, pid))
			return;
}

static void
on_worker_refused(uint64_t worker, const char *why, void *arg)
{
	struct environments *all = arg;
	struct environment *e;

	TAILQ_FOREACH(e, &all->list, entry)
		if (pool_worker_refused(e->pool, worker, why))
			return;
}

static void
on_worker_exited(const struct msg_WORKER_EXITED *m, void *arg)
{
	struct environments *all = arg;
	struct environment *e;

	TAILQ_FOREACH(e, &all->list, entry)
		if (pool_worker_exited(e->pool, m)) {
			environments_look(all);
			return;
		}
}
