#include "config.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "leader_private.h"

/*
 * Process numbers of a pid namespace are given out in order, so what came
 * into being since the last look has numbers between the highest one seen and
 * that of a process made now.  Threads have numbers of the same kind.  No
 * /proc is needed, which a jail does not have.
 */

/* PID_MAX_LIMIT of the kernel: numbers begin anew there, if not before. */
#define PID_LIMIT	(4 * 1024 * 1024)

/* The number of a process made now, which is gone at once; -1 if none can be
 * made. */
static pid_t
probe(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
			;
	return pid;
}

static int
is_thread_of(pid_t tid, pid_t pid)
{
	return syscall(SYS_tgkill, pid, tid, 0) == 0;
}

static void
remember_thread(struct leader_state *st, pid_t tid)
{
	int i;

	for (i = 0; i < st->ntids; i++)
		if (st->tids[i] == tid)
			return;
	if (st->ntids == LEADER_TIDS)
		st->many = 1;
	else
		st->tids[st->ntids++] = tid;
}

int
leader_threads(struct leader_state *st)
{
	int i, n = 0;

	for (i = 0; i < st->ntids; i++)
		if (is_thread_of(st->tids[i], st->pid))
			st->tids[n++] = st->tids[i];
	st->ntids = n;
	return n > 0 || st->many;
}

/* Whether it is a state or a thread of one. */
static int
belongs(struct leader *l, struct leader_state *keep, pid_t pid)
{
	struct leader_state *st;
	int i;

	for (i = -1; i < LEADER_STATES; i++) {
		st = i == -1 ? keep : &l->states[i];
		if (st == NULL || st->pid == 0)
			continue;
		if (pid == st->pid)
			return 1;
		if (is_thread_of(pid, st->pid)) {
			remember_thread(st, pid);
			return 1;
		}
	}
	return 0;
}

/* The number of processes from first to before last that do not belong here;
 * sig is sent to each. */
static unsigned
visit(struct leader *l, struct leader_state *keep, pid_t first, pid_t last,
    int sig)
{
	unsigned found = 0;
	pid_t pid;

	for (pid = first; pid < last; pid++)
		if (kill(pid, 0) == 0 && !belongs(l, keep, pid) &&
		    kill(pid, sig) == 0)
			found++;
	return found;
}

static unsigned
visit_new(struct leader *l, struct leader_state *keep, pid_t now, int sig)
{
	if (now > l->seen)
		return visit(l, keep, l->seen + 1, now, sig);
	/* Numbers have begun anew. */
	return visit(l, keep, l->seen + 1, PID_LIMIT, sig) +
	    visit(l, keep, 2, now, sig);
}

int
leader_sweep(struct leader *l, struct leader_state *keep)
{
	pid_t now;

	if (!l->own_pid_ns)
		return 0;
	now = probe();
	if (now != -1 && visit_new(l, keep, now, 0) > 0) {
		/* Stopped, none of them can make another one meanwhile. */
		kill(-1, SIGSTOP);
		now = probe();
		if (now != -1)
			visit_new(l, keep, now, SIGKILL);
		kill(-1, SIGCONT);
	}
	if (now == -1)
		return -1;
	l->seen = now;
	return 0;
}
