#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "caps.h"
#include "fdutil.h"
#include "landlock.h"
#include "mem.h"
#include "namespaces.h"
#include "root.h"
#include "zygote_fds.h"
#include "zygote_jail.h"

/*
 * Theory of operation.  A zygote of an environment imports packages that
 * whoever calls has named, so their code runs where workers are forked from.
 * It must be able to do no more than a program: but it also has to mount,
 * and to give user ids and namespaces to its workers.  So it gets a user
 * namespace of its own, whose ids are those of workers and one for itself,
 * none of them root's.  The mounts that it finds there are locked by the
 * kernel, because a mount namespace of a lesser user namespace was made of
 * them (mount_namespaces(7)): read-only stays read-only.
 */

#define HAS(j, layer)	(((j)->layers & JAIL_BIT(layer)) != 0)

static int
write_map(pid_t pid, const char *file, unsigned first, unsigned count)
{
	char path[64], line[64];
	int fd, n, rv;

	snprintf(path, sizeof path, "%ld/%s", (long)pid, file);
	fd = openat(ZYGOTE_FD_PROC, path, O_WRONLY | O_CLOEXEC);
	if (fd == -1)
		return -1;
	n = snprintf(line, sizeof line, "%u %u %u", first, first, count);
	rv = fd_write_all(fd, line, n);
	close(fd);
	return rv;
}

/* In a process that stayed behind in the outer user namespace, and so may
 * map more than one id (user_namespaces(7)). */
static void
map_ids(const struct zygote_jail *j, pid_t pid, int go)
{
	unsigned first = HAS(j, JAIL_UID) ? j->uid_base : JAIL_USERNS_ID;
	unsigned count = HAS(j, JAIL_UID) ? JAIL_UIDS : 1;
	char byte;

	if (fd_read_all(go, &byte, 1) == -1 ||
	    write_map(pid, "uid_map", first, count) == -1 ||
	    write_map(pid, "gid_map", first, count) == -1)
		_exit(errno != 0 ? errno & 0x7f : 1);
	_exit(0);
}

/* Waits for it; what it could not do becomes errno. */
static int
join(pid_t helper)
{
	int status;

	while (waitpid(helper, &status, 0) == -1)
		if (errno != EINTR)
			return -1;
	if (status == 0)
		return 0;
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
	return -1;
}

static int
enter_userns(const struct zygote_jail *j)
{
	int go[2], rv;
	pid_t self = getpid(), helper;

	/* The map files belong to root in a process that is not dumpable. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == -1 ||
	    pipe2(go, O_CLOEXEC) == -1)
		return -1;
	/* Without libc's handlers, which are for a program's forks. */
	helper = syscall(SYS_clone, (unsigned long)SIGCHLD, NULL, NULL, NULL,
	    0UL);
	if (helper == 0) {
		close(go[1]);
		map_ids(j, self, go[0]);
	}
	close(go[0]);
	if (helper == -1) {
		close(go[1]);
		return -1;
	}
	rv = unshare(CLONE_NEWUSER | CLONE_NEWNS);
	if (rv == 0)
		rv = fd_write_all(go[1], "", 1);
	close(go[1]);
	return join(helper) == -1 ? -1 : rv;
}

static int
become_zygote_user(const struct zygote_jail *j)
{
	unsigned id = j->uid_base + JAIL_UID_ZYGOTE;

	return HAS(j, JAIL_UID) ? ids_become(id, id) : 0;
}

static int
restrict_scope(void)
{
	int fd = landlock_scope_ruleset(), rv;

	if (fd == -1)
		return -1;
	rv = landlock_restrict(fd);
	close(fd);
	return rv;
}

static int
restrict_calls(const struct zygote_jail *j)
{
	struct filter_options o = { .zygote = 1, .own_pid_ns = 1,
	    .own_root = 1, .processes = j->processes,
	    .memory_cgroup = HAS(j, JAIL_CGROUP) };
	struct syscall_filter f;
	int rv;

	if (filter_build(&o, &f) == -1)
		return -1;
	/* Its workers' own, in their namespaces. */
	filter_patch_pid(&f, 1);
	rv = filter_load(&f);
	filter_free(&f);
	return rv;
}

int
zygote_jail_nest(struct zygote_jail *j, const char **step)
{
	pid_t keeper = getppid();

	*step = "layers";
	errno = EOPNOTSUPP;
	if ((j->layers & JAIL_FOR_IMPORTS) != JAIL_FOR_IMPORTS)
		return -1;
	*step = "userns";
	if (enter_userns(j) == -1)
		return -1;
	close(ZYGOTE_FD_PROC);
	*step = "ids";
	if (become_zygote_user(j) == -1)
		return -1;
	*step = "capabilities";
	if (caps_drop_bounding(~ZYGOTE_CAPS) == -1 ||
	    caps_set(ZYGOTE_CAPS) == -1)
		return -1;
	*step = "parent";
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1 ||
	    getppid() != keeper)
		return -1;
	*step = "no_new_privs";
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return -1;
	*step = "scope";
	if (restrict_scope() == -1)
		return -1;
	*step = "seccomp";
	return restrict_calls(j);
}

/* Others' environments are none of its business. */
static int
show_only(const struct zygote_jail *j, const char *env)
{
	if (!HAS(j, JAIL_MOUNT))
		return 0;
	return unshare(CLONE_NEWNS) == -1 ? -1 :
	    root_show_only(j->deps_dir, env);
}

int
zygote_jail_admit(struct zygote_jail *j, const char *env, char **why)
{
	if (show_only(j, env) == -1) {
		xasprintf(why, "the environment %s cannot be shown alone: %s",
		    env, strerror(errno));
		return -1;
	}
	if (j->npaths == JAIL_PATHS_MAX) {
		xasprintf(why, "the jail has no room for one more path");
		return -1;
	}
	j->paths[j->npaths].path = env;
	j->paths[j->npaths++].use = LANDLOCK_READ;
	if (zygote_jail_ruleset(j) == 0)
		return 0;
	xasprintf(why, "Landlock ruleset: %s", strerror(errno));
	return -1;
}
