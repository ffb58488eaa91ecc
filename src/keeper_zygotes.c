#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "caps.h"
#include "cgroup.h"
#include "control_queue.h"
#include "fdpass.h"
#include "fdutil.h"
#include "keeper_installs.h"
#include "keeper_strays.h"
#include "keeper_workers.h"
#include "keeper_zygote.h"
#include "keeper_zygotes.h"
#include "log.h"
#include "mem.h"
#include "msg.h"

struct keeper_zygotes {
	struct event_base	*base;
	struct control_queue	*queue;		/* to adderd */
	struct keeper_workers	*workers;
	struct keeper_strays	*strays;
	LIST_HEAD(, zygote)	 list;
	struct cgroup_root	*cgroup;	/* NULL for none */
	jail_set		 layers;
	char			 scratch[PATH_MAX];	/* "" until known */
};

#define SEND(q, T, ...)							\
	do {								\
		struct msg_##T m_ = { __VA_ARGS__ };			\
		struct writer w_;					\
									\
		msg_encode_##T(&w_, &m_);				\
		control_queue_send(q, &w_, NULL, 0);			\
	} while (0)

struct zygote {
	LIST_ENTRY(zygote)	 entry;
	uint64_t		 generation;
	uint64_t		 parent;	/* that forks it, 0 for none */
	pid_t			 pid;		/* 0 until that has happened */
	int			 pidfd;
	int			 stopped;	/* before it was forked */
	int			 grouped;	/* has a control group */
	int			 sock;
	struct control_queue	*queue;
	struct event		*ev_control;
	struct event		*ev_exit;
	struct keeper_zygotes	*all;
};

static struct zygote *
zygote_find(struct keeper_zygotes *all, uint64_t generation)
{
	struct zygote *z;

	LIST_FOREACH(z, &all->list, entry)
		if (z->generation == generation)
			return z;
	return NULL;
}

static void
refuse_worker(struct keeper_zygotes *all, uint64_t worker, const char *reason)
{
	SEND(all->queue, WORKER_REFUSED, .worker = worker,
	    .reason = slice_of(reason));
}

static void
on_unanswered(uint64_t worker, void *arg)
{
	refuse_worker(arg, worker, "the zygote ended before it was forked");
}

/* Names of workers' groups are numbers from 1 on. */
#define GROUP_OF(generation)	((1ull << 61) | (generation))
#define NO_GROUP		UINT64_MAX

/* Imports are to take no more than a program may.  Its workers leave the
 * group for their own. */
static int
hold_memory(struct zygote *z, uint64_t memory)
{
	struct limits lim = { .memory = memory };

	if (z->all->cgroup == NULL || memory == NO_GROUP)
		return 0;
	if (cgroup_make(z->all->cgroup, GROUP_OF(z->generation), &lim, 1) ==
	    -1) {
		log_warn("zygote %" PRIu64 ": no control group",
		    z->generation);
		return -1;
	}
	z->grouped = 1;
	return 0;
}

static void
leave_group(struct zygote *z)
{
	if (z->grouped && cgroup_remove(z->all->cgroup,
	    GROUP_OF(z->generation)) == -1)
		log_warn("zygote %" PRIu64 ": its control group is left",
		    z->generation);
}

static void
zygote_free(struct zygote *z)
{
	leave_group(z);
	LIST_REMOVE(z, entry);
	if (z->pid != 0)
		keeper_strays_spare(z->all->strays, z->pid, 0);
	else
		keeper_strays_wait(z->all->strays, 0);
	control_queue_free(&z->queue);
	if (z->ev_control != NULL)
		event_free(z->ev_control);
	if (z->ev_exit != NULL)
		event_free(z->ev_exit);
	fd_close(&z->sock);
	fd_close(&z->pidfd);
	free(z);
}

static void
say_zygote_exited(struct keeper_zygotes *all, uint64_t generation, int status)
{
	SEND(all->queue, ZYGOTE_EXITED, .generation = generation,
	    .status = status);
}

