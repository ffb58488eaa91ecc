#include "config.h"

#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <seccomp.h>

#include "filter_shorten.h"
#include "syscall_filter.h"
#include "syscall_policy.h"

#define OWN_PID		FILTER_OWN_PID
#define LOW32		0xffffffffu
/* The rest of a socket's type are flags (socket(2)). */
#define SOCK_TYPE_MASK	0xfu

/* clone(2) flags that a new thread or process has no business with. */
#define CLONE_FORBIDDEN	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | \
    CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | \
    CLONE_PARENT | CLONE_PTRACE | CLONE_UNTRACED)

struct call {
	const char	*name;
	uint32_t	 action;
};

#define RULE(ctx, action, name, ...)					\
	add(ctx, action, name,						\
	    (const struct scmp_arg_cmp[]){ __VA_ARGS__ },		\
	    sizeof((const struct scmp_arg_cmp[]){ __VA_ARGS__ }) /	\
	    sizeof(struct scmp_arg_cmp))

static int
add(scmp_filter_ctx ctx, uint32_t action, const char *name,
    const struct scmp_arg_cmp *args, unsigned n)
{
	int nr = seccomp_syscall_resolve_name(name), rv;

	if (nr == __NR_SCMP_ERROR || nr < 0)
		return 0;	/* not on this machine */
	rv = seccomp_rule_add_array(ctx, action, nr, n, args);
	/* A rule that says what the default does is refused as such. */
	return rv == -EACCES ? 0 : rv;
}

static int
add_calls(scmp_filter_ctx ctx, const char *const *names, uint32_t action)
{
	int rv;

	for (; *names != NULL; names++)
		if ((rv = add(ctx, action, *names, NULL, 0)) < 0)
			return rv;
	return 0;
}

#define NAME(name)	#name,

static const char *const allow[] = { SYSCALLS_ALLOW(NAME) NULL };
static const char *const allow_own_root[] = {
	SYSCALLS_ALLOW_OWN_ROOT(NAME) NULL };
static const char *const allow_processes[] = {
	SYSCALLS_ALLOW_PROCESSES(NAME) NULL };
static const char *const allow_cgroup[] = { SYSCALLS_ALLOW_CGROUP(NAME) NULL };
static const char *const allow_installer[] = {
	SYSCALLS_ALLOW_INSTALLER(NAME) NULL };
static const char *const allow_zygote[] = { SYSCALLS_ALLOW_ZYGOTE(NAME) NULL };
static const char *const refuse_eperm[] = { SYSCALLS_EPERM(NAME) NULL };
static const char *const refuse_enosys[] = { SYSCALLS_ENOSYS(NAME) NULL };

/* Its workers get namespaces and its own parent (spawn.c). */
#define CLONE_FORBIDDEN_ZYGOTE	(CLONE_FORBIDDEN & ~(CLONE_NEWNS | \
    CLONE_NEWIPC | CLONE_NEWPID | CLONE_PARENT))

/*
 * The leader of a session: the filter of the zygote that it was forked from
 * holds it, too.  Neither gives the zygote anything: it may fork as it is, and
 * who asks a gate of its own is below it.
 */
static int
add_leader_calls(scmp_filter_ctx ctx)
{
	static const unsigned long gate[] = { SECCOMP_IOCTL_NOTIF_RECV,
	    SECCOMP_IOCTL_NOTIF_SEND };
	int rv = add(ctx, SCMP_ACT_ALLOW, "vfork", NULL, 0);
	size_t i;

	for (i = 0; rv >= 0 && i < sizeof gate / sizeof gate[0]; i++)
		rv = RULE(ctx, SCMP_ACT_ALLOW, "ioctl",
		    SCMP_A1(SCMP_CMP_MASKED_EQ, LOW32, gate[i]));
	return rv;
}

/* What a zygote does between a fork and the worker's own filter.  Signals
 * reach no further than its Landlock domain. */
static int
add_zygote(scmp_filter_ctx ctx)
{
	static const int options[] = { PR_SET_DUMPABLE, PR_SET_PDEATHSIG,
	    PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP, PR_CAP_AMBIENT };
	size_t i;
	int rv = add_calls(ctx, allow_zygote, SCMP_ACT_ALLOW);

	for (i = 0; rv >= 0 && i < sizeof options / sizeof options[0]; i++)
		rv = RULE(ctx, SCMP_ACT_ALLOW, "prctl",
		    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, options[i]));
	if (rv >= 0)
		rv = RULE(ctx, SCMP_ACT_ALLOW, "clone",
		    SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_FORBIDDEN_ZYGOTE, 0));
	if (rv >= 0)
		rv = add_leader_calls(ctx);
	/* A new mount, and no change of one (root_mount_scratch). */
	return rv < 0 ? rv : RULE(ctx, SCMP_ACT_ALLOW, "mount",
	    SCMP_A3(SCMP_CMP_EQ, MS_NOSUID | MS_NODEV, 0));
}

