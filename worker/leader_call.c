#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "fdpass.h"
#include "leader_link.h"
#include "leader_private.h"
#include "log.h"
#include "msg.h"
#include "proto.h"

/* What a leader does: the states, and the one call or branch that is under
 * way. */

/* A fork that was asked of a state: for a call, or for a branch. */
struct birth {
	int		active;
	int		is_call;
	uint64_t	id;		/* of the call, or of the branch */
	struct leader_state *from;
	struct leader_state child;	/* pid 0 until it has said hello */
	int		in_place;	/* the state itself runs the call */
	int		doomed;		/* killed, its end is waited for */
	int		deaf;		/* closed its link, so is no state */
	int		last;		/* a branch; then its origin ends */
	int		status;		/* as from wait(2), -1 while it lives */
	struct rusage	ru;
};

static void	on_child_link(void);

static struct leader	l;
static struct birth	birth;
static int		fork_due;	/* one that the gate may permit */

#define SEND(T, ...)							\
	do {								\
		struct msg_##T m_ = { __VA_ARGS__ };			\
		struct writer w_;					\
									\
		msg_encode_##T(&w_, &m_);				\
		if (control_send(WORKER_FD_JOB, &w_, NULL, 0) == -1)	\
			_exit(0);					\
		wr_free(&w_);						\
	} while (0)

static struct leader_state *
find(uint64_t id)
{
	int i;

	for (i = 0; i < LEADER_STATES; i++)
		if (l.states[i].link != -1 && l.states[i].id == id)
			return &l.states[i];
	return NULL;
}

static struct leader_state *
free_slot(void)
{
	int i;

	for (i = 0; i < LEADER_STATES; i++)
		if (l.states[i].link == -1)
			return &l.states[i];
	return NULL;
}

static void
forget(struct leader_state *st)
{
	if (st->link != -1)
		close(st->link);
	memset(st, 0, sizeof *st);
	st->link = -1;
}

/* Nobody can ask anything of a leader without states. */
static void
end_if_empty(void)
{
	int i;

	for (i = 0; i < LEADER_STATES; i++)
		if (l.states[i].link != -1)
			return;
	if (!birth.active)
		_exit(0);
}

static uint64_t
rusage_us(const struct rusage *ru)
{
	return (ru->ru_utime.tv_sec + ru->ru_stime.tv_sec) * 1000000ULL +
	    ru->ru_utime.tv_usec + ru->ru_stime.tv_usec;
}

static void
sweep(struct leader_state *keep)
{
	if (leader_sweep(&l, keep) == 0)
		return;
	log_warn("session: no process can be made to look for others");
	_exit(1);	/* and all with it */
}

/* --- the end of a call */

static void
report(enum session_fate fate, int status, uint64_t cpu_us, int threads)
{
	SEND(SESSION_SETTLED, .call = birth.id, .fate = fate,
	    .status = status, .cpu_us = cpu_us,
	    .peak_kib = status == -1 ? 0 : birth.ru.ru_maxrss,
	    .threads = threads);
	birth.active = 0;
}

/* What the call made is the state. */
static void
keep_child(void)
{
	struct leader_state *st = birth.from, *now;
	uint64_t cpu_us;

	now = birth.in_place ? st : &birth.child;
	sweep(now);
	cpu_us = clock_cpu_us(clock_of_process(now->pid));
	if (!birth.in_place) {
		birth.child.id = st->id;
		if (st->pid != 0)
			kill(st->pid, SIGKILL);
		close(st->link);
		*st = birth.child;
	}
	report(SESSION_KEPT, -1, cpu_us, leader_threads(st));
}

/* The process of the call is gone: the state is what it was, if it is. */
static void
settle_ended(void)
{
	struct leader_state *st = birth.from;
	int lives = !birth.in_place && st->pid != 0;

	if (birth.child.link != -1)
		forget(&birth.child);
	sweep(NULL);
	report(lives ? SESSION_ROLLED_BACK : SESSION_GONE, birth.status,
	    rusage_us(&birth.ru), 0);
	if (!lives)
		forget(st);
	end_if_empty();
}

static void
drop_child(void)
{
	struct leader_state *st = birth.in_place ? birth.from : &birth.child;

	birth.doomed = 1;
	if (st->pid != 0)
		kill(st->pid, SIGKILL);	/* its end is told by SIGCHLD */
	else if (l.own_pid_ns && !birth.in_place) {
		/* It has not said hello: ended with all that is unknown. */
		birth.status = SIGKILL;
		settle_ended();
	}
}