/* Those that a zygote was to fork, and now will not. */
static void
forget_unforked(struct keeper_zygotes *all, uint64_t parent)
{
	struct zygote *z, *next;

	for (z = LIST_FIRST(&all->list); z != NULL; z = next) {
		next = LIST_NEXT(z, entry);
		if (z->pid != 0 || z->parent != parent)
			continue;
		say_zygote_exited(all, z->generation, 0xff00);
		zygote_free(z);
	}
}

static void
on_zygote_exit(evutil_socket_t fd, short what, void *arg)
{
	struct zygote *z = arg;
	struct keeper_zygotes *all = z->all;
	uint64_t generation = z->generation;
	int status = 0;

	while (waitpid(z->pid, &status, 0) == -1 && errno == EINTR)
		;
	zygote_free(z);
	keeper_workers_unanswered(all->workers, generation, on_unanswered, all);
	forget_unforked(all, generation);
	/* It may have forked a worker and died before it could say so. */
	keeper_strays_look(all->strays);
	say_zygote_exited(all, generation, status);
}

/* Passes a frame of the zygote on to adderd as it is. */
static void
pass_up(struct keeper_zygotes *all, const struct frame *f)
{
	struct writer w;

	wr_init(&w);
	msgpack_sbuffer_write(&w.buf, f->payload - FRAME_HEADER_BYTES,
	    f->len + FRAME_HEADER_BYTES);
	control_queue_send(all->queue, &w, NULL, 0);
}

/*
 * A zygote may hold code of strangers: what it says it has forked must be a
 * child of ours that nobody else has named, and the descriptor a name of that
 * very process.
 */
static int
is_new_child(struct keeper_zygotes *all, pid_t pid, int pidfd)
{
	struct zygote *z;

	LIST_FOREACH(z, &all->list, entry)
		if (z->pid == pid)
			return 0;
	return pid > 0 && pidfd_child_pid(pidfd) == pid &&
	    !keeper_workers_has_pid(all->workers, pid);
}

static void
zygote_watch_exit(struct zygote *z, pid_t pid, int pidfd)
{
	z->pid = pid;
	z->pidfd = pidfd;
	z->ev_exit = event_new(z->all->base, pidfd, EV_READ, on_zygote_exit, z);
	event_add(z->ev_exit, NULL);
	keeper_strays_spare(z->all->strays, pid, 1);
}

static int
on_zygote_forked(struct zygote *z, const struct frame *f, int *fds, int *nfds,
    char *why)
{
	struct msg_ZYGOTE_FORKED m;
	struct zygote *child;

	if (msg_decode_ZYGOTE_FORKED(f, &m, why) == -1)
		return -1;
	child = zygote_find(z->all, m.child);
	if (child == NULL || child->pid != 0 ||
	    child->parent != z->generation) {
		snprintf(why, MSG_WHY_BYTES, "nobody asked for it");
		return -1;
	}
	if (m.pid == 0) {
		say_zygote_exited(z->all, m.child, 0xff00);
		zygote_free(child);
		return 0;
	}
	if (*nfds != 1 || !is_new_child(z->all, m.pid, fds[0])) {
		snprintf(why, MSG_WHY_BYTES, "it is no child of ours");
		return -1;
	}
	*nfds = 0;
	keeper_strays_wait(z->all->strays, 0);
	zygote_watch_exit(child, m.pid, fds[0]);
	/* It has hardly begun to import by now. */
	if (child->grouped && cgroup_attach(z->all->cgroup,
	    GROUP_OF(child->generation), m.pid) == -1) {
		log_warn("zygote %" PRIu64 ": not in its control group",
		    child->generation);
		child->stopped = 1;
	}
	if (child->stopped)
		pidfd_kill(child->pidfd, SIGKILL);
	return 0;
}