/* A state of a session forks siblings of itself; where its programs may start
 * no processes its leader is asked about each. */
static int
add_clone_of_state(scmp_filter_ctx ctx, int processes)
{
	if (processes)
		return RULE(ctx, SCMP_ACT_ALLOW, "clone",
		    SCMP_A0(SCMP_CMP_MASKED_EQ,
		    CLONE_FORBIDDEN & ~CLONE_PARENT, 0));
	if (RULE(ctx, SCMP_ACT_ALLOW, "clone",
	    SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD | CLONE_FORBIDDEN,
	    CLONE_THREAD)) < 0)
		return -1;
	return RULE(ctx, SCMP_ACT_NOTIFY, "clone",
	    SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
}

static int
add_clone(scmp_filter_ctx ctx, int processes, enum filter_role role)
{
	if (role == FILTER_LEADER)
		return add_leader_calls(ctx);
	if (role == FILTER_STATE)
		return add_clone_of_state(ctx, processes);
	if (processes)
		return RULE(ctx, SCMP_ACT_ALLOW, "clone",
		    SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_FORBIDDEN, 0));
	if (RULE(ctx, SCMP_ACT_ALLOW, "clone",
	    SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD | CLONE_FORBIDDEN,
	    CLONE_THREAD)) < 0)
		return -1;
	/* libc blocks every signal around it, so a trap would kill. */
	return RULE(ctx, SCMP_ACT_ERRNO(EPERM), "clone",
	    SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
}

/*
 * Signals to a thread of process 1.  libc blocks every signal around the call
 * in pthread_kill(3), and a trap would kill then, so only what abort(3) and
 * faults are imitated with traps.
 */
static int
add_tgkill_of_pid_1(scmp_filter_ctx ctx)
{
	static const int signals[] = { 0, SIGHUP, SIGINT, SIGUSR1, SIGUSR2,
	    SIGALRM, SIGTERM, SIGCHLD, SIGCONT, SIGURG, SIGVTALRM, SIGPROF,
	    SIGWINCH, SIGIO };
	size_t i;
	int rv;

	if ((rv = RULE(ctx, SCMP_ACT_ALLOW, "tgkill",
	    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, OWN_PID),
	    SCMP_A1(SCMP_CMP_NE, OWN_PID, 0))) < 0)
		return rv;
	for (i = 0; i < sizeof signals / sizeof signals[0]; i++)
		if ((rv = RULE(ctx, SCMP_ACT_ALLOW, "tgkill",
		    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, OWN_PID),
		    SCMP_A2(SCMP_CMP_MASKED_EQ, LOW32, signals[i]))) < 0)
			return rv;
	return 0;
}

/* The leader of a session may signal whom it sees.  Its states do so in a pid
 * namespace, leaving out pid 1, which is the leader, and elsewhere not. */
static int
add_signals_of_session(scmp_filter_ctx ctx, const struct filter_options *o)
{
	static const char *const send[] = { "kill", "tgkill",
	    "rt_sigqueueinfo", "rt_tgsigqueueinfo", NULL };
	const char *const *name;
	int rv = 0;

	for (name = send; rv >= 0 && *name != NULL; name++) {
		if (o->role == FILTER_LEADER)
			rv = add(ctx, SCMP_ACT_ALLOW, *name, NULL, 0);
		else if (o->own_pid_ns)
			rv = RULE(ctx, SCMP_ACT_ALLOW, *name,
			    SCMP_A0(SCMP_CMP_NE, OWN_PID, 0));
	}
	return rv;
}

/*
 * Signals.  Where a worker is pid 1 of its namespace the kernel ignores what
 * a job sends to itself by default disposition, so these calls trap and are
 * done by the handler; elsewhere they may reach the process itself only.
 */
static int
add_signals(scmp_filter_ctx ctx, const struct filter_options *o)
{
	static const char *const self[] = { "rt_sigqueueinfo",
	    "rt_tgsigqueueinfo", NULL };
	static const char *const send[] = { "kill", "tgkill", NULL };
	const char *const *name;
	int rv;

	if (o->role != FILTER_WORKER)
		return add_signals_of_session(ctx, o);
	for (name = self; *name != NULL; name++)
		if ((rv = RULE(ctx, SCMP_ACT_ALLOW, *name,
		    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, OWN_PID))) < 0)
			return rv;
	if (o->own_pid_ns && (rv = add_tgkill_of_pid_1(ctx)) < 0)
		return rv;
	for (name = send; *name != NULL; name++) {
		if (!o->own_pid_ns)
			rv = RULE(ctx, SCMP_ACT_ALLOW, *name,
			    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, OWN_PID));
		else if (o->processes)
			rv = RULE(ctx, SCMP_ACT_ALLOW, *name,
			    SCMP_A0(SCMP_CMP_NE, OWN_PID, 0));
		if (rv < 0)
			return rv;
	}
	return 0;
}

