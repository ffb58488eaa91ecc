#ifndef ADDER_JAIL_ROOT_H
#define ADDER_JAIL_ROOT_H

#include <stddef.h>
#include <stdint.h>

/* Where the scratch directory of a worker is mounted in the minimal root;
 * the directory above it is what a Landlock rule can name, since a rule on a
 * directory that is mounted over later does not count. */
#define JAIL_SCRATCH_PARENT	"/scratch"
#define JAIL_SCRATCH		"/scratch/w"

/*
 * Replaces the root of this mount namespace by a small read-only one, built
 * on the directory on: the system's libraries, the directories in keep
 * (absolute paths, NULL-terminated), a few files of /etc, five devices; no
 * /proc, no /sys, no /run.  0, or -1 with errno and *step.
 */
int	root_enter(const char *on, const char *const *keep,
	    const char **step);
/*
 * Of what is in dir, leaves only the directory one visible, which is directly
 * below it, in this mount namespace and those made from it.  0, or -1 with
 * errno.
 */
int	root_show_only(const char *dir, const char *one);
/* Mounts a worker's own scratch at JAIL_SCRATCH; only its owner may enter.
 * Allocates nothing. */
int	root_mount_scratch(uint64_t bytes, uint64_t files, unsigned uid,
	    unsigned gid);

#endif
