#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "cgroup.h"
#include "control_queue.h"
#include "fdpass.h"
#include "fdutil.h"
#include "keeper.h"
#include "keeper_strays.h"
#include "keeper_workers.h"
#include "keeper_zygote.h"
#include "log.h"
#include "mem.h"
#include "msg.h"
#include "probe.h"
#include "rmtree.h"

/*
 * The keeper is the parent of everything that runs Python.  It does what it
 * is told and decides nothing: starts zygotes, passes fork requests on,
 * kills by pidfd, reaps, removes scratch directories, and reports.  It ends,
 * and takes all below with it, when the control link closes: that is how
 * adderd's own end, by whatever cause, ends everything.
 */

#define BATCH_MAX	64

struct zygote {
	LIST_ENTRY(zygote)	 entry;
	uint64_t		 generation;
	pid_t			 pid;
	int			 pidfd;
	int			 sock;
	struct control_queue	*queue;
	struct event		*ev_control;
	struct event		*ev_exit;
	struct keeper		*k;
};

struct keeper {
	struct event_base	*base;
	struct control_queue	*queue;		/* to adderd */
	struct event		*ev_control;
	struct keeper_workers	*workers;
	struct keeper_strays	*strays;
	LIST_HEAD(, zygote)	 zygotes;
	struct cgroup_root	*cgroup;	/* NULL without that layer */
	int			 started;	/* KEEPER_START was received */
	jail_set		 layers;	/* that hold here */
	char			 scratch[PATH_MAX];	/* "" until known */
	int			 scratch_fd;
};

#define SEND(q, T, ...)							\
	do {								\
		struct msg_##T m_ = { __VA_ARGS__ };			\
		struct writer w_;					\
									\
		msg_encode_##T(&w_, &m_);				\
		control_queue_send(q, &w_, NULL, 0);			\
	} while (0)

static struct zygote *
zygote_find(struct keeper *k, uint64_t generation)
{
	struct zygote *z;

	LIST_FOREACH(z, &k->zygotes, entry)
		if (z->generation == generation)
			return z;
	return NULL;
}

static void
on_worker_ended(pid_t pid, void *arg)
{
	struct keeper *k = arg;

	/* The end of a pid namespace is the end of all in it. */
	if ((k->layers & JAIL_BIT(JAIL_PID)) == 0)
		keeper_strays_of(k->strays, pid);
}

static void
on_worker_exited(const struct msg_WORKER_EXITED *m, void *arg)
{
	struct keeper *k = arg;
	struct writer w;

	msg_encode_WORKER_EXITED(&w, m);
	control_queue_send(k->queue, &w, NULL, 0);
}

static const struct keeper_workers_observer workers_observer = {
	on_worker_ended, on_worker_exited
};

static void
refuse_worker(struct keeper *k, uint64_t worker, const char *reason)
{
	SEND(k->queue, WORKER_REFUSED, .worker = worker,
	    .reason = slice_of(reason));
}

static void
on_unanswered(uint64_t worker, void *arg)
{
	refuse_worker(arg, worker, "the zygote ended before it was forked");
}