static int
add_prctl(scmp_filter_ctx ctx)
{
	static const int options[] = { PR_SET_NAME, PR_GET_NAME,
	    PR_GET_NO_NEW_PRIVS, PR_GET_DUMPABLE, PR_GET_PDEATHSIG,
	    PR_SET_VMA };
	size_t i;
	int rv;

	for (i = 0; i < sizeof options / sizeof options[0]; i++)
		if ((rv = RULE(ctx, SCMP_ACT_ALLOW, "prctl",
		    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, options[i]))) < 0)
			return rv;
	return 0;
}

static int
add_ioctl(scmp_filter_ctx ctx)
{
	/* isatty(3) asks with the second since glibc 2.42. */
	static const unsigned long requests[] = { FIONBIO, FIOCLEX, FIONCLEX,
	    TCGETS, TCGETS2, FIONREAD, TIOCGWINSZ };
	size_t i;
	int rv;

	for (i = 0; i < sizeof requests / sizeof requests[0]; i++)
		if ((rv = RULE(ctx, SCMP_ACT_ALLOW, "ioctl",
		    SCMP_A1(SCMP_CMP_MASKED_EQ, LOW32, requests[i]))) < 0)
			return rv;
	return 0;
}

/*
 * fcntl without what makes the kernel send signals for us: F_SETOWN and
 * F_SETSIG let a worker with the server's user id kill it through SIGIO.
 */
static int
add_fcntl(scmp_filter_ctx ctx)
{
	static const int cmds[] = { F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,
	    F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW,
	    F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_GETPIPE_SZ,
	    F_GET_SEALS };
	size_t i;
	int rv;

	for (i = 0; i < sizeof cmds / sizeof cmds[0]; i++)
		if ((rv = RULE(ctx, SCMP_ACT_ALLOW, "fcntl",
		    SCMP_A1(SCMP_CMP_MASKED_EQ, LOW32, cmds[i]))) < 0)
			return rv;
	return 0;
}

/* Its own limits (pid 0 or its own), which it can only lower. */
static int
add_prlimit(scmp_filter_ctx ctx, enum filter_role role)
{
	int rv = RULE(ctx, SCMP_ACT_ALLOW, "prlimit64",
	    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, 0));

	/* What stands for its pid in a session's state is the leader's. */
	if (rv < 0 || role == FILTER_STATE)
		return rv;
	return RULE(ctx, SCMP_ACT_ALLOW, "prlimit64",
	    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, OWN_PID));
}

/*
 * Unix sockets that are connected for good.  A datagram socket of a pair
 * sends to whatever address it is given, and sees every socket of the host
 * where there is no mount namespace; a raw one is the same (unix(7)).
 */
static int
add_socketpair(scmp_filter_ctx ctx)
{
	static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET };
	size_t i;
	int rv;

	for (i = 0; i < sizeof types / sizeof types[0]; i++)
		if ((rv = RULE(ctx, SCMP_ACT_ALLOW, "socketpair",
		    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, AF_UNIX),
		    SCMP_A1(SCMP_CMP_MASKED_EQ, SOCK_TYPE_MASK,
		    types[i]))) < 0)
			return rv;
	return 0;
}

/* Its own, unless no other process is in sight. */
static int
add_affinity(scmp_filter_ctx ctx, const struct filter_options *o)
{
	int rv;

	if (o->own_pid_ns && o->role != FILTER_STATE)
		return add(ctx, SCMP_ACT_ALLOW, "sched_setaffinity", NULL, 0);
	if ((rv = RULE(ctx, SCMP_ACT_ALLOW, "sched_setaffinity",
	    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, 0))) < 0)
		return rv;
	if (o->role == FILTER_STATE)
		return 0;
	return RULE(ctx, SCMP_ACT_ALLOW, "sched_setaffinity",
	    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, OWN_PID));
}

/* To the internet, and to the kernel for its routes, which is how libc finds
 * out what addresses are of use; not to services of this machine by path. */
static int
add_sockets(scmp_filter_ctx ctx)
{
	int rv;

	if ((rv = RULE(ctx, SCMP_ACT_ALLOW, "socket",
	    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, AF_INET))) < 0 ||
	    (rv = RULE(ctx, SCMP_ACT_ALLOW, "socket",
	    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, AF_INET6))) < 0)
		return rv;
	return RULE(ctx, SCMP_ACT_ALLOW, "socket",
	    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, AF_NETLINK),
	    SCMP_A2(SCMP_CMP_MASKED_EQ, LOW32, NETLINK_ROUTE));
}

