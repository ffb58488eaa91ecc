#ifndef ADDER_JAIL_FILTER_PROGRAM_H
#define ADDER_JAIL_FILTER_PROGRAM_H

#include <linux/filter.h>
#include <sys/types.h>

/*
 * A system call filter: made once, kept as cBPF and loaded raw in each worker,
 * which costs a fiftieth of making it there.
 */
struct syscall_filter {
	struct sock_filter	*insns;
	unsigned short		 n;
};

/* Stands for the process's own pid until filter_patch_pid(); no pid is
 * ever this large (PID_MAX_LIMIT is 2^22). */
#define FILTER_OWN_PID	0x5adde40u

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

#endif
