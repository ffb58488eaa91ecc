#ifndef ADDER_KEEPER_INSTALLS_H
#define ADDER_KEEPER_INSTALLS_H

#include <stdint.h>
#include <sys/types.h>

struct cgroup_root;
struct event_base;
struct msg_INSTALL_EXITED;
struct msg_INSTALL_START;
struct slice;

/* The keeper's installers of packages: one record each, killed and reaped by
 * pidfd only. */
struct keeper_installs;

struct keeper_installs_observer {
	/* It runs from now on, or is dead but not reaped (on 0). */
	void	(*lives)(pid_t, int on, void *arg);
	/* It is reaped. */
	void	(*exited)(const struct msg_INSTALL_EXITED *, void *arg);
};

struct keeper_installs *keeper_installs_new(struct event_base *,
		    const struct keeper_installs_observer *, void *arg);
/* Kills, reaps and forgets all. */
void		 keeper_installs_free(struct keeper_installs **);
/* Where they get control groups; stays the caller's, NULL for none. */
void		 keeper_installs_set_cgroup(struct keeper_installs *,
		    struct cgroup_root *);
/* report and log stay the caller's.  What fails is told as an exit. */
void		 keeper_installs_start(struct keeper_installs *,
		    const struct msg_INSTALL_START *, int report, int log);
void		 keeper_installs_stop(struct keeper_installs *,
		    uint64_t install);

/* Makes the directory of environments, if it is not there, for this user id
 * ((uid_t)-1 to leave the owner alone).  -1 with errno, also if it belongs to
 * somebody else or others may write to it. */
int		 keeper_deps_dir(struct slice path, uid_t);

#endif
