#include "config.h"

#include "pycompat.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "leader_link.h"
#include "proto.h"
#include "spawn.h"
#include "state.h"
#include "zygote_fds.h"

#define FORK_AGAIN_MS	5
#define FORK_TRIES	400

/* Free in a worker that is confined. */
#define LINK_FD	ZYGOTE_FD_RULESET

/* Where each descriptor belongs; the standard ones stay open in programs
 * that are executed. */
static const struct {
	int	to;
	int	flags;
} places[LINK_FDS] = {
	[LINK_FD_JOB] = { WORKER_FD_JOB, O_CLOEXEC },
	[LINK_FD_STDOUT] = { STDOUT_FILENO, 0 },
	[LINK_FD_STDERR] = { STDERR_FILENO, 0 },
	[LINK_FD_LINK] = { LINK_FD, O_CLOEXEC },
};

/* Signals that this state held back for the time between two calls. */
static sigset_t	program_mask;

static void
close_all(int *fds, int n)
{
	while (n > 0)
		close(fds[--n]);
}

/* A program may have closed numbers of ours, so that a descriptor came in at
 * one that another belongs to: all are moved out of the way first. */
static int
place(int *fds, int first, int n)
{
	int i, fd;

	for (i = 0; i < n; i++)
		if (fds[i] <= LINK_FD) {
			fd = fcntl(fds[i], F_DUPFD_CLOEXEC, LINK_FD + 1);
			if (fd == -1)
				return -1;
			close(fds[i]);
			fds[i] = fd;
		}
	for (i = 0; i < n; i++) {
		if (dup2(fds[i], places[first + i].to) == -1 ||
		    fcntl(places[first + i].to, F_SETFD,
		    places[first + i].flags != 0 ? FD_CLOEXEC : 0) == -1)
			return -1;
		close(fds[i]);
	}
	return 0;
}

static void
hello(void)
{
	struct link_message m = { .op = LINK_HELLO };

	/* A session and process group of its own: what the program sends to
	 * its group must not reach the state that stayed behind. */
	setsid();
	if (link_send(LINK_FD, &m, NULL, 0) == -1)
		_exit(1);
}

static void
run(state_call call, const struct link_message *m, void *arg)
{
	pthread_sigmask(SIG_SETMASK, &program_mask, NULL);
	call(m->call, m->in_place != 0, arg);
}

/* Nothing may end or wake the state while it waits: timers of the program
 * may be under way. */
static void
hold_signals(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, before);
}

/*
 * What the last call started has been killed, but may not be gone yet, and
 * then takes up what this process may fork; its own children it has to wait
 * for itself.
 */
static pid_t
fork_patiently(void)
{
	static const struct timespec moment = { 0, FORK_AGAIN_MS * 1000000 };
	pid_t pid = spawn_sibling();
	int left = FORK_TRIES;

	while (pid == -1 && errno == EAGAIN && left-- > 0) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		nanosleep(&moment, NULL);
		pid = spawn_sibling();
	}
	return pid;
}

/* A fork of this state, which the leader hears of by hello(). */
static int
fork_state(int *fds, int first, int n)
{
	struct link_message failed = { .op = LINK_FAILED };
	pid_t pid = fork_patiently();

	if (pid == 0) {
		if (place(fds, first, n) == -1)
			_exit(1);
		hello();
		return 1;
	}
	close_all(fds, n);
	if (pid == -1)
		link_send(LINK_FD, &failed, NULL, 0);
	return 0;
}

/* Threads of the program go on meanwhile. */
static int
next_message(struct link_message *m, int *fds, int *nfds)
{
	pid_t sender;
	int rv;

	Py_BEGIN_ALLOW_THREADS
	rv = link_recv(LINK_FD, m, fds, nfds, &sender, 0);
	Py_END_ALLOW_THREADS
	return rv;
}

void
state_serve(int link, state_call call, void *arg)
{
	struct link_message m;
	int fds[LINK_FDS], nfds;

	if (dup3(link, LINK_FD, O_CLOEXEC) == -1)
		_exit(1);
	close(link);
	hold_signals(&program_mask);
	hello();
	for (;;) {
		if (next_message(&m, fds, &nfds) != 1)
			_exit(0);
		if (m.op == LINK_BRANCH && nfds == 1)
			fork_state(fds, LINK_FD_LINK, 1);
		else if (m.op == LINK_CALL && m.in_place && nfds ==
		    LINK_FDS - 1) {
			if (place(fds, 0, nfds) == -1)
				_exit(1);
			run(call, &m, arg);
			hold_signals(&program_mask);
		} else if (m.op == LINK_CALL && nfds == LINK_FDS) {
			if (fork_state(fds, 0, nfds)) {
				run(call, &m, arg);
				hold_signals(&program_mask);
			}
		} else
			close_all(fds, nfds);
	}
}