static int
on_zygote_frame(struct zygote *z, const struct frame *f, int *fds, int *nfds,
    char *why)
{
	struct keeper_zygotes *all = z->all;

	if (f->type == FRAME_ZYGOTE_FORKED)
		return on_zygote_forked(z, f, fds, nfds, why);
	if (f->type == FRAME_ZYGOTE_READY) {
		struct msg_ZYGOTE_READY m;

		if (msg_decode_ZYGOTE_READY(f, &m, why) == -1)
			return -1;
		if (m.generation != z->generation) {
			snprintf(why, MSG_WHY_BYTES, "it names another one");
			return -1;
		}
	} else if (f->type == FRAME_WORKER_FORKED) {
		struct msg_WORKER_FORKED m;

		if (msg_decode_WORKER_FORKED(f, &m, why) == -1)
			return -1;
		if (*nfds != 1 || (z->parent != 0 &&
		    !is_new_child(all, m.pid, fds[0]))) {
			snprintf(why, MSG_WHY_BYTES, "it is no child of ours");
			return -1;
		}
		*nfds = 0;
		switch (keeper_workers_forked(all->workers, m.worker,
		    z->generation, m.pid, fds[0])) {
		case KEEPER_WORKER_UNKNOWN:
			snprintf(why, MSG_WHY_BYTES, "nobody asked for it");
			return -1;
		case KEEPER_WORKER_KILLED:
			/* Its end will be reported; it gets no job. */
			return 0;
		case KEEPER_WORKER_READY:
			break;
		}
	} else if (f->type == FRAME_WORKER_REFUSED) {
		struct msg_WORKER_REFUSED m;

		if (msg_decode_WORKER_REFUSED(f, &m, why) == -1)
			return -1;
		keeper_workers_refused(all->workers, m.worker, z->generation);
	}
	pass_up(all, f);
	return 0;
}

