#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "caps.h"
#include "fdutil.h"
#include "log.h"
#include "mem.h"
#include "namespaces.h"
#include "root.h"
#include "zygote_fds.h"
#include "zygote_jail.h"

static const char *const readable[] = { "/usr", "/bin", "/sbin", "/lib",
    "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/localtime",
    "/etc/timezone", "/etc/mime.types", "/etc/fonts", "/etc/matplotlibrc",
    "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts" };

static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full",
    "/dev/random", "/dev/urandom" };

#define HAS(j, layer)	(((j)->layers & JAIL_BIT(layer)) != 0)

/* So that a host out of memory takes a worker, which inherits this, and not
 * the server. */
static void
prefer_for_oom(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd == -1)
		return;
	(void)fd_write_all(fd, "1000", 4);
	close(fd);
}

static void
add_path(struct zygote_jail *j, const char *path, enum landlock_use use)
{
	if (j->npaths == JAIL_PATHS_MAX)
		return;
	j->paths[j->npaths].path = path;
	j->paths[j->npaths++].use = use;
}

static void
collect_paths(struct zygote_jail *j, const char *const *keep)
{
	size_t i;

	for (i = 0; i < sizeof readable / sizeof readable[0]; i++)
		add_path(j, readable[i], LANDLOCK_READ);
	for (i = 0; i < sizeof devices / sizeof devices[0]; i++)
		add_path(j, devices[i], LANDLOCK_DEVICE);
	for (; *keep != NULL; keep++)
		add_path(j, *keep, LANDLOCK_READ);
	if (HAS(j, JAIL_MOUNT))
		add_path(j, JAIL_SCRATCH_PARENT, LANDLOCK_WORK);
}

/* One ruleset for all workers, where all have the same paths: it is at a
 * number that survives the closing of descriptors in a worker. */
int
zygote_jail_ruleset(struct zygote_jail *j)
{
	int fd;

	j->ruleset = -1;
	if (!HAS(j, JAIL_LANDLOCK) || !HAS(j, JAIL_MOUNT))
		return 0;
	fd = landlock_ruleset(j->paths, j->npaths);
	if (fd == -1)
		return -1;
	j->ruleset = dup3(fd, ZYGOTE_FD_RULESET, O_CLOEXEC);
	close(fd);
	return j->ruleset == -1 ? -1 : 0;
}

static int
make_filter(struct zygote_jail *j)
{
	struct filter_options o = {
		.processes = j->processes,
		.own_pid_ns = HAS(j, JAIL_PID),
		.own_root = HAS(j, JAIL_MOUNT),
		.memory_cgroup = HAS(j, JAIL_CGROUP)
	};

	if (!HAS(j, JAIL_SECCOMP))
		return 0;
	if (filter_build(&o, &j->filter) == -1)
		return -1;
	/* An older kernel cannot ask about forks, and then has no sessions. */
	o.role = FILTER_STATE;
	if (filter_build(&o, &j->state_filter) == -1) {
		log_warn("no sessions: the filter of system calls that they "
		    "need cannot be made");
		return 0;
	}
	o.role = FILTER_LEADER;
	return filter_build(&o, &j->leader_filter);
}

int
zygote_jail_has_sessions(const struct zygote_jail *j)
{
	return !HAS(j, JAIL_SECCOMP) || j->state_filter.n > 0;
}

/* The directory of environments is there, too, but not for workers: Landlock
 * does not name it, and environments have names that cannot be guessed. */
static int
enter_root(struct zygote_jail *j, const char *const *keep,
    const char *scratch, const char **step)
{
	size_t n = 0;
	const char **all;
	int rv;

	while (keep[n] != NULL)
		n++;
	all = xcalloc(n + 2, sizeof *all);
	memcpy(all, keep, n * sizeof *all);
	if (j->deps_dir[0] != '\0')
		all[n] = j->deps_dir;
	rv = root_enter(scratch, all, step);
	free(all);
	return rv;
}

/* Forks of the zygote need their own entries in it; see nest(). */
static int
keep_proc(void)
{
	int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), rv;

	if (fd == -1)
		return -1;
	rv = dup3(fd, ZYGOTE_FD_PROC, O_CLOEXEC);
	close(fd);
	return rv == -1 ? -1 : 0;
}

static int
enter(struct zygote_jail *j, const char *const *keep, const char *scratch,
    const char **step)
{
	prefer_for_oom();
	*step = "proc";
	if (j->deps_dir[0] != '\0' && keep_proc() == -1)
		return -1;
	if (namespaces_enter(j->layers, step) == -1)
		return -1;
	if (HAS(j, JAIL_MOUNT) && enter_root(j, keep, scratch, step) == -1)
		return -1;
	*step = "capabilities";
	if ((HAS(j, JAIL_USERNS) || HAS(j, JAIL_UID)) &&
	    (caps_drop_bounding(~ZYGOTE_CAPS) == -1 ||
	    caps_set(ZYGOTE_CAPS) == -1))
		return -1;
	*step = "dumpable";
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		return -1;
	collect_paths(j, keep);
	*step = "landlock";
	return zygote_jail_ruleset(j);
}

static int
failed(const char *step, char **why)
{
	xasprintf(why, "step %s of the jail failed: %s", step,
	    strerror(errno));
	return -1;
}

int
zygote_jail_prepare(struct zygote_jail *j, char **why)
{
	return make_filter(j) == -1 ? failed("seccomp", why) : 0;
}

int
zygote_jail_enter(struct zygote_jail *j, const char *const *keep,
    const char *scratch, char **why)
{
	const char *step = "start";

	return enter(j, keep, scratch, &step) == -1 ? failed(step, why) : 0;
}
