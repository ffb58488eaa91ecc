#ifndef ADDER_JAIL_SYSCALL_POLICY_H
#define ADDER_JAIL_SYSCALL_POLICY_H

/*
 * What a job may call, by name; names that this machine's ABI lacks are left
 * out.  Everything else is refused: EPERM by way of a trap that notes the
 * name (see worker/sandbox_trap.h).  Calls with conditions stand in
 * syscall_filter.c.
 */
#define SYSCALLS_ALLOW(X)						\
/* files */								\
X(read) X(write) X(readv) X(writev) X(pread64) X(pwrite64) X(preadv)	\
X(pwritev) X(preadv2) X(pwritev2) X(open) X(openat) X(openat2) X(creat)	\
X(close) X(close_range) X(lseek) X(stat) X(fstat) X(lstat)		\
X(newfstatat) X(statx) X(access) X(faccessat) X(faccessat2) X(readlink)	\
X(readlinkat) X(getdents) X(getdents64) X(getcwd) X(chdir) X(fchdir)	\
X(mkdir) X(mkdirat) X(rmdir) X(unlink) X(unlinkat) X(rename)		\
X(renameat) X(renameat2) X(link) X(linkat) X(symlink) X(symlinkat)	\
X(truncate) X(ftruncate) X(fallocate) X(fsync) X(fdatasync)		\
X(sync_file_range) X(umask) X(statfs) X(fstatfs) X(fadvise64)		\
X(readahead) X(copy_file_range) X(sendfile) X(splice) X(tee) X(flock)	\
X(getxattr) X(lgetxattr) X(fgetxattr) X(listxattr) X(llistxattr)	\
X(flistxattr)								\
/* descriptors */							\
X(dup) X(dup2) X(dup3) X(pipe) X(pipe2) X(poll) X(ppoll) X(select)	\
X(pselect6) X(epoll_create) X(epoll_create1) X(epoll_ctl)		\
X(epoll_wait) X(epoll_pwait) X(epoll_pwait2) X(eventfd) X(eventfd2)	\
X(signalfd) X(signalfd4) X(timerfd_create) X(timerfd_settime)		\
X(timerfd_gettime) X(sendto) X(recvfrom) X(sendmsg) X(recvmsg)		\
X(sendmmsg) X(recvmmsg) X(shutdown) X(getsockname) X(getpeername)	\
X(getsockopt) X(setsockopt)						\
/* memory */								\
X(brk) X(mmap) X(munmap) X(mprotect) X(mremap) X(madvise) X(msync)	\
X(mincore) X(mlock) X(mlock2) X(munlock) X(mlockall) X(munlockall)	\
X(membarrier) X(pkey_alloc) X(pkey_free) X(pkey_mprotect)		\
X(get_mempolicy)							\
/* this process and its threads */					\
X(exit) X(exit_group) X(getpid) X(getppid) X(gettid) X(getuid)	\
X(geteuid) X(getgid) X(getegid) X(getgroups) X(getresuid)		\
X(getresgid) X(getpgrp) X(getpgid) X(getsid) X(setsid) X(setpgid)	\
X(getrlimit) X(setrlimit) X(getrusage) X(times) X(uname) X(sysinfo)	\
X(getcpu) X(sched_yield) X(sched_getaffinity) X(sched_getparam)		\
X(sched_getscheduler) X(sched_get_priority_max)				\
X(sched_get_priority_min) X(sched_rr_get_interval) X(getpriority)	\
X(set_tid_address) X(set_robust_list) X(get_robust_list) X(rseq)	\
X(arch_prctl) X(futex) X(futex_waitv) X(futex_wake) X(futex_wait)	\
X(futex_requeue) X(restart_syscall) X(capget) X(wait4) X(waitid)	\
/* signals to itself and timers */					\
X(rt_sigaction) X(rt_sigprocmask) X(rt_sigreturn) X(rt_sigpending)	\
X(rt_sigsuspend) X(rt_sigtimedwait) X(sigaltstack) X(pause)		\
X(alarm) X(getitimer) X(setitimer) X(timer_create) X(timer_settime)	\
X(timer_gettime) X(timer_getoverrun) X(timer_delete)			\
X(nanosleep) X(clock_nanosleep)					\
/* clocks and randomness */						\
X(time) X(gettimeofday) X(clock_gettime) X(clock_getres) X(getrandom)

/*
 * Changes of what a file is, not of what is in it.  Landlock does not see
 * them, so a job without a root of its own, which has the user id of adderd,
 * could do them to every file of that user.  There they trap: modes and times
 * are said to be set and are not, for copying a file would fail for the want
 * of them; owners are refused.
 */
#define SYSCALLS_ALLOW_OWN_ROOT(X)					\
X(chmod) X(fchmod) X(fchmodat) X(fchmodat2) X(utime) X(utimes)		\
X(utimensat) X(futimesat) X(chown) X(fchown) X(lchown) X(fchownat)

/* Further ones where the job may start processes. */
#define SYSCALLS_ALLOW_PROCESSES(X)					\
X(fork) X(vfork) X(execve) X(execveat) X(pidfd_open)			\
X(pidfd_send_signal)

/* Further ones where a cgroup counts memory that no mapping shows. */
#define SYSCALLS_ALLOW_CGROUP(X)					\
X(memfd_create)

/*
 * Further ones of the installer of packages, which resolves names, connects,
 * and confines what it starts more narrowly than itself.  It has no files of
 * others to change: Landlock and its user id see to that.
 */
#define SYSCALLS_ALLOW_INSTALLER(X)					\
X(connect) X(bind) X(landlock_create_ruleset) X(landlock_add_rule)	\
X(landlock_restrict_self) X(sync) X(syncfs)

/*
 * Further ones of a zygote that has imported code of strangers, for what it
 * does to its workers.  Its user namespace has nothing in it but itself.
 */
#define SYSCALLS_ALLOW_ZYGOTE(X)					\
X(setresuid) X(setresgid) X(setgroups) X(capset) X(seccomp)		\
X(landlock_create_ruleset) X(landlock_add_rule)				\
X(landlock_restrict_self) X(kill) X(tgkill) X(rt_sigqueueinfo)		\
X(rt_tgsigqueueinfo)

/* Refused in the quiet: libraries probe for these and fall back. */
#define SYSCALLS_EPERM(X)						\
X(sched_setscheduler) X(sched_setparam) X(sched_setattr)		\
X(setpriority) X(ioprio_set) X(mbind) X(set_mempolicy)			\
X(personality) X(fork) X(vfork)

/* Not there at all: newer or optional calls that libc and libraries know
 * how to do without. */
#define SYSCALLS_ENOSYS(X)						\
X(clone3) X(io_uring_setup) X(io_uring_enter) X(io_uring_register)	\
X(map_shadow_stack) X(cachestat) X(mseal) X(listmount) X(statmount)	\
X(inotify_init) X(inotify_init1)

#endif
