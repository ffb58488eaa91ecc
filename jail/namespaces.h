#ifndef ADDER_JAIL_NAMESPACES_H
#define ADDER_JAIL_NAMESPACES_H

#include "layers.h"

/* User id that a job sees in a user namespace. */
#define JAIL_USERNS_ID	65534

/*
 * Moves this process, which must have one thread, into new namespaces: a
 * user namespace first where it lacks CAP_SYS_ADMIN (user_namespaces(7)),
 * then those among mount, net, ipc and uts that are in want.  Mounts are
 * made private.  0, or -1 with errno and *step, a word for the log.
 */
int	namespaces_enter(jail_set want, const char **step);
/* The clone3(2) flags for a worker of its own. */
unsigned long long namespaces_worker_flags(jail_set have);

#endif
