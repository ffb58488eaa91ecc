#ifndef ADDER_JAIL_SYSCALL_FILTER_H
#define ADDER_JAIL_SYSCALL_FILTER_H

#include "filter_program.h"

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

/* Builds the filter that the options ask for; the caller frees it.  -1 with
 * errno. */
int	filter_build(const struct filter_options *, struct syscall_filter *);
/* The same as libseccomp makes it, which is longer. */
int	filter_compile(const struct filter_options *, struct syscall_filter *);
/* Name of a system call of this machine, for messages; "?" if unknown.
 * A static string. */
const char *syscall_name(int nr);

#endif
