#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spawn.h"

#define SPAWN_FLAGS	(CLONE_PARENT | CLONE_PIDFD | CLONE_CHILD_SETTID | \
			CLONE_CHILD_CLEARTID)

static int	*tid_address;		/* where libc keeps it */
static int	*clear_address;		/* which the kernel clears at its end */
static void	*robust_head;
static size_t	 robust_len;

/*
 * glibc tells debuggers where in a thread's descriptor the thread id is: bits,
 * number and offset (nptl_db/db_info.c).  Until 2.42 the kernel cleared that
 * same word, so that PR_GET_TID_ADDRESS was enough.
 */
static int *
find_tid(void)
{
	const uint32_t *field = dlsym(RTLD_DEFAULT, "_thread_db_pthread_tid");
	int *at = clear_address;

	if (field != NULL && field[0] == 8 * sizeof *at)
		at = (int *)((char *)pthread_self() + field[2]);
	return at != NULL && *at == gettid() ? at : NULL;
}

int
spawn_init(void)
{
	if (prctl(PR_GET_TID_ADDRESS, &clear_address) == -1)
		return -1;
	tid_address = find_tid();
	if (tid_address == NULL) {
		errno = ENOSYS;
		return -1;
	}
	return syscall(SYS_get_robust_list, 0, &robust_head, &robust_len);
}

/* What libc's fork leaves to a child, as this was none. */
static void
settle_child(void)
{
	syscall(SYS_set_robust_list, robust_head, robust_len);
	if (clear_address != tid_address)
		syscall(SYS_set_tid_address, clear_address);
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
		settle_child();
	return pid;
}

static pid_t
plain_clone(unsigned long long flags)
{
	pid_t pid = clone_old(flags, NULL);

	if (pid == 0)
		settle_child();
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