static void
on_settle(const struct msg_SESSION_SETTLE *m)
{
	if (!birth.active || !birth.is_call || birth.id != m->call ||
	    birth.doomed)
		return;
	/* It said so before it ran, which is not read yet. */
	if (birth.child.pid == 0 && !birth.in_place)
		on_child_link();
	if (!birth.active)
		return;
	if (m->keep && !birth.deaf &&
	    (birth.in_place || birth.child.pid != 0))
		keep_child();
	else
		drop_child();
}

/* Ends a state, and a call under way in it. */
static void
stop_state(struct leader_state *st)
{
	if (birth.active && birth.from == st) {
		if (!birth.in_place && birth.child.pid != 0)
			kill(birth.child.pid, SIGKILL);
		forget(&birth.child);
		birth.active = fork_due = 0;
	}
	if (st->pid != 0)
		kill(st->pid, SIGKILL);
	forget(st);
	end_if_empty();
	sweep(NULL);
}

static void
on_stop(const struct msg_SESSION_STOP *m)
{
	struct leader_state *st = find(m->state);

	if (st == NULL)
		return;
	if (birth.active && !birth.is_call && birth.from == st)
		birth.last = 1;
	else
		stop_state(st);
}

/* --- the beginning of a call, or of a branch */

static void
begin(int is_call, uint64_t id, struct leader_state *from)
{
	memset(&birth, 0, sizeof birth);
	birth.active = 1;
	birth.is_call = is_call;
	birth.id = id;
	birth.from = from;
	birth.child.link = -1;
	birth.status = -1;
}

static void
end_branch(int made)
{
	SEND(SESSION_BRANCHED, .branch = birth.id, .made = made,
	    .threads = 0);
	birth.active = 0;
	if (birth.last)
		stop_state(birth.from);
	end_if_empty();
}

static void
birth_failed(void)
{
	fork_due = 0;
	if (birth.is_call) {
		birth.status = SIGKILL;
		settle_ended();
		return;
	}
	forget(&birth.child);
	end_branch(0);
}

/* Sends the state what is to be done, with a link for the child. */
static void
ask(struct link_message *m, int *fds, int nfds)
{
	int pair[2] = { -1, -1 }, rv = 0;

	if (!birth.in_place) {
		rv = link_pair(pair);
		birth.child.link = pair[0];
		fds[nfds++] = pair[1];
		fork_due = 1;
	}
	if (rv == 0)
		rv = link_send(birth.from->link, m, fds, nfds);
	if (pair[1] != -1)
		close(pair[1]);
	if (rv == -1)
		birth_failed();
}

static void
on_call(const struct msg_SESSION_CALL *m, int *fds, int nfds)
{
	struct link_message lm = { .op = LINK_CALL, .call = m->call };
	struct leader_state *st = find(m->state);

	if (st == NULL || nfds != LINK_FDS - 1 || birth.active) {
		SEND(SESSION_SETTLED, .call = m->call, .fate = SESSION_GONE,
		    .status = SIGKILL);
		return;
	}
	leader_reap();
	if (st->link == -1) {
		/* It has ended this very moment. */
		SEND(SESSION_SETTLED, .call = m->call, .fate = SESSION_GONE,
		    .status = SIGKILL);
		return;
	}
	begin(1, m->call, st);
	birth.in_place = leader_threads(st);
	lm.in_place = birth.in_place;
	ask(&lm, fds, nfds);
}

static void
on_branch(const struct msg_SESSION_BRANCH *m)
{
	struct link_message lm = { .op = LINK_BRANCH };
	struct leader_state *st = find(m->state);
	int fds[1], threads = st != NULL && leader_threads(st);

	if (st == NULL || birth.active || threads || free_slot() == NULL) {
		SEND(SESSION_BRANCHED, .branch = m->branch, .made = 0,
		    .threads = threads);
		return;
	}
	begin(0, m->branch, st);
	ask(&lm, fds, 0);
}

/* The child's first word; its pid is the kernel's. */
static void
on_hello(pid_t pid)
{
	struct leader_state *st;
	siginfo_t si;

	/* A child of ours, or it would be none of these forks. */
	if (waitid(P_PID, pid, &si, WEXITED | WNOHANG | WNOWAIT) == -1)
		return;
	fork_due = 0;
	birth.child.pid = pid;
	if (birth.doomed)
		kill(pid, SIGKILL);
	if (birth.is_call)
		return;
	st = free_slot();
	*st = birth.child;
	st->id = birth.id;
	sweep(NULL);
	end_branch(1);
}

static void
on_child_link(void)
{
	struct link_message m;
	int fds[LINK_FDS], nfds, rv;
	pid_t sender;

	rv = link_recv(birth.child.link, &m, fds, &nfds, &sender,
	    MSG_DONTWAIT);
	while (nfds > 0)
		close(fds[--nfds]);
	if (rv == 1 && m.op == LINK_HELLO && birth.child.pid == 0 &&
	    sender > 1)
		on_hello(sender);
	else if (rv == 0 && birth.child.pid == 0) {
		/* All that had its other end ended. */
		leader_look_after(birth.from);
		if (birth.active)
			birth_failed();
	} else if (rv == 0) {
		birth.deaf = 1;
		leader_reap();
	}
}

