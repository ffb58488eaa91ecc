#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "fdpass.h"
#include "leader.h"
#include "leader_link.h"
#include "leader_private.h"
#include "log.h"
#include "sandbox.h"
#include "spawn.h"
#include "workerio.h"

static int		gate = -1;	/* asks for permission to fork */
static state_call	state_fn;
static void		*state_arg;

/* --- the loop */

static void
on_server(void)
{
	static char buf[CONTROL_FRAME_MAX];
	/* The last place is for the link that goes along to a state. */
	int fds[FRAME_FDS_MAX + 1], nfds, i;
	const char *why;
	struct frame f;

	if (control_recv(WORKER_FD_JOB, SERVER_TO_LEADER, buf, &f, fds, &nfds,
	    &why) != 1)
		_exit(0);
	leader_frame(&f, fds, nfds < LINK_FDS ? nfds : 0);
	for (i = 0; i < nfds; i++)
		close(fds[i]);
}

static void
on_sigchld(int sig)
{
}

/* Only while the loop waits is it told of ended children: and then only if
 * nothing is there to be read (ppoll(2)). */
static void
prepare_signals(sigset_t *waiting)
{
	struct sigaction sa;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = on_sigchld;
	sa.sa_flags = SA_NOCLDSTOP;
	sigaction(SIGCHLD, &sa, NULL);
	*waiting = all;
	sigdelset(waiting, SIGCHLD);
}

static void
loop(const sigset_t *waiting)
{
	struct pollfd p[LEADER_LINKS + 2];

	for (;;) {
		leader_poll(p);
		p[LEADER_LINKS] = (struct pollfd){ gate, POLLIN, 0 };
		p[LEADER_LINKS + 1] = (struct pollfd){ WORKER_FD_JOB, POLLIN,
		    0 };
		if (ppoll(p, LEADER_LINKS + 2, NULL, waiting) == -1) {
			if (errno != EINTR)
				_exit(1);
			leader_reap();
		} else if (p[LEADER_LINKS].revents != 0)
			leader_answer_gate(gate);
		else if (p[LEADER_LINKS + 1].revents != 0)
			on_server();
		else
			leader_polled(p);
	}
}

/* --- the first state */

static void
become_state(const struct sandbox *s, int link)
{
	struct link_message m = { .op = LINK_HELLO };
	sigset_t none;
	int fd;

	sigemptyset(&none);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	close(WORKER_FD_JOB);
	if (sandbox_enter_state(s, &fd) == -1) {
		log_warn("a state of a session cannot be confined");
		_exit(1);
	}
	if (fd != -1) {
		if (link_send(link, &m, &fd, 1) == -1)
			_exit(1);
		close(fd);
	}
	state_serve(link, state_fn, state_arg);
}

/* Its gate, if it has one, and then that it is ready. */
static int
await_state(struct leader_state *st, int needs_gate)
{
	struct link_message m;
	int fds[LINK_FDS], nfds;
	pid_t sender;

	for (;;) {
		if (link_recv(st->link, &m, fds, &nfds, &sender, 0) != 1 ||
		    m.op != LINK_HELLO || sender != st->pid)
			return -1;
		if (nfds == 0)
			return needs_gate && gate == -1 ? -1 : 0;
		gate = fds[0];
	}
}

static int
make_state(const struct sandbox *s, struct leader_state *st)
{
	int pair[2];

	if (link_pair(pair) == -1)
		return -1;
	st->pid = spawn_child();
	if (st->pid == 0) {
		close(pair[0]);
		become_state(s, pair[1]);
	}
	close(pair[1]);
	st->link = pair[0];
	leader_first(st->pid);
	return st->pid == -1 ? -1 : await_state(st, sandbox_gates_state(s));
}

/* Until then it is not in its control group, and its children would never
 * be. */
static void
await_begin(void)
{
	static char buf[CONTROL_FRAME_MAX];
	int fds[FRAME_FDS_MAX], nfds;
	const char *why;
	struct frame f;

	if (control_recv(WORKER_FD_JOB, SERVER_TO_LEADER, buf, &f, fds, &nfds,
	    &why) != 1 || f.type != FRAME_SESSION_BEGIN)
		_exit(0);
}

void
leader_serve(const struct sandbox *s, const struct msg_PARKED *parked,
    state_call call, void *arg)
{
	struct leader_state *first = leader_init();
	sigset_t waiting;

	state_fn = call;
	state_arg = arg;
	prepare_signals(&waiting);
	if (workerio_PARKED(parked) == -1)
		_exit(0);
	await_begin();
	if (make_state(s, first) == -1 ||
	    sandbox_enter_leader(s) == -1) {
		log_warn("session: its first state cannot be made");
		_exit(WORKER_EXIT_SANDBOX);
	}
	loop(&waiting);
	_exit(1);
}
