#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log.h"
#include "proto.h"
#include "sandbox.h"
#include "sandbox_rlimit.h"
#include "zygote_fds.h"

static int
step_fds(const struct sandbox *s)
{
	/* Sources are above the reserved numbers, so no copy hits another. */
	if (dup2(s->fd_stdout, STDOUT_FILENO) == -1 ||
	    dup2(s->fd_stderr, STDERR_FILENO) == -1 ||
	    dup3(s->fd_job, WORKER_FD_JOB, O_CLOEXEC) == -1)
		return -1;
	return 0;
}

static int
step_close(const struct sandbox *s)
{
	if (syscall(SYS_close_range, WORKER_FD_JOB + 1, ZYGOTE_FD_LOG - 1,
	    0) == -1)
		return -1;
	return syscall(SYS_close_range, ZYGOTE_FD_LOG + 1, ~0U, 0);
}

/* Dispositions are those of the zygote, which set them as CPython does. */
static int
step_signals(const struct sandbox *s)
{
	sigset_t none;

	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL);
}

static int
step_session(const struct sandbox *s)
{
	return setsid() == -1 ? -1 : 0;
}

static int
step_umask(const struct sandbox *s)
{
	umask(077);
	return 0;
}

static int
step_scratch(const struct sandbox *s)
{
	if (mkdir(s->scratch, 0700) == -1)
		return -1;
	return chdir(s->scratch);
}

static int
step_rlimits(const struct sandbox *s)
{
	return rlimit_apply(&s->limits, s->base_as);
}

static int
step_dumpable(const struct sandbox *s)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static int
step_pdeathsig(const struct sandbox *s)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1)
		return -1;
	/* A keeper that died before the call above sends no signal. */
	if (getppid() != s->keeper) {
		errno = ESRCH;
		return -1;
	}
	return 0;
}

static int
step_no_new_privs(const struct sandbox *s)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static const struct {
	const char	*name;
	int		(*apply)(const struct sandbox *);
} steps[] = {
	{ "fds",		step_fds },
	{ "close",		step_close },
	{ "signals",		step_signals },
	{ "session",		step_session },
	{ "umask",		step_umask },
	{ "scratch",		step_scratch },
	{ "rlimits",		step_rlimits },
	{ "dumpable",		step_dumpable },
	{ "pdeathsig",		step_pdeathsig },
	{ "no_new_privs",	step_no_new_privs },
};

int
sandbox_enter(const struct sandbox *s)
{
	size_t i;

	/* Standard error is about to become the job's. */
	log_set_fd(ZYGOTE_FD_LOG);
	for (i = 0; i < sizeof steps / sizeof steps[0]; i++)
		if (steps[i].apply(s) == -1) {
			log_warn("sandbox step %s failed, so the worker runs "
			    "no job", steps[i].name);
			return -1;
		}
	log_set_fd(STDERR_FILENO);
	return close(ZYGOTE_FD_LOG);
}