static void
on_state_link(struct leader_state *st)
{
	struct link_message m;
	int fds[LINK_FDS], nfds, rv;
	pid_t sender;

	rv = link_recv(st->link, &m, fds, &nfds, &sender, MSG_DONTWAIT);
	while (nfds > 0)
		close(fds[--nfds]);
	if (rv == 1 && m.op == LINK_FAILED && birth.active &&
	    birth.from == st && birth.child.pid == 0 && !birth.in_place)
		birth_failed();
	else if (rv == 0) {
		/* Closed: it can do nothing any more. */
		if (st->pid != 0)
			kill(st->pid, SIGKILL);
		leader_reap();
	}
}

/* --- ends of processes */

static void
state_ended(struct leader_state *st, int status)
{
	st->pid = 0;
	/* During a call of its own, the call may make another one of it. */
	if (birth.active && birth.from == st) {
		if (birth.is_call)
			return;
		birth_failed();
	}
	SEND(SESSION_LOST, .state = st->id, .status = status);
	forget(st);
	end_if_empty();
}

static void
ended(pid_t pid, int status, const struct rusage *ru)
{
	int i;

	if (birth.active && birth.is_call && pid == (birth.in_place ?
	    birth.from->pid : birth.child.pid)) {
		birth.status = status;
		birth.ru = *ru;
		if (birth.in_place)
			birth.from->pid = 0;
		settle_ended();
		return;
	}
	for (i = 0; i < LEADER_STATES; i++)
		if (l.states[i].link != -1 && l.states[i].pid == pid) {
			state_ended(&l.states[i], status);
			return;
		}
}

static int
wait_status(const siginfo_t *si)
{
	if (si->si_code == CLD_EXITED)
		return (si->si_status & 0xff) << 8;
	return si->si_status & 0x7f;
}

/* waitid(2) itself, for the rusage that the library's form leaves out. */
void
leader_reap(void)
{
	struct rusage ru;
	siginfo_t si;

	for (;;) {
		si.si_pid = 0;
		if (syscall(SYS_waitid, P_ALL, 0, &si, WEXITED | WNOHANG,
		    &ru) == -1 || si.si_pid == 0)
			return;
		ended(si.si_pid, wait_status(&si), &ru);
	}
}

#define DECODE(T)							\
	struct msg_##T m;						\
									\
	if (msg_decode_##T(f, &m, why) == -1)				\
		break

void
leader_frame(const struct frame *f, int *fds, int nfds)
{
	char why[MSG_WHY_BYTES];

	switch (f->type) {
	case FRAME_SESSION_CALL: {
		DECODE(SESSION_CALL);
		on_call(&m, fds, nfds);
		break;
	}
	case FRAME_SESSION_SETTLE: {
		DECODE(SESSION_SETTLE);
		on_settle(&m);
		break;
	}
	case FRAME_SESSION_BRANCH: {
		DECODE(SESSION_BRANCH);
		on_branch(&m);
		break;
	}
	case FRAME_SESSION_STOP: {
		DECODE(SESSION_STOP);
		on_stop(&m);
		break;
	}
	default:
		break;
	}
}

/* --- for the loop */

struct leader_state *
leader_init(void)
{
	int i;

	for (i = 0; i < LEADER_STATES; i++)
		l.states[i].link = -1;
	l.own_pid_ns = getpid() == 1;
	return &l.states[0];
}

void
leader_first(pid_t pid)
{
	l.seen = pid;
}

void
leader_poll(struct pollfd p[LEADER_LINKS])
{
	int i;

	for (i = 0; i < LEADER_STATES; i++)
		p[i] = (struct pollfd){ l.states[i].link, POLLIN, 0 };
	p[i] = (struct pollfd){ birth.active && !birth.in_place &&
	    !birth.deaf ? birth.child.link : -1, POLLIN, 0 };
}

void
leader_polled(const struct pollfd p[LEADER_LINKS])
{
	int i;

	/* One thing a turn: each may change what the others mean. */
	if (p[LEADER_STATES].revents != 0) {
		on_child_link();
		return;
	}
	for (i = 0; i < LEADER_STATES; i++)
		if (p[i].revents != 0) {
			on_state_link(&l.states[i]);
			return;
		}
}

void
leader_answer_gate(int gate)
{
	pid_t permitted = fork_due && birth.active ? birth.from->pid : 0;

	if (leader_gate_answer(gate, permitted))
		fork_due = 0;
}
