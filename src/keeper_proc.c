#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "control_queue.h"
#include "fdpass.h"
#include "fdutil.h"
#include "keeper_proc.h"
#include "log.h"
#include "log_pipe.h"
#include "mem.h"

/* Packets handled in one turn of the loop, so that nothing else starves. */
#define BATCH_MAX	64
/* Lines that a process with code of strangers may log. */
#define FORK_LOG_LINES	200

struct keeper_proc {
	struct event_base	*base;
	pid_t			 pid;
	struct control_queue	*queue;
	struct event		*ev_read;
	int			 sock;
	const struct keeper_observer *observer;
	void			*arg;
	int			 gone;
};

extern char **environ;

static void	on_control(evutil_socket_t, short, void *);

static int
spawn_keeper(int sock, pid_t *pid)
{
	char *argv[] = { (char *)"adderd", (char *)"--keeper", NULL, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t all, none;
	int err;

	if (log_get_level() == LOG_LEVEL_DEBUG)
		argv[2] = (char *)"-d";
	sigfillset(&all);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY,
	    0);
	posix_spawn_file_actions_adddup2(&actions, 2, 1);
	posix_spawn_file_actions_adddup2(&actions, sock, KEEPER_FD_CONTROL);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr,
	    POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	err = posix_spawn(pid, "/proc/self/exe", &actions, &attr, argv,
	    environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	if (err != 0)
		errno = err;
	return err == 0 ? 0 : -1;
}

struct keeper_proc *
keeper_proc_start(struct event_base *base,
    const struct keeper_observer *observer, void *arg)
{
	struct keeper_proc *k;
	int pair[2];

	if (control_pair(pair) == -1)
		return NULL;
	k = xcalloc(1, sizeof *k);
	if (fd_set_nonblock(pair[0]) == -1 ||
	    spawn_keeper(pair[1], &k->pid) == -1) {
		int saved = errno;

		close(pair[0]);
		close(pair[1]);
		free(k);
		errno = saved;
		return NULL;
	}
	close(pair[1]);
	k->base = base;
	k->sock = pair[0];
	k->observer = observer;
	k->arg = arg;
	k->queue = control_queue_new(base, k->sock);
	k->ev_read = event_new(base, k->sock, EV_READ | EV_PERSIST,
	    on_control, k);
	event_add(k->ev_read, NULL);
	log_debug("keeper started, pid %ld", (long)k->pid);
	return k;
}

void
keeper_proc_free(struct keeper_proc **kp)
{
	struct keeper_proc *k = *kp;

	if (k == NULL)
		return;
	*kp = NULL;
	event_free(k->ev_read);
	control_queue_free(&k->queue);
	close(k->sock);
	/* It ends at once, without asking anybody. */
	while (waitpid(k->pid, NULL, 0) == -1 && errno == EINTR)
		;
	free(k);
}

#define DISPATCH(T, callback)						\
	case FRAME_##T: {						\
		struct msg_##T m;					\
									\
		if (msg_decode_##T(f, &m, why) == -1)			\
			break;						\
		k->observer->callback(&m, k->arg);			\
		return 0;						\
	}

static int
on_frame(struct keeper_proc *k, const struct frame *f)
{
	char why[MSG_WHY_BYTES] = "unexpected frame";

	switch (f->type) {
	DISPATCH(KEEPER_READY, ready)
	DISPATCH(ZYGOTE_READY, zygote_ready)
	DISPATCH(ZYGOTE_EXITED, zygote_exited)
	DISPATCH(WORKER_FORKED, worker_forked)
	DISPATCH(WORKER_REFUSED, worker_refused)
	DISPATCH(WORKER_EXITED, worker_exited)
	DISPATCH(WORKER_USES, worker_uses)
	DISPATCH(INSTALL_EXITED, install_exited)
	DISPATCH(KEEPER_GONE, keeper_gone)
	default:
		break;
	}
	log_warnx("keeper: bad %s frame: %s", frame_name(f->type), why);
	return -1;
}

static void
on_control(evutil_socket_t fd, short what, void *arg)
{
	static char buf[CONTROL_FRAME_MAX];
	struct keeper_proc *k = arg;
	int fds[FRAME_FDS_MAX], nfds, rv = 1, i;
	const char *why;
	struct frame f;

	for (i = 0; i < BATCH_MAX; i++) {
		rv = control_recv(fd, KEEPER_TO_SERVER, buf, &f, fds, &nfds,
		    &why);
		if (rv <= 0)
			break;
		while (nfds > 0)
			close(fds[--nfds]);
		if (on_frame(k, &f) == -1) {
			rv = 0;
			break;
		}
	}
	if (rv > 0 || (rv == -1 && (errno == EAGAIN || errno == EINTR)))
		return;
	if (rv == -1)
		log_warn("keeper: control link: %s", why != NULL ? why : "");
	event_del(k->ev_read);
	if (!k->gone) {
		k->gone = 1;
		k->observer->gone(k->arg);
	}
}

void
keeper_start(struct keeper_proc *k, const char *without, uint64_t uid_base,
    const char *scratch)
{
	struct msg_KEEPER_START m = { .without = slice_of(without),
	    .uid_base = uid_base, .scratch = slice_of(scratch) };
	struct writer w;

	msg_encode_KEEPER_START(&w, &m);
	control_queue_send(k->queue, &w, NULL, 0);
}

void
keeper_socket_remove(struct keeper_proc *k, const char *path,
    const struct stat *st)
{
	struct msg_SOCKET_REMOVE m = { .path = slice_of(path),
	    .dev = st->st_dev, .ino = st->st_ino };
	struct writer w;

	msg_encode_SOCKET_REMOVE(&w, &m);
	control_queue_send(k->queue, &w, NULL, 0);
}

void
keeper_zygote_start(struct keeper_proc *k, const struct msg_ZYGOTE_START *m)
{
	struct writer w;
	int fd = log_pipe_open(k->base, "zygote");

	msg_encode_ZYGOTE_START(&w, m);
	control_queue_send(k->queue, &w, &fd, 1);
	close(fd);
}

void
keeper_zygote_stop(struct keeper_proc *k, uint64_t generation)
{
	struct msg_ZYGOTE_STOP m = { .generation = generation };
	struct writer w;

	msg_encode_ZYGOTE_STOP(&w, &m);
	control_queue_send(k->queue, &w, NULL, 0);
}

void
keeper_zygote_fork(struct keeper_proc *k, const struct msg_ZYGOTE_FORK *m)
{
	struct writer w;
	int fd = log_pipe_open_bounded(k->base, "zygote", FORK_LOG_LINES);

	msg_encode_ZYGOTE_FORK(&w, m);
	control_queue_send(k->queue, &w, &fd, 1);
	close(fd);
}

void
keeper_install_start(struct keeper_proc *k,
    const struct msg_INSTALL_START *m, int report)
{
	struct writer w;
	int fd = log_pipe_open_bounded(k->base, "installer", FORK_LOG_LINES);

	msg_encode_INSTALL_START(&w, m);
	control_queue_send(k->queue, &w, (int[]){ report, fd }, 2);
	close(fd);
}

void
keeper_install_stop(struct keeper_proc *k, uint64_t install)
{
	struct msg_INSTALL_STOP m = { .install = install };
	struct writer w;

	msg_encode_INSTALL_STOP(&w, &m);
	control_queue_send(k->queue, &w, NULL, 0);
}

void
keeper_worker_fork(struct keeper_proc *k, const struct msg_WORKER_FORK *m,
    const int fds[3])
{
	struct writer w;

	msg_encode_WORKER_FORK(&w, m);
	control_queue_send(k->queue, &w, fds, 3);
}

void
keeper_worker_kill(struct keeper_proc *k, uint64_t worker)
{
	struct msg_WORKER_KILL m = { .worker = worker };
	struct writer w;

	msg_encode_WORKER_KILL(&w, &m);
	control_queue_send(k->queue, &w, NULL, 0);
}

void
keeper_worker_look(struct keeper_proc *k, uint64_t worker)
{
	struct msg_WORKER_LOOK m = { .worker = worker };
	struct writer w;

	msg_encode_WORKER_LOOK(&w, &m);
	control_queue_send(k->queue, &w, NULL, 0);
}
