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

struct filter_options {
	int	processes;	/* may start processes */
	int	own_pid_ns;	/* a worker is pid 1 of its namespace */
	int	own_root;	/* a worker sees no file that it could change
				 * but its own */
	int	memory_cgroup;	/* memory not mapped is held, too */
};

/* Builds the filter; the caller frees it.  -1 with errno. */
int	filter_build(const struct filter_options *, struct syscall_filter *);
void	filter_free(struct syscall_filter *);
/* Puts pid where the filter compares with the process's own.  In the child,
 * on its own copy. */
void	filter_patch_pid(struct syscall_filter *, pid_t);
/* Loads it for good; needs no_new_privs or CAP_SYS_ADMIN.  -1 with errno. */
int	filter_load(const struct syscall_filter *);
/* Name of a system call of this machine, for messages; "?" if unknown.
 * A static string. */
const char *syscall_name(int nr);

#endif
