#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "cgroup.h"
#include "fdutil.h"
#include "keeper_groups.h"
#include "keeper_workers.h"
#include "log.h"
#include "mem.h"
#include "msg.h"
#include "rmtree.h"

#ifndef P_PIDFD
#define P_PIDFD	3	/* waitid(2), Linux 5.4 */
#endif

/* Processes of a session beside those of its programs. */
#define SESSION_PIDS	8

struct keeper_worker {
	LIST_ENTRY(keeper_worker) entry;
	uint64_t		 id;
	uint64_t		 generation;
	pid_t			 pid;		/* 0 until forked */
	int			 pidfd;		/* -1 until forked */
	int			 killed;	/* before it was forked */
	struct event		*ev;
	struct keeper_workers	*all;
};

struct keeper_workers {
	struct event_base	*base;
	LIST_HEAD(, keeper_worker) list;
	int			 scratch;
	struct cgroup_root	*cgroup;
	struct keeper_groups	*groups;
	unsigned		 pending;
	const struct keeper_workers_observer *observer;
	void			*arg;
};

struct keeper_workers *
keeper_workers_new(struct event_base *base,
    const struct keeper_workers_observer *observer, void *arg)
{
	struct keeper_workers *all = xcalloc(1, sizeof *all);

	all->base = base;
	all->observer = observer;
	all->arg = arg;
	all->scratch = -1;
	LIST_INIT(&all->list);
	return all;
}

static struct keeper_worker *
find(struct keeper_workers *all, uint64_t id)
{
	struct keeper_worker *w;

	LIST_FOREACH(w, &all->list, entry)
		if (w->id == id)
			return w;
	return NULL;
}

static void
forget(struct keeper_worker *w)
{
	LIST_REMOVE(w, entry);
	if (w->pidfd == -1)
		w->all->pending--;
	if (w->all->groups != NULL)
		keeper_groups_remove(w->all->groups, w->id);
	if (w->ev != NULL)
		event_free(w->ev);
	fd_close(&w->pidfd);
	free(w);
}

/* waitid(2) itself, for the rusage that the library's form leaves out. */
static int
reap(int pidfd, siginfo_t *si, struct rusage *ru)
{
	int rv;

	si->si_pid = 0;
	do
		rv = syscall(SYS_waitid, P_PIDFD, pidfd, si, WEXITED, ru);
	while (rv == -1 && errno == EINTR);
	return rv;
}

static int
wait_status(const siginfo_t *si)
{
	if (si->si_code == CLD_EXITED)
		return (si->si_status & 0xff) << 8;
	return (si->si_status & 0x7f) |
	    (si->si_code == CLD_DUMPED ? 0x80 : 0);
}

static uint64_t
timeval_us(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000000 + tv->tv_usec;
}

static void
remove_scratch(struct keeper_workers *all, uint64_t id)
{
	char name[32];

	if (all->scratch == -1)
		return;
	snprintf(name, sizeof name, "%" PRIu64, id);
	if (rmtree_at(all->scratch, name) == -1 && errno != ENOENT)
		log_warn("scratch directory of worker %" PRIu64
		    " is not removed", id);
}

static void
on_exit_event(evutil_socket_t fd, short what, void *arg)
{
	struct keeper_worker *w = arg;
	struct keeper_workers *all = w->all;
	struct msg_WORKER_EXITED m = { .worker = w->id };
	struct rusage ru = { 0 };
	siginfo_t si;

	all->observer->ended(w->pid, all->arg);
	if (reap(w->pidfd, &si, &ru) == -1) {
		log_warn("worker %" PRIu64 " pid %ld: not reaped", w->id,
		    (long)w->pid);
		m.status = -1;
	} else
		m.status = wait_status(&si);
	m.cpu_us = timeval_us(&ru.ru_utime) + timeval_us(&ru.ru_stime);
	m.peak_kib = ru.ru_maxrss;
	if (all->cgroup != NULL) {
		struct cgroup_usage usage;

		cgroup_usage(all->cgroup, m.worker, &usage);
		m.oom = usage.oom;
	}
	forget(w);
	remove_scratch(all, m.worker);
	all->observer->exited(&m, all->arg);
}

void
keeper_workers_set_cgroup(struct keeper_workers *all,
    struct cgroup_root *cgroup)
{
	all->cgroup = cgroup;
	if (cgroup != NULL)
		all->groups = keeper_groups_new(all->base, cgroup);
}

