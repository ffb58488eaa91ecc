#ifndef ADDER_JAIL_CAPS_H
#define ADDER_JAIL_CAPS_H

#include <stdint.h>
#include <sys/types.h>

/* Capabilities (capabilities(7)) by their raw calls: no library allocates
 * between fork and jail.  All return 0, or -1 with errno. */

/* Takes capabilities out of the bounding set, a system call each; with
 * CAP_SETPCAP only, otherwise nothing is done. */
int	caps_drop_bounding(uint64_t drop);
#define CAPS_ALL	(~0ull)
/* Permitted and effective become keep; inheritable and ambient empty. */
int	caps_set(uint64_t keep);
/* Whether this process has the capability now. */
int	caps_has(int cap);
/*
 * User ids from sandbox.uid_base on: one for each worker, then one for zygotes
 * that hold code of packages, and one for installers.
 */
#define JAIL_UIDS		1000
#define JAIL_UIDS_WORKERS	(JAIL_UIDS - 2)
#define JAIL_UID_ZYGOTE		(JAIL_UIDS - 2)
#define JAIL_UID_INSTALLER	(JAIL_UIDS - 1)
/* Groups, then all three group ids, then all three user ids. */
int	ids_become(uid_t, gid_t);

#define CAP_BIT(cap)	(1ull << (cap))

#endif
