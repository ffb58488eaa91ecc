#include "config.h"

#include <errno.h>
#include <signal.h>
#include <linux/sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spawn.h"

#define SPAWN_FLAGS	(CLONE_PARENT | CLONE_PIDFD | CLONE_CHILD_SETTID | \
			CLONE_CHILD_CLEARTID)

static int	*tid_address;
static void	*robust_head;
static size_t	 robust_len;

int
spawn_init(void)
{
	if (prctl(PR_GET_TID_ADDRESS, &tid_address) == -1)
		return -1;
	if (tid_address == NULL) {
		errno = ENOSYS;
		return -1;
	}
	return syscall(SYS_get_robust_list, 0, &robust_head, &robust_len);
}

/* clone(2) for kernels and containers that refuse clone3(2); the order of
 * its arguments is that of x86 and arm64. */
static pid_t
clone_old(unsigned long long flags, int *pidfd)
{
#if defined(__x86_64__)
	return syscall(SYS_clone, (unsigned long)flags, NULL, pidfd,
	    tid_address, 0UL);
#else
	return syscall(SYS_clone, (unsigned long)flags, NULL, pidfd,
	    0UL, tid_address);
#endif
}

pid_t
spawn_worker(unsigned long long namespaces, int *pidfd)
{
	struct clone_args args;
	pid_t pid;

	memset(&args, 0, sizeof args);
	args.flags = SPAWN_FLAGS | namespaces;
	args.pidfd = (uintptr_t)pidfd;
	args.child_tid = (uintptr_t)tid_address;
	/* With CLONE_PARENT the exit signal is that of the caller itself and
	 * must be zero here (clone(2)). */
	args.exit_signal = 0;
	pid = syscall(SYS_clone3, &args, sizeof args);
	if (pid == -1 && (errno == ENOSYS || errno == EPERM))
		pid = clone_old(args.flags, pidfd);
	if (pid == 0)
		syscall(SYS_set_robust_list, robust_head, robust_len);
	return pid;
}

static pid_t
plain_clone(unsigned long long flags)
{
	pid_t pid = clone_old(flags, NULL);

	if (pid == 0)
		syscall(SYS_set_robust_list, robust_head, robust_len);
	return pid;
}

pid_t
spawn_child(void)
{
	return plain_clone(CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID |
	    SIGCHLD);
}

pid_t
spawn_sibling(void)
{
	return plain_clone(SPAWN_SIBLING_FLAGS);
}