int
keeper_workers_asked(struct keeper_workers *all, uint64_t id,
    uint64_t generation, const struct limits *limits, int session)
{
	struct limits lim = *limits;
	struct keeper_worker *w;

	if (session) {
		lim.memory *= LIMIT_SESSION_MEMORY;
		lim.pids += lim.pids != 0 ? SESSION_PIDS : 0;
	}
	if (all->cgroup != NULL &&
	    cgroup_make(all->cgroup, id, &lim, !session) == -1) {
		log_warn("worker %" PRIu64 ": no control group", id);
		return -1;
	}
	w = xcalloc(1, sizeof *w);
	w->all = all;
	w->id = id;
	w->generation = generation;
	w->pidfd = -1;
	LIST_INSERT_HEAD(&all->list, w, entry);
	all->pending++;
	return 0;
}

int
keeper_workers_look(struct keeper_workers *all, uint64_t id, uint64_t *kills,
    uint64_t *memory)
{
	struct cgroup_usage usage = { 0 };

	if (find(all, id) == NULL)
		return -1;
	if (all->cgroup != NULL)
		cgroup_usage(all->cgroup, id, &usage);
	*kills = usage.kills;
	*memory = usage.now;
	return 0;
}

enum keeper_worker_is
keeper_workers_forked(struct keeper_workers *all, uint64_t id,
    uint64_t generation, pid_t pid, int pidfd)
{
	struct keeper_worker *w = find(all, id);

	if (w == NULL || w->pidfd != -1 || w->generation != generation) {
		close(pidfd);
		return KEEPER_WORKER_UNKNOWN;
	}
	w->pid = pid;
	w->pidfd = pidfd;
	all->pending--;
	w->ev = event_new(all->base, pidfd, EV_READ, on_exit_event, w);
	event_add(w->ev, NULL);
	/* A worker that is not held must not get a job. */
	if (!w->killed && all->cgroup != NULL &&
	    cgroup_attach(all->cgroup, id, pid) == -1) {
		log_warn("worker %" PRIu64 ": not in its control group", id);
		w->killed = 1;
	}
	if (!w->killed)
		return KEEPER_WORKER_READY;
	pidfd_kill(pidfd, SIGKILL);
	return KEEPER_WORKER_KILLED;
}

void
keeper_workers_refused(struct keeper_workers *all, uint64_t id,
    uint64_t generation)
{
	struct keeper_worker *w = find(all, id);

	if (w != NULL && w->pidfd == -1 && w->generation == generation)
		forget(w);
}

void
keeper_workers_kill(struct keeper_workers *all, uint64_t id)
{
	struct keeper_worker *w = find(all, id);

	if (w == NULL)
		return;
	if (w->pidfd == -1)
		w->killed = 1;
	else
		pidfd_kill(w->pidfd, SIGKILL);
}

void
keeper_workers_unanswered(struct keeper_workers *all, uint64_t generation,
    void (*refused)(uint64_t, void *), void *arg)
{
	struct keeper_worker *w, *next;

	for (w = LIST_FIRST(&all->list); w != NULL; w = next) {
		next = LIST_NEXT(w, entry);
		if (w->pidfd != -1 || w->generation != generation)
			continue;
		refused(w->id, arg);
		forget(w);
	}
}

void
keeper_workers_set_scratch(struct keeper_workers *all, int dirfd)
{
	all->scratch = dirfd;
}

int
keeper_workers_pending(const struct keeper_workers *all)
{
	return all->pending > 0;
}

int
keeper_workers_has_pid(const struct keeper_workers *all, pid_t pid)
{
	const struct keeper_worker *w;

	LIST_FOREACH(w, &all->list, entry)
		if (w->pid == pid)
			return 1;
	return 0;
}

void
keeper_workers_kill_all(struct keeper_workers *all)
{
	struct keeper_worker *w;
	struct rusage ru;
	siginfo_t si;

	LIST_FOREACH(w, &all->list, entry)
		if (w->pidfd != -1)
			pidfd_kill(w->pidfd, SIGKILL);
	while ((w = LIST_FIRST(&all->list)) != NULL) {
		uint64_t id = w->id;

		if (w->pidfd != -1)
			reap(w->pidfd, &si, &ru);
		forget(w);
		remove_scratch(all, id);
	}
}

void
keeper_workers_free(struct keeper_workers **allp)
{
	struct keeper_workers *all = *allp;

	if (all == NULL)
		return;
	*allp = NULL;
	while (!LIST_EMPTY(&all->list))
		forget(LIST_FIRST(&all->list));
	keeper_groups_free(&all->groups);
	free(all);
}
