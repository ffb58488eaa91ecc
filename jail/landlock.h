#ifndef ADDER_JAIL_LANDLOCK_H
#define ADDER_JAIL_LANDLOCK_H

#include <stddef.h>

/*
 * Landlock (landlock(7), Linux 5.13).  Own constants: the headers of older
 * distributions know only the first versions of the interface.
 */

enum landlock_use {
	LANDLOCK_READ,		/* read files, list, execute */
	LANDLOCK_DEVICE,	/* read and write, create nothing */
	LANDLOCK_WORK,		/* all but execute, devices and sockets */
	LANDLOCK_BUILD		/* the same, and execute */
};

struct landlock_path {
	const char		*path;
	enum landlock_use	 use;
};

/* The version the kernel speaks, 0 if it has none. */
int	landlock_abi(void);
/* From which one on signals and abstract sockets are scoped. */
#define LANDLOCK_ABI_SCOPE	6

/*
 * A ruleset that denies every access the kernel knows but those below the
 * paths, TCP, and signals and abstract sockets outside the domain.  Paths
 * that do not exist are left out.  The descriptor or -1 with errno; the
 * caller closes it.  Allocates nothing.
 */
int	landlock_ruleset(const struct landlock_path *, size_t n);
/* Allows connections to a TCP port, where the kernel could refuse them
 * (ABI 4).  -1 with errno. */
int	landlock_allow_port(int ruleset, unsigned port);
/* A ruleset of scopes alone: signals and abstract sockets stay within, files
 * and mounts are as before.  Needs LANDLOCK_ABI_SCOPE. */
int	landlock_scope_ruleset(void);
/* Confines this process for good; needs no_new_privs or CAP_SYS_ADMIN. */
int	landlock_restrict(int ruleset);

#endif
