#ifndef ADDER_SPAWN_H
#define ADDER_SPAWN_H

#include <linux/sched.h>
#include <sys/types.h>

/*
 * Finds what a raw clone has to repeat of libc's fork: the address at which
 * glibc caches the thread id, without which raise(3), abort(3) and all that
 * asks for the thread go astray in the child; the one that the kernel clears
 * (PR_GET_TID_ADDRESS, prctl(2)); and its robust mutex list.  Called once,
 * with one thread.  -1 with errno if one cannot be found.
 */
int	spawn_init(void);
/*
 * Forks a child of the caller's parent (CLONE_PARENT) in new namespaces
 * (CLONE_NEW* flags).  Returns 0 in the
 * child; in the caller its process id, with *pidfd (close-on-exec, the
 * caller's), or -1 with errno.  pthread_atfork handlers do not run, which
 * is right only in a process of one thread.
 */
pid_t	spawn_worker(unsigned long long namespaces, int *pidfd);

/*
 * The same without namespaces, made by clone(2), which the filter knows: a
 * child of the caller, told by SIGCHLD, or another child of its parent.
 */
pid_t	spawn_child(void);
pid_t	spawn_sibling(void);
/* The first argument of clone(2) in spawn_sibling(). */
#define SPAWN_SIBLING_FLAGS	(CLONE_PARENT | CLONE_CHILD_SETTID | \
				CLONE_CHILD_CLEARTID)

#endif