static int
add_installer(scmp_filter_ctx ctx, const struct filter_options *o)
{
	int rv = add_calls(ctx, allow_installer, SCMP_ACT_ALLOW);

	if (rv == 0)
		rv = RULE(ctx, SCMP_ACT_ALLOW, "prctl",
		    SCMP_A0(SCMP_CMP_MASKED_EQ, LOW32, PR_SET_NO_NEW_PRIVS));
	return rv < 0 || !o->network ? rv : add_sockets(ctx);
}

static int
add_conditions(scmp_filter_ctx ctx, const struct filter_options *o)
{
	int rv;

	if ((rv = o->zygote ? add_zygote(ctx) :
	    add_clone(ctx, o->processes, o->role)) < 0 ||
	    (rv = o->zygote ? 0 : add_signals(ctx, o)) < 0 ||
	    (rv = add_prctl(ctx)) < 0 ||
	    (rv = add_ioctl(ctx)) < 0 ||
	    (rv = add_fcntl(ctx)) < 0 ||
	    (rv = add_socketpair(ctx)) < 0 ||
	    (rv = add_affinity(ctx, o)) < 0)
		return rv;
	return add_prlimit(ctx, o->role);
}

static int
add_policy(scmp_filter_ctx ctx, const struct filter_options *o)
{
	const char *const *name;
	int rv;

	/* Foreign architectures and x32 numbers: no way around the list. */
	if ((rv = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
	    SCMP_ACT_KILL_PROCESS)) < 0 ||
	    (rv = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2)) < 0 ||
	    (rv = add_calls(ctx, allow, SCMP_ACT_ALLOW)) < 0)
		return rv;
	if (o->processes &&
	    (rv = add_calls(ctx, allow_processes, SCMP_ACT_ALLOW)) < 0)
		return rv;
	if (o->own_root &&
	    (rv = add_calls(ctx, allow_own_root, SCMP_ACT_ALLOW)) < 0)
		return rv;
	if (o->memory_cgroup &&
	    (rv = add_calls(ctx, allow_cgroup, SCMP_ACT_ALLOW)) < 0)
		return rv;
	if (o->installer && (rv = add_installer(ctx, o)) < 0)
		return rv;
	for (name = refuse_eperm; *name != NULL; name++) {
		if (o->processes && (strcmp(*name, "fork") == 0 ||
		    strcmp(*name, "vfork") == 0))
			continue;
		if ((o->role == FILTER_LEADER || o->zygote) &&
		    strcmp(*name, "vfork") == 0)
			continue;
		if ((rv = add(ctx, SCMP_ACT_ERRNO(EPERM), *name, NULL, 0)) < 0)
			return rv;
	}
	if ((rv = add_calls(ctx, refuse_enosys, SCMP_ACT_ERRNO(ENOSYS))) < 0)
		return rv;
	return add_conditions(ctx, o);
}

/* libseccomp writes the program to a descriptor; this reads it back. */
static int
export_filter(scmp_filter_ctx ctx, struct syscall_filter *f)
{
	int fd = memfd_create("filter", MFD_CLOEXEC), rv = -1;
	struct stat st;

	if (fd == -1)
		return -1;
	if (seccomp_export_bpf(ctx, fd) == 0 && fstat(fd, &st) == 0 &&
	    st.st_size / sizeof *f->insns <= BPF_MAXINSNS) {
		f->n = st.st_size / sizeof *f->insns;
		f->insns = malloc(st.st_size);
		if (f->insns != NULL &&
		    pread(fd, f->insns, st.st_size, 0) == st.st_size)
			rv = 0;
	}
	close(fd);
	return rv;
}

int
filter_compile(const struct filter_options *o, struct syscall_filter *f)
{
	scmp_filter_ctx ctx = seccomp_init(
	    o->installer || o->zygote ? SCMP_ACT_ERRNO(EPERM) :
	    SCMP_ACT_TRAP);
	int rv;

	memset(f, 0, sizeof *f);
	if (ctx == NULL) {
		errno = ENOMEM;
		return -1;
	}
	rv = add_policy(ctx, o);
	if (rv < 0)
		errno = -rv;
	else
		rv = export_filter(ctx, f);
	seccomp_release(ctx);
	return rv < 0 ? -1 : 0;
}

int
filter_build(const struct filter_options *o, struct syscall_filter *f)
{
	if (filter_compile(o, f) == -1)
		return -1;
	if (filter_shorten(f) == 0)
		return 0;
	filter_free(f);
	errno = ENOMEM;
	return -1;
}
