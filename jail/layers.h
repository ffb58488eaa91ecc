#ifndef ADDER_JAIL_LAYERS_H
#define ADDER_JAIL_LAYERS_H

#include <stddef.h>

/*
 * The layers of the jail, once: name as in sandbox.without, logs and
 * adderctl doctor; what its absence means; what an operator can do.
 */
#define JAIL_LAYER_LIST(X)						\
X(USERNS,   "userns",						\
  "without root no other namespace can be made",			\
  "allow unprivileged user namespaces (sysctl user.max_user_namespaces; on Ubuntu install the AppArmor profile)") \
X(MOUNT,    "mount",							\
  "jobs share the host's file tree, held only by Landlock: names and sizes of files can be seen, and a mode or time that is set is not", \
  "run as root or allow user namespaces")				\
X(PID,      "pid",							\
  "jobs may start threads but no processes",				\
  "run as root or allow user namespaces")				\
X(NET,      "net",							\
  "sockets are refused by the seccomp filter alone",			\
  "run as root or allow user namespaces")				\
X(IPC,      "ipc",							\
  "System V IPC is refused by the seccomp filter alone",		\
  "run as root or allow user namespaces")				\
X(UTS,      "uts",							\
  "jobs see the host's name",						\
  "run as root or allow user namespaces")				\
X(LANDLOCK, "landlock",						\
  "files are held by mount namespace and permissions alone",		\
  "use a kernel from 5.13 (6.12 for signals and sockets) with landlock in the lsm= list") \
X(SCOPE,    "landlock-scope",						\
  "signals to other processes are refused by seccomp alone",		\
  "use a kernel from 6.12 with landlock in the lsm= list")		\
X(SECCOMP,  "seccomp",							\
  "every system call reaches the kernel",				\
  "use a kernel with CONFIG_SECCOMP_FILTER")				\
X(SCRATCH,  "scratch",						\
  "files of jobs are not bounded in number and size",			\
  "let scratch.dir name a tmpfs with size= and nr_inodes= (docker run --tmpfs /scratch:size=256m,nr_inodes=65536)") \
X(UID,      "uid",							\
  "workers share one user id",						\
  "start adderd as root; it gives its rights up itself")		\
X(CGROUP,   "cgroup",							\
  "memory is held by address space limits; there is no proof of an out-of-memory kill", \
  "delegate a cgroup (systemd: Delegate=memory pids cpu)")		\
X(RLIMITS,  "rlimits",							\
  "files, descriptors and CPU time are not held",			\
  "none: every kernel has them")					\
X(NNP,      "no_new_privs",						\
  "set-user-id programs keep their rights",				\
  "use a kernel from 3.5")

enum jail_layer {
#define X(name, text, absent, remedy) JAIL_##name,
	JAIL_LAYER_LIST(X)
#undef X
	JAIL_LAYERS
};

/* How strong the layers that hold are together. */
#define JAIL_TIER_LIST(X)						\
	X(NONE, "none")							\
	X(WEAK, "weak")							\
	X(MEDIUM, "medium")						\
	X(STRONG, "strong")						\
	X(STRONG_PLUS, "strong+")

enum jail_tier {
#define X(name, text) JAIL_TIER_##name,
	JAIL_TIER_LIST(X)
#undef X
	JAIL_TIERS
};

/* One bit a layer. */
typedef unsigned jail_set;
#define JAIL_BIT(layer)	(1u << (layer))

/* Without these no zygote may import code of strangers. */
#define JAIL_FOR_IMPORTS	(JAIL_BIT(JAIL_MOUNT) | JAIL_BIT(JAIL_PID) | \
    JAIL_BIT(JAIL_NET) | JAIL_BIT(JAIL_IPC) | JAIL_BIT(JAIL_SCOPE) |	\
    JAIL_BIT(JAIL_SECCOMP) | JAIL_BIT(JAIL_NNP))

const char	*jail_layer_name(enum jail_layer);
const char	*jail_layer_absent(enum jail_layer);
const char	*jail_layer_remedy(enum jail_layer);
const char	*jail_tier_name(enum jail_tier);
/* -1 if it is no tier's name. */
int		 jail_tier_parse(const char *, enum jail_tier *);
/* Names separated by commas; -1 with *bad (into the text) and its length
 * for one that is no layer. */
int		 jail_set_parse(const char *, jail_set *, const char **bad,
		    size_t *bad_len);
/* Names separated by commas; returns buf. */
char		*jail_set_format(jail_set, char *buf, size_t);
/* What a set of layers that hold amounts to. */
enum jail_tier	 jail_tier_of(jail_set);

#endif
