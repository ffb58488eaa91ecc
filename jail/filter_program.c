#include "config.h"

#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filter_program.h"

void
filter_free(struct syscall_filter *f)
{
	free(f->insns);
	memset(f, 0, sizeof *f);
}

void
filter_patch_pid(struct syscall_filter *f, pid_t pid)
{
	unsigned i;

	for (i = 0; i < f->n; i++)
		if (BPF_CLASS(f->insns[i].code) == BPF_JMP &&
		    f->insns[i].k == FILTER_OWN_PID)
			f->insns[i].k = pid;
}

int
filter_load(const struct syscall_filter *f)
{
	struct sock_fprog prog = { .len = f->n, .filter = f->insns };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
}

int
filter_load_gated(const struct syscall_filter *f)
{
	struct sock_fprog prog = { .len = f->n, .filter = f->insns };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
}
