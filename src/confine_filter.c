#include "config.h"

#include <errno.h>
#include <stddef.h>

#include <seccomp.h>

#include "confine_filter.h"

/*
 * No execve, no fork, no ptrace, no mounts, no sockets to elsewhere: whoever
 * takes over the server's process by a flaw in a parser gets little with it.
 */
#define SERVER_CALLS(X)							\
/* descriptors and the loop */						\
X(read) X(readv) X(write) X(writev) X(close) X(pread64) X(lseek)	\
X(dup) X(dup2) X(dup3) X(fcntl) X(pipe2) X(poll) X(ppoll) X(select)	\
X(pselect6) X(epoll_create1) X(epoll_ctl) X(epoll_wait) X(epoll_pwait)	\
X(epoll_pwait2) X(eventfd2) X(timerfd_create) X(timerfd_settime)	\
X(signalfd4) X(ioctl) X(sendfile) X(splice)				\
/* sockets: pairs for workers, clients that come in */			\
X(socketpair) X(accept) X(accept4) X(sendto) X(recvfrom) X(sendmsg)	\
X(recvmsg) X(shutdown) X(getsockname) X(getpeername) X(getsockopt)	\
X(setsockopt) X(listen)							\
/* files, as far as Landlock allows: the conf, our socket */		\
X(openat) X(open) X(stat) X(fstat) X(lstat) X(newfstatat) X(statx)	\
X(access) X(faccessat) X(faccessat2) X(readlink) X(readlinkat)		\
X(getcwd) X(unlink) X(unlinkat) X(getdents64) X(statfs) X(fstatfs)	\
X(rmdir)								\
/* memory */								\
X(brk) X(mmap) X(munmap) X(mremap) X(mprotect) X(madvise)		\
/* time, randomness, itself */						\
X(clock_gettime) X(clock_getres) X(gettimeofday) X(time)		\
X(clock_nanosleep) X(nanosleep) X(getrandom) X(getpid) X(gettid)	\
X(getppid) X(getuid) X(geteuid) X(getgid) X(getegid) X(getrusage)	\
X(getrlimit) X(sysinfo) X(uname) X(futex) X(sched_yield) X(umask)	\
X(sched_getaffinity) X(rseq) X(set_robust_list) X(membarrier)		\
/* signals and the end */						\
X(rt_sigaction) X(rt_sigprocmask) X(rt_sigreturn) X(rt_sigpending)	\
X(sigaltstack) X(tgkill) X(wait4) X(waitid) X(exit) X(exit_group)	\
X(restart_syscall)

/* Where there is a files.dir. */
#define FILES_CALLS(X)							\
X(mkdir) X(mkdirat) X(rename) X(renameat) X(renameat2) X(openat2)	\
X(utimensat) X(fchmod) X(fchmodat)

#ifndef __SANITIZE_ADDRESS__
#define NAME(name)	#name,
static const char *const calls[] = { SERVER_CALLS(NAME) NULL };
static const char *const files_calls[] = { FILES_CALLS(NAME) NULL };

static int
allow(scmp_filter_ctx ctx, const char *const *name)
{
	int nr, rv = 0;

	for (; rv == 0 && *name != NULL; name++) {
		nr = seccomp_syscall_resolve_name(*name);
		if (nr >= 0)
			rv = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 0);
	}
	return rv;
}
#endif

int
confine_filter_load(int files)
{
#ifdef __SANITIZE_ADDRESS__
	/* The sanitizer's own threads and traces would be refused. */
	return 0;
#else
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int rv;

	if (ctx == NULL) {
		errno = ENOMEM;
		return -1;
	}
	rv = allow(ctx, calls);
	if (rv == 0 && files)
		rv = allow(ctx, files_calls);
	if (rv == 0)
		rv = seccomp_load(ctx);
	seccomp_release(ctx);
	if (rv < 0)
		errno = -rv;
	return rv < 0 ? -1 : 0;
#endif
}
