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
#include "keeper_installs.h"
#include "keeper_strays.h"
#include "keeper_workers.h"
#include "keeper_zygotes.h"
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

struct keeper {
	struct event_base	*base;
	struct control_queue	*queue;		/* to adderd */
	struct event		*ev_control;
	struct keeper_workers	*workers;
	struct keeper_strays	*strays;
	struct keeper_installs	*installs;
	struct keeper_zygotes	*zygotes;
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
on_install_lives(pid_t pid, int on, void *arg)
{
	struct keeper *k = arg;

	keeper_strays_spare(k->strays, pid, on);
	if (!on)
		on_worker_ended(pid, k);
}

static void
on_install_exited(const struct msg_INSTALL_EXITED *m, void *arg)
{
	struct keeper *k = arg;
	struct writer w;

	msg_encode_INSTALL_EXITED(&w, m);
	control_queue_send(k->queue, &w, NULL, 0);
}

static const struct keeper_installs_observer installs_observer = {
	on_install_lives, on_install_exited
};

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
		keeper_installs_set_cgroup(k->installs, k->cgroup);
		keeper_zygotes_set_cgroup(k->zygotes, k->cgroup);
	}
	k->layers = jail_report_held(&report);
	keeper_zygotes_set(k->zygotes, k->layers, k->scratch_fd == -1 ? "" :
	    k->scratch);
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
		keeper_zygotes_start(k->zygotes, &m,
		    nfds == 1 ? fds[0] : STDERR_FILENO);
		return 0;
	}
	case FRAME_ZYGOTE_FORK: {
		DECODE(ZYGOTE_FORK);
		keeper_zygotes_fork(k->zygotes, &m,
		    nfds == 1 ? fds[0] : STDERR_FILENO);
		return 0;
	}
	case FRAME_ZYGOTE_STOP: {
		DECODE(ZYGOTE_STOP);
		keeper_zygotes_stop(k->zygotes, m.generation);
		return 0;
	}
	case FRAME_INSTALL_START: {
		DECODE(INSTALL_START);
		if (nfds != 2)
			return -1;
		keeper_installs_start(k->installs, &m, fds[0], fds[1]);
		return 0;
	}
	case FRAME_INSTALL_STOP: {
		DECODE(INSTALL_STOP);
		keeper_installs_stop(k->installs, m.install);
		return 0;
	}
	case FRAME_WORKER_FORK: {
		DECODE(WORKER_FORK);
		keeper_zygotes_worker(k->zygotes, &m, fds, nfds);
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
	keeper_zygotes_free(&k->zygotes);
	keeper_installs_free(&k->installs);
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
	k.base = event_base_new();
	if (k.base == NULL)
		fatalx("keeper: no event loop");
	k.queue = control_queue_new(k.base, KEEPER_FD_CONTROL);
	k.workers = keeper_workers_new(k.base, &workers_observer, &k);
	k.strays = keeper_strays_new(k.base, k.workers);
	k.installs = keeper_installs_new(k.base, &installs_observer, &k);
	k.zygotes = keeper_zygotes_new(k.base, k.queue, k.workers, k.strays);
	k.ev_control = event_new(k.base, KEEPER_FD_CONTROL,
	    EV_READ | EV_PERSIST, on_server_control, &k);
	event_add(k.ev_control, NULL);
	ev_guard = end_with_guard(&k, guard);
	event_base_dispatch(k.base);
	event_free(ev_guard);
	keeper_end(&k);
	return 0;
}
