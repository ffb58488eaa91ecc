#ifndef ADDER_KEEPER_GROUPS_H
#define ADDER_KEEPER_GROUPS_H

#include <stdint.h>

struct cgroup_root;
struct event_base;
struct keeper_groups;

/*
 * The end of control groups.  That one can be removed is the proof that
 * nothing of its worker is left; where something is, it is killed and the
 * group tried again, and an alarm is logged if it will not go.
 */
struct keeper_groups *keeper_groups_new(struct event_base *,
		struct cgroup_root *);
/* Those that are left are tried once more. */
void	keeper_groups_free(struct keeper_groups **);
void	keeper_groups_remove(struct keeper_groups *, uint64_t id);

#endif
