#ifndef ADDER_JAIL_CGROUP_H
#define ADDER_JAIL_CGROUP_H

#include <stdint.h>
#include <sys/types.h>

#include "limit.h"

/*
 * A control group for each worker, of version 2 where it is delegated to us
 * or version 1 with a memory controller we may write to (cgroups(7)).
 * A group is used once: a kernel may kill whoever joins one that was killed
 * before.
 */
struct cgroup_root;

/* What a group knows when its worker is dead. */
struct cgroup_usage {
	int		oom;		/* the kernel killed it for memory */
	uint64_t	kills;		/* processes, one by one */
	uint64_t	now;		/* bytes that it holds, 0 if unknown */
	uint64_t	peak_kib;	/* 0 if unknown */
};

/* Finds the place and prepares it, moving this process aside where version 2
 * wants that.  NULL with errno where there is none. */
struct cgroup_root *cgroup_open(void);
/* Removes what was made. */
void	cgroup_close(struct cgroup_root **);
/* "v2 at PATH" or "v1 at PATH". */
const char *cgroup_describe(const struct cgroup_root *);
/* A group named by id, which for want of memory ends as a whole where the
 * kernel can do that, or process by process.  0, or -1 with errno. */
int	cgroup_make(struct cgroup_root *, uint64_t id, const struct limits *,
	    int whole);
int	cgroup_attach(struct cgroup_root *, uint64_t id, pid_t);
/* Kills all in it. */
void	cgroup_kill(struct cgroup_root *, uint64_t id);
void	cgroup_usage(struct cgroup_root *, uint64_t id,
	    struct cgroup_usage *);
/* -1 with errno EBUSY if a process is still in it: an alarm. */
int	cgroup_remove(struct cgroup_root *, uint64_t id);

#endif
