#include "config.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "leader_private.h"

#define DYING_MS	50

void
leader_look_after(struct leader_state *st)
{
	struct pollfd p = { st->link, 0, 0 };
	siginfo_t si;

	if (st->pid == 0 || poll(&p, 1, DYING_MS) != 1 ||
	    !(p.revents & POLLHUP))
		return;
	kill(st->pid, SIGKILL);
	waitid(P_PID, st->pid, &si, WEXITED | WNOWAIT);
	leader_reap();
}
