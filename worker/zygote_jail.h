#ifndef ADDER_ZYGOTE_JAIL_H
#define ADDER_ZYGOTE_JAIL_H

#include <stddef.h>
#include <stdint.h>

#include "landlock.h"
#include "layers.h"
#include "syscall_filter.h"

#define JAIL_PATHS_MAX	64

/* What the zygote keeps, to mount and to give its workers an id each: all
 * that a worker has to lose. */
#define ZYGOTE_CAPS	(CAP_BIT(CAP_SYS_ADMIN) | CAP_BIT(CAP_SETUID) | \
    CAP_BIT(CAP_SETGID) | CAP_BIT(CAP_CHOWN) | CAP_BIT(CAP_SETPCAP))

/*
 * The part of the jail that is made once, in the zygote, after all imports
 * and before the first fork: namespaces, root, Landlock ruleset, system call
 * filter.  Workers take it from here.
 */
struct zygote_jail {
	jail_set		 layers;
	unsigned		 uid_base;
	const char		*deps_dir;	/* "" for none */
	int			 processes;	/* jobs may start some */
	struct syscall_filter	 filter;
	struct syscall_filter	 state_filter;	/* of sessions, */
	struct syscall_filter	 leader_filter;	/* and their leaders */
	int			 ruleset;	/* ZYGOTE_FD_RULESET or -1 */
	/* What a worker may read: for a ruleset of its own. */
	struct landlock_path	 paths[JAIL_PATHS_MAX + 1];
	size_t			 npaths;
};

/*
 * Makes what needs no rights, the system call filter: layers, uid_base and
 * processes are given in jail.  Before the zygote compacts its memory, for
 * libseccomp uses much of it.  -1 with *why, a sentence the caller frees.
 */
int	zygote_jail_prepare(struct zygote_jail *, char **why);
/*
 * Enters what was prepared.  keep: the
 * directories that Python imports from (absolute, NULL-terminated); their
 * strings must outlive the zygote.  scratch: an empty directory of ours.
 * -1 with *why, a sentence the caller frees: then no worker may be forked.
 */
int	zygote_jail_enter(struct zygote_jail *, const char *const *keep,
	    const char *scratch, char **why);
/* Makes the ruleset of the paths there are.  -1 with errno. */
int	zygote_jail_ruleset(struct zygote_jail *);
/*
 * In a fork of the zygote: from now on workers may read env, a directory
 * below deps_dir whose string must outlive the zygote.  -1 with *why.
 */
int	zygote_jail_admit(struct zygote_jail *, const char *env, char **why);
/*
 * In a fork of the zygote: gives up everything that code of strangers, run in
 * this process, could use against anything but its own workers: a user
 * namespace of its own, in which alone it has capabilities and in which the
 * mounts are locked; a Landlock scope; a filter of system calls.  Workers are
 * confined as before, on top of that.  -1 with *step; then no such code may
 * run.
 */
int	zygote_jail_nest(struct zygote_jail *, const char **step);
/* Whether what leads sessions can be confined by this kernel. */
int	zygote_jail_has_sessions(const struct zygote_jail *);

#endif
