#include "config.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "fdpass.h"
#include "fdutil.h"
#include "keeper.h"
#include "keeper_guard.h"
#include "keeper_strays.h"
#include "log.h"
#include "msg.h"

#define BACKOFF_MIN_MS	100
#define BACKOFF_MAX_MS	30000
/* A keeper that lives this long was a good one. */
#define GOOD_US		10000000

/* Signals of a terminal or a service manager are adderd's business; guard and
 * keeper end when adderd does. */
static void
ignore_signals(void)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT,
	    SIGPIPE, SIGUSR1, SIGUSR2 };
	size_t i;

	for (i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
		signal(ignored[i], SIG_IGN);
}

/* What adderd has asked of the keeper that is dead. */
static void
drop_requests(void)
{
	static char buf[CONTROL_FRAME_MAX];
	int fds[FRAME_FDS_MAX], nfds;
	const char *why;
	struct frame f;

	while (control_recv(KEEPER_FD_CONTROL, SERVER_TO_KEEPER, buf, &f, fds,
	    &nfds, &why) == 1)
		while (nfds > 0)
			close(fds[--nfds]);
}

static void
say_gone(int status)
{
	struct msg_KEEPER_GONE m = { .status = status };
	struct writer w;

	msg_encode_KEEPER_GONE(&w, &m);
	if (control_send(KEEPER_FD_CONTROL, &w, NULL, 0) == -1)
		log_warn("guard: adderd is not told that its keeper died");
	wr_free(&w);
}

/* Waits before the next start; -1 if adderd is gone meanwhile. */
static int
back_off(int ms)
{
	struct pollfd pfd = { .fd = KEEPER_FD_CONTROL, .events = 0 };

	return poll(&pfd, 1, ms) == 1 && (pfd.revents & POLLHUP) ? -1 : 0;
}

/* One keeper from its start to its end; the wait status, or -1. */
static int
run_keeper(void)
{
	pid_t guard = getpid(), pid = fork();
	int status;

	if (pid == -1)
		return -1;
	if (pid == 0) {
		log_init("keeper", log_get_level());
		prctl(PR_SET_NAME, "adderd-keeper");
		_exit(keeper_serve(guard));
	}
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return -1;
	return status;
}

int
keeper_main(int debug)
{
	uint64_t started;
	int status, backoff = BACKOFF_MIN_MS;

	log_init("guard", debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
	ignore_signals();
	prctl(PR_SET_NAME, "adderd-guard");
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) == -1)
		fatal("guard: PR_SET_CHILD_SUBREAPER");
	if (fd_set_nonblock(KEEPER_FD_CONTROL) == -1 ||
	    fd_set_cloexec(KEEPER_FD_CONTROL, 1) == -1)
		fatal("guard: no control link at descriptor %d",
		    KEEPER_FD_CONTROL);
	for (;;) {
		started = clock_us();
		status = run_keeper();
		/* What it was the parent of is ours now. */
		keeper_strays_sweep(NULL);
		if (status != -1 && WIFEXITED(status) &&
		    WEXITSTATUS(status) == 0)
			return 0;
		drop_requests();
		if (clock_us() - started > GOOD_US)
			backoff = BACKOFF_MIN_MS;
		if (back_off(backoff) == -1)
			return 1;
		backoff = backoff * 2 < BACKOFF_MAX_MS ? backoff * 2 :
		    BACKOFF_MAX_MS;
		say_gone(status);
	}
}
