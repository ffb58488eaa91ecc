#ifndef ADDER_JAIL_CGROUP_FIND_H
#define ADDER_JAIL_CGROUP_FIND_H

#include <limits.h>

/* Where groups for workers can be made. */
struct cgroup_place {
	int	version;		/* 1 or 2 */
	char	dir[PATH_MAX];		/* ours alone, below a group of ours */
};

/*
 * Makes the directory that will hold one group a worker.  In version 2 a
 * group with processes in it can pass no controller on: where we are alone
 * in a delegated group, we move aside into a leaf of it first.  0, or -1
 * with errno: ENOENT no controller here, EACCES or EROFS not ours.
 */
int	cgroup_find(struct cgroup_place *);
/* Removes it, if it is empty. */
void	cgroup_leave(const struct cgroup_place *);

#endif
