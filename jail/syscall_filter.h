#ifndef ADDER_JAIL_SYSCALL_FILTER_H
#define ADDER_JAIL_SYSCALL_FILTER_H

#include <linux/filter.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * The system call filter of a worker: made once by libseccomp, kept as cBPF
 * and loaded raw in each worker, which costs a fiftieth of making it there.
 */
struct syscall_filter {
	struct sock_filter	*insns;
	unsigned short		 n;
};

/* Whose filter it is.  The states of a session fork before each call, and
 * none of them is pid 1 of its namespace: that is their leader, which runs no
 * program and ends them. */
enum filter_role { FILTER_WORKER, FILTER_STATE, FILTER_LEADER };

struct filter_options {
	int	processes;	/* may start processes */
	int	own_pid_ns;	/* a worker is pid 1 of its namespace */
	int	own_root;	/* a worker sees no file that it could change
				 * but its own */
	int	memory_cgroup;	/* memory not mapped is held, too */
	enum filter_role role;
	int	installer;	/* of packages: no trap, and more calls */
	int	network;	/* the installer may make sockets */
	int	zygote;		/* that holds code of strangers: no trap */
};

/* Builds the filter; the caller frees it.  -1 with errno. */
int	filter_build(const struct filter_options *, struct syscall_filter *);
void	filter_free(struct syscall_filter *);
/* Puts pid where the filter compares with the process's own.  In the child,
 * on its own copy. */
void	filter_patch_pid(struct syscall_filter *, pid_t);
/* Loads it for good; needs no_new_privs or CAP_SYS_ADMIN.  -1 with errno. */
int	filter_load(const struct syscall_filter *);
/*
 * The same for a state of a session whose programs may not start processes:
 * every fork is put to whoever holds the returned descriptor
 * (SECCOMP_RET_USER_NOTIF, seccomp_unotify(2), Linux 5.5), the caller's.
 */
int	filter_load_gated(const struct syscall_filter *);
/* Name of a system call of this machine, for messages; "?" if unknown.
 * A static string. */
const char *syscall_name(int nr);

#endif