static void
on_zygote_control(evutil_socket_t fd, short what, void *arg)
{
	static char buf[CONTROL_FRAME_MAX];
	char why[MSG_WHY_BYTES] = "";
	struct zygote *z = arg;
	int fds[FRAME_FDS_MAX], nfds, rv, bad;
	const char *rule;
	struct frame f;

	rv = control_recv(fd, ZYGOTE_TO_KEEPER, buf, &f, fds, &nfds, &rule);
	if (rv == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (rv == 0 || (rv == -1 && rule == NULL)) {
		event_del(z->ev_control);	/* its exit is reported */
		return;
	}
	bad = rv == -1 ||
	    on_zygote_frame(z, &f, fds, &nfds, why) == -1;
	while (nfds > 0)
		close(fds[--nfds]);
	if (bad) {
		log_warnx("zygote %" PRIu64 ": killed for a bad frame: %s",
		    z->generation, rv == -1 ? rule : why);
		event_del(z->ev_control);
		z->stopped = 1;
		if (z->pid != 0)
			pidfd_kill(z->pidfd, SIGKILL);
	}
}

static struct zygote *
zygote_new(struct keeper_zygotes *all, uint64_t generation, int sock)
{
	struct zygote *z = xcalloc(1, sizeof *z);

	z->all = all;
	z->generation = generation;
	z->sock = sock;
	z->pidfd = -1;
	z->queue = control_queue_new(all->base, sock);
	z->ev_control = event_new(all->base, sock, EV_READ | EV_PERSIST,
	    on_zygote_control, z);
	event_add(z->ev_control, NULL);
	LIST_INSERT_HEAD(&all->list, z, entry);
	return z;
}

static uid_t
installer_uid(const struct keeper_zygotes *all, uint64_t uid_base)
{
	return all->layers & JAIL_BIT(JAIL_UID) ?
	    uid_base + JAIL_UID_INSTALLER : (uid_t)-1;
}

void
keeper_zygotes_start(struct keeper_zygotes *all,
    const struct msg_ZYGOTE_START *asked, int log_fd)
{
	struct msg_ZYGOTE_START copy = *asked, *m = &copy;
	int pair[2], pidfd;
	pid_t pid;

	/* Mounts of a zygote are made once, so it has to be there; without it
	 * there are no packages, but all else. */
	if (m->deps_dir.len > 0 && keeper_deps_dir(m->deps_dir,
	    installer_uid(all, m->uid_base)) == -1)
		m->deps_dir = slice_of("");
	if (all->scratch[0] == '\0' || control_pair(pair) == -1 ||
	    fd_set_nonblock(pair[0]) == -1) {
		log_warn("zygote %" PRIu64 ": not started, scratch %s",
		    m->generation, all->scratch);
		say_zygote_exited(all, m->generation, 0xff00);
		return;
	}
	pid = keeper_zygote_exec(m, all->scratch, pair[1], log_fd);
	close(pair[1]);
	if (pid == -1) {
		log_warn("zygote %" PRIu64 ": not forked", m->generation);
		close(pair[0]);
		say_zygote_exited(all, m->generation, 0xff00);
		return;
	}
	pidfd = pidfd_open_pid(pid);
	if (pidfd == -1)
		fatal("no pidfd for zygote %ld", (long)pid);
	zygote_watch_exit(zygote_new(all, m->generation, pair[0]), pid, pidfd);
}

void
keeper_zygotes_fork(struct keeper_zygotes *all,
    const struct msg_ZYGOTE_FORK *m, int log_fd)
{
	struct zygote *parent = zygote_find(all, m->generation), *child;
	struct writer w;
	int pair[2];

	if (parent == NULL || parent->pid == 0 || control_pair(pair) == -1 ||
	    fd_set_nonblock(pair[0]) == -1) {
		say_zygote_exited(all, m->child, 0xff00);
		return;
	}
	child = zygote_new(all, m->child, pair[0]);
	child->parent = m->generation;
	keeper_strays_wait(all->strays, 1);
	/* An early zygote is no more of a stranger than its parent. */
	if (hold_memory(child, m->path.len != 0 ? m->memory : NO_GROUP) ==
	    -1) {
		say_zygote_exited(all, m->child, 0xff00);
		zygote_free(child);
		close(pair[1]);
		return;
	}
	msg_encode_ZYGOTE_FORK(&w, m);
	control_queue_send(parent->queue, &w, (int[]){ pair[1], log_fd }, 2);
	close(pair[1]);
}

void
keeper_zygotes_stop(struct keeper_zygotes *all, uint64_t generation)
{
	struct zygote *z = zygote_find(all, generation);

	if (z == NULL)
		return;
	z->stopped = 1;
	if (z->pid != 0)
		pidfd_kill(z->pidfd, SIGKILL);
}

void
keeper_zygotes_worker(struct keeper_zygotes *all,
    const struct msg_WORKER_FORK *m, const int *fds, int nfds)
{
	struct zygote *z = zygote_find(all, m->generation);
	struct writer w;

	if (z == NULL || nfds != 3) {
		refuse_worker(all, m->worker, "there is no such zygote");
		return;
	}
	if (keeper_workers_asked(all->workers, m->worker, m->generation,
	    &m->limits, m->session) == -1) {
		refuse_worker(all, m->worker, "its control group could not be "
		    "made (the keeper's log says why)");
		return;
	}
	msg_encode_WORKER_FORK(&w, m);
	control_queue_send(z->queue, &w, fds, nfds);
}

struct keeper_zygotes *
keeper_zygotes_new(struct event_base *base, struct control_queue *queue,
    struct keeper_workers *workers, struct keeper_strays *strays)
{
	struct keeper_zygotes *all = xcalloc(1, sizeof *all);

	all->base = base;
	all->queue = queue;
	all->workers = workers;
	all->strays = strays;
	LIST_INIT(&all->list);
	return all;
}

void
keeper_zygotes_set(struct keeper_zygotes *all, jail_set layers,
    const char *scratch)
{
	all->layers = layers;
	snprintf(all->scratch, sizeof all->scratch, "%s", scratch);
}

void
keeper_zygotes_set_cgroup(struct keeper_zygotes *all,
    struct cgroup_root *cgroup)
{
	all->cgroup = cgroup;
}

void
keeper_zygotes_free(struct keeper_zygotes **allp)
{
	struct keeper_zygotes *all = *allp;
	struct zygote *z;

	*allp = NULL;
	LIST_FOREACH(z, &all->list, entry)
		if (z->pid != 0)
			pidfd_kill(z->pidfd, SIGKILL);
	while ((z = LIST_FIRST(&all->list)) != NULL) {
		while (z->pid != 0 && waitpid(z->pid, NULL, 0) == -1 &&
		    errno == EINTR)
			;
		zygote_free(z);
	}
	free(all);
}
