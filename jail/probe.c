#include "config.h"

#include <errno.h>
#include <signal.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "caps.h"
#include "fdutil.h"
#include "landlock.h"
#include "namespaces.h"
#include "probe.h"
#include "syscall_filter.h"

/* In a child: 0, or the errno of the step that failed. */
typedef int (*probe_fn)(const void *);

/* Attempts whose child somebody killed, which says nothing of the layer. */
#define KILLED_MAX	3

/* Runs one attempt in a child; 0 if it worked, else its errno.  *killed if
 * that is not known, because the child was killed. */
static int
try_once(probe_fn attempt, const void *arg, int *killed)
{
	int fds[2], err = EIO, status = 0;
	pid_t pid;

	*killed = 0;
	if (pipe(fds) == -1)
		return errno;
	pid = fork();
	if (pid == 0) {
		err = attempt(arg);
		_exit(fd_write_all(fds[1], &err, sizeof err) == -1);
	}
	close(fds[1]);
	if (pid == -1)
		err = errno;
	else {
		/* A child that was killed says nothing: EIO stays. */
		(void)fd_read_all(fds[0], &err, sizeof err);
		while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
			;
	}
	close(fds[0]);
	*killed = err == EIO && WIFSIGNALED(status) &&
	    WTERMSIG(status) == SIGKILL;
	return err;
}

static int
try_in_child(probe_fn attempt, const void *arg)
{
	int i, err = EIO, killed;

	for (i = 0; i < KILLED_MAX; i++) {
		err = try_once(attempt, arg, &killed);
		if (!killed)
			break;
	}
	return err;
}

struct ns_arg {
	jail_set	set;
	int		mount_tmpfs;
	int		fork_pid;
};

/* A process in a new pid namespace, as a worker will be. */
static int
try_pid_namespace(void)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID) == -1)
		return errno;
	pid = fork();
	if (pid == -1)
		return errno;
	if (pid == 0)
		_exit(getpid() == 1 ? 0 : 1);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return EIO;
	return 0;
}

static int
try_namespaces(const void *p)
{
	const struct ns_arg *a = p;
	const char *step;

	if (namespaces_enter(a->set, &step) == -1)
		return errno;
	/* Some systems allow the namespace and refuse what it is for. */
	if (a->mount_tmpfs && mount("tmpfs", "/", "tmpfs", 0,
	    "size=64k") == -1)
		return errno;
	return a->fork_pid ? try_pid_namespace() : 0;
}

static int
try_landlock(const void *p)
{
	int fd = landlock_ruleset(NULL, 0);

	if (fd == -1 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
	    landlock_restrict(fd) == -1)
		return errno;
	return 0;
}

static int
try_seccomp(const void *p)
{
	struct filter_options o = { 0 };
	struct syscall_filter f;

	if (filter_build(&o, &f) == -1 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
	    filter_load(&f) == -1)
		return errno;
	return 0;
}

static int
try_uid(const void *p)
{
	uid_t uid = *(const unsigned *)p;

	if (!caps_has(CAP_SETUID) || !caps_has(CAP_SETGID))
		return EPERM;
	return ids_become(uid, uid) == -1 ? errno : 0;
}

static int
try_nnp(const void *p)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ? errno : 0;
}

static int
try_nothing(const void *p)
{
	return 0;
}

static void
note(struct jail_report *r, enum jail_layer l, int err)
{
	if (r->layer[l].state == JAIL_OFF)
		return;
	r->layer[l].error = err;
	r->layer[l].state = err == 0 ? JAIL_HELD : JAIL_ABSENT;
}

static void
probe_namespaces(struct jail_report *r)
{
	static const enum jail_layer parts[] = { JAIL_MOUNT, JAIL_PID,
	    JAIL_NET, JAIL_IPC, JAIL_UTS };
	struct ns_arg a = { .mount_tmpfs = 1 };
	jail_set base = 0;
	size_t i;

	if (caps_has(CAP_SYS_ADMIN)) {
		r->layer[JAIL_USERNS].state = JAIL_UNNEEDED;
	} else {
		a.set = JAIL_BIT(JAIL_USERNS) | JAIL_BIT(JAIL_MOUNT);
		note(r, JAIL_USERNS, try_in_child(try_namespaces, &a));
		base = JAIL_BIT(JAIL_USERNS);
	}
	for (i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		if (r->layer[JAIL_USERNS].state != JAIL_HELD &&
		    r->layer[JAIL_USERNS].state != JAIL_UNNEEDED) {
			note(r, parts[i], r->layer[JAIL_USERNS].error != 0 ?
			    r->layer[JAIL_USERNS].error : EPERM);
			continue;
		}
		a.set = base | JAIL_BIT(parts[i]);
		a.mount_tmpfs = parts[i] == JAIL_MOUNT;
		a.fork_pid = parts[i] == JAIL_PID;
		note(r, parts[i], try_in_child(try_namespaces, &a));
	}
}

/* A worker of another user id needs the tree of a mount namespace to reach
 * the libraries wherever they lie. */
static void
probe_uid(struct jail_report *r, unsigned uid_base)
{
	if (r->layer[JAIL_MOUNT].state != JAIL_HELD)
		note(r, JAIL_UID, EPERM);
	else
		note(r, JAIL_UID, try_in_child(try_uid, &uid_base));
}

/* A worker mounts its own, or shares a file system that has a bound. */
static void
probe_scratch(struct jail_report *r, const char *scratch)
{
	struct statfs fs;

	if (r->layer[JAIL_MOUNT].state == JAIL_HELD)
		note(r, JAIL_SCRATCH, 0);
	else if (statfs(scratch, &fs) == -1)
		note(r, JAIL_SCRATCH, errno);
	else
		note(r, JAIL_SCRATCH, fs.f_type == TMPFS_MAGIC ? 0 : ENOSPC);
}

void
jail_probe(jail_set without, unsigned uid_base, const char *scratch,
    struct jail_report *r)
{
	int i;

	memset(r, 0, sizeof *r);
	for (i = 0; i < JAIL_LAYERS; i++)
		if (without & JAIL_BIT(i))
			r->layer[i].state = JAIL_OFF;
	r->landlock_abi = landlock_abi();
	probe_namespaces(r);
	note(r, JAIL_LANDLOCK, try_in_child(try_landlock, NULL));
	note(r, JAIL_SCOPE, r->landlock_abi >= LANDLOCK_ABI_SCOPE &&
	    r->layer[JAIL_LANDLOCK].state == JAIL_HELD ? 0 : ENOSYS);
	note(r, JAIL_SECCOMP, try_in_child(try_seccomp, NULL));
	probe_scratch(r, scratch);
	probe_uid(r, uid_base);
	note(r, JAIL_RLIMITS, try_in_child(try_nothing, NULL));
	note(r, JAIL_NNP, try_in_child(try_nnp, NULL));
	if (r->layer[JAIL_CGROUP].state != JAIL_OFF)
		r->layer[JAIL_CGROUP].error = ENOENT;
}
