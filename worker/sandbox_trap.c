#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "sandbox_trap.h"

static volatile sig_atomic_t last_call = -1;
static int is_pid_1;
static void (*ended_hook)(int);

int
sandbox_trap_last(void)
{
	return last_call;
}

void
sandbox_trap_forget(void)
{
	last_call = -1;
}

#if defined(__x86_64__)
#define ARG(uc, n)	((long)(uc)->uc_mcontext.gregs[arg_regs[n]])
#define SET_RESULT(uc, v) ((uc)->uc_mcontext.gregs[REG_RAX] = (v))
static const int arg_regs[] = { REG_RDI, REG_RSI, REG_RDX, REG_R10 };
#elif defined(__aarch64__)
#define ARG(uc, n)	((long)(uc)->uc_mcontext.regs[n])
#define SET_RESULT(uc, v) ((uc)->uc_mcontext.regs[0] = (v))
#else
#error "the registers of a system call on this machine are not known"
#endif

/* signal(7): what the default disposition of these is not to end it. */
static int
ends_by_default(int sig)
{
	switch (sig) {
	case SIGCHLD:
	case SIGURG:
	case SIGWINCH:
	case SIGCONT:
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		return 0;
	default:
		return 1;
	}
}

/* A signal of the process to itself, whole (tid 0) or to a thread; blocked
 * are the signals that the caller holds back. */
static long
signal_self(int sig, pid_t tid, const sigset_t *blocked)
{
	struct sigaction sa;
	siginfo_t si;
	long rv;

	if (sig < 0 || sig >= NSIG)
		return -EINVAL;
	if (sig == SIGSTOP)
		return -EPERM;
	if (sig == SIGKILL || (sigaction(sig, NULL, &sa) == 0 &&
	    sa.sa_handler == SIG_DFL && ends_by_default(sig) &&
	    !sigismember(blocked, sig)))
		ended_hook(sig);
	memset(&si, 0, sizeof si);
	si.si_signo = sig;
	si.si_code = SI_QUEUE;
	si.si_pid = getpid();
	si.si_uid = getuid();
	rv = tid == 0 ?
	    syscall(SYS_rt_sigqueueinfo, getpid(), sig, &si) :
	    syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, sig, &si);
	return rv == -1 ? -errno : rv;
}

static int
am_pid_1(void)
{
	return is_pid_1 && getpid() == 1;
}

/* raise(3): the filter lets the signals that it sends pass, see
 * jail/syscall_filter.c. */
int
raise(int sig)
{
	sigset_t blocked;
	long rv;

	if (!am_pid_1())
		return syscall(SYS_tgkill, getpid(), gettid(), sig);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	rv = signal_self(sig, gettid(), &blocked);
	if (rv < 0)
		errno = -rv;
	return rv < 0 ? -1 : 0;
}

/* Whether the call is a signal to ourselves, and then its result. */
static int
is_own_signal(int nr, const ucontext_t *uc, long *result)
{
	pid_t target = (pid_t)ARG(uc, 0), self = getpid();

	if (!am_pid_1())
		return 0;
	if (nr == SYS_kill && target == -1) {
		/* Never the group of process 1: all but the caller and
		 * process 1, and there are no others (kill(2)). */
		*result = -ESRCH;
		return 1;
	}
	if (nr == SYS_kill && (target == self || target == 0 ||
	    target == -getpgrp())) {
		*result = signal_self((int)ARG(uc, 1), 0, &uc->uc_sigmask);
		return 1;
	}
	if (nr == SYS_tgkill && target == self) {
		*result = signal_self((int)ARG(uc, 2), (pid_t)ARG(uc, 1),
		    &uc->uc_sigmask);
		return 1;
	}
	return 0;
}

/* The calls that would set a mode or times, as fstatat(2) would have it. */
static const struct {
	int	nr;
	int	dirfd;		/* argument, -1 for the current directory */
	int	path;		/* argument, -1 for none: dirfd is the file */
	int	flags;		/* argument, -1 for none */
} file_calls[] = {
	{ SYS_fchmod, 0, -1, -1 },
	{ SYS_fchmodat, 0, 1, -1 },
	{ SYS_utimensat, 0, 1, 3 },
#ifdef SYS_fchmodat2
	{ SYS_fchmodat2, 0, 1, 3 },
#endif
#ifdef SYS_chmod
	{ SYS_chmod, -1, 0, -1 },
#endif
#ifdef SYS_utimes
	{ SYS_utime, -1, 0, -1 },
	{ SYS_utimes, -1, 0, -1 },
	{ SYS_futimesat, 0, 1, -1 },
#endif
};

/* Whether the call is one of these, and then whether its file is there. */
static int
is_file_status(int nr, const ucontext_t *uc, long *result)
{
	const char *path;
	struct stat st;
	size_t i;
	int dirfd, rv;

	for (i = 0; i < sizeof file_calls / sizeof file_calls[0]; i++)
		if (file_calls[i].nr == nr)
			break;
	if (i == sizeof file_calls / sizeof file_calls[0])
		return 0;
	dirfd = file_calls[i].dirfd == -1 ? AT_FDCWD :
	    (int)ARG(uc, file_calls[i].dirfd);
	path = file_calls[i].path == -1 ? NULL :
	    (const char *)ARG(uc, file_calls[i].path);
	rv = path == NULL ? fstat(dirfd, &st) : fstatat(dirfd, path, &st,
	    file_calls[i].flags == -1 ? 0 :
	    (int)ARG(uc, file_calls[i].flags));
	*result = rv == -1 ? -errno : 0;
	return 1;
}

static void
on_sigsys(int sig, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;
	int saved = errno;
	long result = -EPERM;

	/* Sent by somebody, not by the filter: seccomp(2), SYS_SECCOMP. */
	if (si->si_code != 1)
		return;
	if (!is_own_signal(si->si_syscall, uc, &result) &&
	    !is_file_status(si->si_syscall, uc, &result))
		last_call = si->si_syscall;
	SET_RESULT(uc, result);
	errno = saved;
}

void
sandbox_trap_install(int own_pid_ns, void (*ended)(int))
{
	struct sigaction sa;

	is_pid_1 = own_pid_ns;
	ended_hook = ended;
	memset(&sa, 0, sizeof sa);
	sa.sa_sigaction = on_sigsys;
	/* Nested traps, and interrupted calls of the rest go on. */
	sa.sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART;
	sigaction(SIGSYS, &sa, NULL);
}