static void
zygote_free(struct zygote *z)
{
	LIST_REMOVE(z, entry);
	keeper_strays_spare(z->k->strays, z->pid, 0);
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
on_zygote_exit(evutil_socket_t fd, short what, void *arg)
{
	struct zygote *z = arg;
	struct keeper *k = z->k;
	uint64_t generation = z->generation;
	int status = 0;

	while (waitpid(z->pid, &status, 0) == -1 && errno == EINTR)
		;
	zygote_free(z);
	keeper_workers_unanswered(k->workers, generation, on_unanswered, k);
	/* It may have forked a worker and died before it could say so. */
	keeper_strays_look(k->strays);
	SEND(k->queue, ZYGOTE_EXITED, .generation = generation,
	    .status = status);
}

/* Passes a frame of the zygote on to adderd as it is. */
static void
pass_up(struct keeper *k, const struct frame *f)
{
	struct writer w;

	wr_init(&w);
	msgpack_sbuffer_write(&w.buf, f->payload - FRAME_HEADER_BYTES,
	    f->len + FRAME_HEADER_BYTES);
	control_queue_send(k->queue, &w, NULL, 0);
}

static int
on_zygote_frame(struct zygote *z, const struct frame *f, int *fds, int *nfds,
    char *why)
{
	struct keeper *k = z->k;

	if (f->type == FRAME_WORKER_FORKED) {
		struct msg_WORKER_FORKED m;

		if (msg_decode_WORKER_FORKED(f, &m, why) == -1)
			return -1;
		if (*nfds != 1) {
			snprintf(why, MSG_WHY_BYTES, "no pidfd came with it");
			return -1;
		}
		*nfds = 0;
		switch (keeper_workers_forked(k->workers, m.worker, m.pid,
		    fds[0])) {
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
		keeper_workers_refused(k->workers, m.worker);
	}
	pass_up(k, f);
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
		pidfd_kill(z->pidfd, SIGKILL);
	}
}

/* Whether it is a directory that adderd made, by its name: removing any other
 * one would be a disaster. */
static int
is_ours(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && strncmp(slash, "/adder-", 7) == 0;
}

/* The directory that adderd made for the scratch directories. */
static int
open_scratch(struct keeper *k, struct slice dir)
{
	if (k->scratch_fd != -1)
		return 0;
	snprintf(k->scratch, sizeof k->scratch, "%.*s", (int)dir.len,
	    dir.data);
	k->scratch_fd = open(k->scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (k->scratch_fd == -1)
		return -1;
	keeper_workers_set_scratch(k->workers, k->scratch_fd);
	return 0;
}

static struct zygote *
zygote_new(struct keeper *k, const struct msg_ZYGOTE_START *m, int sock,
    pid_t pid)
{
	struct zygote *z = xcalloc(1, sizeof *z);

	z->k = k;
	z->generation = m->generation;
	z->pid = pid;
	z->sock = sock;
	z->pidfd = pidfd_open_pid(pid);
	if (z->pidfd == -1)
		fatal("no pidfd for zygote %ld", (long)pid);
	z->queue = control_queue_new(k->base, sock);
	z->ev_control = event_new(k->base, sock, EV_READ | EV_PERSIST,
	    on_zygote_control, z);
	z->ev_exit = event_new(k->base, z->pidfd, EV_READ, on_zygote_exit, z);
	event_add(z->ev_control, NULL);
	event_add(z->ev_exit, NULL);
	LIST_INSERT_HEAD(&k->zygotes, z, entry);
	keeper_strays_spare(k->strays, pid, 1);
	return z;
}

static void
zygote_start(struct keeper *k, const struct msg_ZYGOTE_START *m, int log_fd)
{
	int pair[2];
	pid_t pid;

	if (k->scratch_fd == -1 || control_pair(pair) == -1 ||
	    fd_set_nonblock(pair[0]) == -1) {
		log_warn("zygote %" PRIu64 ": not started, scratch %s",
		    m->generation, k->scratch);
		SEND(k->queue, ZYGOTE_EXITED, .generation = m->generation,
		    .status = 0xff00);
		return;
	}
	pid = keeper_zygote_exec(m, k->scratch, pair[1], log_fd);
	close(pair[1]);
	if (pid == -1) {
		log_warn("zygote %" PRIu64 ": not forked", m->generation);
		close(pair[0]);
		SEND(k->queue, ZYGOTE_EXITED, .generation = m->generation,
		    .status = 0xff00);
		return;
	}
	zygote_new(k, m, pair[0], pid);
}

static void
worker_fork(struct keeper *k, const struct msg_WORKER_FORK *m, const int *fds,
    int nfds)
{
	struct zygote *z = zygote_find(k, m->generation);
	struct writer w;

	if (z == NULL || nfds != 3) {
		refuse_worker(k, m->worker, "there is no such zygote");
		return;
	}
	if (keeper_workers_asked(k->workers, m->worker, m->generation,
	    &m->limits, m->session) == -1) {
		refuse_worker(k, m->worker, "its control group could not be "
		    "made (the keeper's log says why)");
		return;
	}
	msg_encode_WORKER_FORK(&w, m);
	control_queue_send(z->queue, &w, fds, nfds);
}

static void
socket_remove(const struct msg_SOCKET_REMOVE *m)
{
	char *path = xmemdupz(m->path.data, m->path.len);
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	    st.st_dev == m->dev && st.st_ino == m->ino)
		unlink(path);
	free(path);
}

/* Finds out what holds here, and says so. */
static int
keeper_start(struct keeper *k, const struct msg_KEEPER_START *m, char *why)
{
	char text[2048], *names = xmemdupz(m->without.data, m->without.len);
	struct jail_report report;
	const char *bad;
	jail_set without;
	size_t len;

	if (jail_set_parse(names, &without, &bad, &len) == -1) {
		snprintf(why, MSG_WHY_BYTES, "no such layer: %.*s",
		    (int)(len < 32 ? len : 32), bad);
		free(names);
		return -1;
	}
	free(names);
	k->started = 1;
	if (open_scratch(k, m->scratch) == -1)
		log_warn("scratch directory %s", k->scratch);
	jail_probe(without, m->uid_base, k->scratch, &report);
	if (report.layer[JAIL_CGROUP].state != JAIL_OFF) {
		k->cgroup = cgroup_open();
		report.layer[JAIL_CGROUP].error = k->cgroup == NULL ?
		    errno : 0;
		report.layer[JAIL_CGROUP].state = k->cgroup == NULL ?
		    JAIL_ABSENT : JAIL_HELD;
		keeper_workers_set_cgroup(k->workers, k->cgroup);
	}
	k->layers = jail_report_held(&report);
	jail_report_format(&report, text, sizeof text);
	SEND(k->queue, KEEPER_READY, .version = PROTO_VERSION,
	    .report = slice_of(text), .cgroup = slice_of(
	    k->cgroup != NULL ? cgroup_describe(k->cgroup) : ""));
	return 0;
}

#define DECODE(T)							\
	struct msg_##T m;						\
									\
	if (msg_decode_##T(f, &m, why) == -1)				\
		return -1

static int
on_server_frame(struct keeper *k, const struct frame *f, const int *fds,
    int nfds, char *why)
{
	/* Meant for a keeper that was here before. */
	if (!k->started && f->type != FRAME_KEEPER_START)
		return 0;
	switch (f->type) {
	case FRAME_KEEPER_START: {
		DECODE(KEEPER_START);
		return keeper_start(k, &m, why);
	}
	case FRAME_SOCKET_REMOVE: {
		DECODE(SOCKET_REMOVE);
		socket_remove(&m);
		return 0;
	}
	case FRAME_ZYGOTE_START: {
		DECODE(ZYGOTE_START);
		zygote_start(k, &m, nfds == 1 ? fds[0] : STDERR_FILENO);
		return 0;
	}
	case FRAME_ZYGOTE_STOP: {
		struct zygote *z;
		DECODE(ZYGOTE_STOP);

		if ((z = zygote_find(k, m.generation)) != NULL)
			pidfd_kill(z->pidfd, SIGKILL);
		return 0;
	}
	case FRAME_WORKER_FORK: {
		DECODE(WORKER_FORK);
		worker_fork(k, &m, fds, nfds);
		return 0;
	}
	case FRAME_WORKER_KILL: {
		DECODE(WORKER_KILL);
		keeper_workers_kill(k->workers, m.worker);
		return 0;
	}
	case FRAME_WORKER_LOOK: {
		uint64_t kills, memory;
		DECODE(WORKER_LOOK);

		if (keeper_workers_look(k->workers, m.worker, &kills,
		    &memory) == 0)
			SEND(k->queue, WORKER_USES, .worker = m.worker,
			    .kills = kills, .memory = memory);
		return 0;
	}
	default:
		return -1;
	}
}

static void
on_server_control(evutil_socket_t fd, short what, void *arg)
{
	static char buf[CONTROL_FRAME_MAX];
	char why[MSG_WHY_BYTES] = "";
	struct keeper *k = arg;
	int fds[FRAME_FDS_MAX], nfds, rv, i;
	const char *rule;
	struct frame f;

	for (i = 0; i < BATCH_MAX; i++) {
		rv = control_recv(fd, SERVER_TO_KEEPER, buf, &f, fds, &nfds,
		    &rule);
		if (rv == -1 && (errno == EAGAIN || errno == EINTR))
			return;
		if (rv <= 0)
			break;
		rv = on_server_frame(k, &f, fds, nfds, why);
		while (nfds > 0)
			close(fds[--nfds]);
		if (rv == -1) {
			log_errorx("bad %s frame from adderd: %s",
			    frame_name(f.type), why);
			break;
		}
	}
	if (i < BATCH_MAX)
		event_base_loopbreak(k->base);
}

static void
keeper_end(struct keeper *k)
{
	struct zygote *z;

	LIST_FOREACH(z, &k->zygotes, entry)
		pidfd_kill(z->pidfd, SIGKILL);
	while ((z = LIST_FIRST(&k->zygotes)) != NULL) {
		while (waitpid(z->pid, NULL, 0) == -1 && errno == EINTR)
			;
		zygote_free(z);
	}
	keeper_workers_kill_all(k->workers);
	keeper_strays_sweep(k->strays);
	keeper_strays_free(&k->strays);
	keeper_workers_free(&k->workers);
	if (k->scratch_fd != -1) {
		if (is_ours(k->scratch))
			rmtree_at(AT_FDCWD, k->scratch);
		close(k->scratch_fd);
	}
	cgroup_close(&k->cgroup);
	control_queue_free(&k->queue);
	event_free(k->ev_control);
	event_base_free(k->base);
}

static void
on_guard_died(evutil_socket_t sig, short what, void *arg)
{
	struct keeper *k = arg;

	log_errorx("the guard is gone, so all ends");
	event_base_loopbreak(k->base);
}

/* Nobody would start another keeper, and adderd must hear of it. */
static struct event *
end_with_guard(struct keeper *k, pid_t guard)
{
	struct event *ev = evsignal_new(k->base, SIGUSR2, on_guard_died, k);

	event_add(ev, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGUSR2, 0, 0, 0) == -1)
		fatal("keeper: PR_SET_PDEATHSIG");
	if (getppid() != guard)
		raise(SIGUSR2);
	return ev;
}

int
keeper_serve(pid_t guard)
{
	struct keeper k = { .scratch_fd = -1 };
	struct event *ev_guard;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1) == -1)
		fatal("keeper: PR_SET_CHILD_SUBREAPER");
	LIST_INIT(&k.zygotes);
	k.base = event_base_new();
	if (k.base == NULL)
		fatalx("keeper: no event loop");
	k.queue = control_queue_new(k.base, KEEPER_FD_CONTROL);
	k.workers = keeper_workers_new(k.base, &workers_observer, &k);
	k.strays = keeper_strays_new(k.base, k.workers);
	k.ev_control = event_new(k.base, KEEPER_FD_CONTROL,
	    EV_READ | EV_PERSIST, on_server_control, &k);
	event_add(k.ev_control, NULL);
	ev_guard = end_with_guard(&k, guard);
	event_base_dispatch(k.base);
	event_free(ev_guard);
	keeper_end(&k);
	return 0;
}
