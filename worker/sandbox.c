#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "caps.h"
#include "landlock.h"
#include "log.h"
#include "namespaces.h"
#include "proto.h"
#include "root.h"
#include "sandbox.h"
#include "sandbox_rlimit.h"
#include "sandbox_trap.h"
#include "zygote_fds.h"
#include "zygote_jail.h"

/* Processes that the leader of a session can make when its states cannot. */
#define LEADER_PIDS	8

#define HAS(s, layer)	(((s)->jail->layers & JAIL_BIT(layer)) != 0)

static int
step_fds(const struct sandbox *s)
{
	/* Sources are above the reserved numbers, so no copy hits another. */
	if (dup2(s->fd_stdout, STDOUT_FILENO) == -1 ||
	    dup2(s->fd_stderr, STDERR_FILENO) == -1 ||
	    dup3(s->fd_job, WORKER_FD_JOB, O_CLOEXEC) == -1)
		return -1;
	return 0;
}

static int
step_close(const struct sandbox *s)
{
	/* The ruleset, where there is one, is closed once it is in force. */
	int first = s->jail->ruleset == -1 ? WORKER_FD_JOB : ZYGOTE_FD_RULESET;

	if (syscall(SYS_close_range, first + 1, ZYGOTE_FD_LOG - 1, 0) == -1)
		return -1;
	return syscall(SYS_close_range, ZYGOTE_FD_LOG + 1, ~0U, 0);
}

/* Dispositions are those of the zygote, which set them as CPython does. */
static int
step_signals(const struct sandbox *s)
{
	sigset_t none;

	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * What its process group is sent, reaches nobody else.  A session of its own
 * would have the scheduler make a group for it, which takes as long as the
 * filter (sched_autogroup_create_attach()); it is needed only where sessions
 * tell whose a process is (keeper_strays.c).
 */
static int
step_session(const struct sandbox *s)
{
	if (HAS(s, JAIL_PID))
		return setpgid(0, 0);
	return setsid() == -1 ? -1 : 0;
}

/* What programs expect of file modes; the scratch directory itself, made
 * for its owner alone, keeps others out. */
static int
step_umask(const struct sandbox *s)
{
	umask(022);
	return 0;
}

static int
step_scratch(const struct sandbox *s)
{
	unsigned id = HAS(s, JAIL_UID) ? s->uid :
	    HAS(s, JAIL_USERNS) ? JAIL_USERNS_ID : getuid();

	if (HAS(s, JAIL_MOUNT))
		return root_mount_scratch(s->limits.scratch, s->limits.files,
		    id, id);
	return mkdir(s->scratch, 0700);
}

static int
step_rlimits(const struct sandbox *s)
{
	return rlimit_apply(&s->limits, s->base_as);
}

/* Processes and threads of a user id that nobody else has. */
static int
step_nproc(const struct sandbox *s)
{
	rlim_t most = s->limits.pids + (s->session ? LEADER_PIDS : 0);
	struct rlimit rl = { most, most };

	if (!HAS(s, JAIL_UID) || s->limits.pids == 0)
		return 0;
	return setrlimit(RLIMIT_NPROC, &rl);
}

static int
step_bounding(const struct sandbox *s)
{
	return caps_drop_bounding(ZYGOTE_CAPS);
}

static int
step_ids(const struct sandbox *s)
{
	return HAS(s, JAIL_UID) ? ids_become(s->uid, s->uid) : 0;
}

static int
step_capabilities(const struct sandbox *s)
{
	return caps_set(0);
}

/* As who may enter it. */
static int
step_cwd(const struct sandbox *s)
{
	return chdir(s->scratch);
}

static int
step_dumpable(const struct sandbox *s)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static int
step_pdeathsig(const struct sandbox *s)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1)
		return -1;
	/* A keeper that died before the call above sends no signal; in a pid
	 * namespace of its own the worker sees no parent at all. */
	if (getppid() != (HAS(s, JAIL_PID) ? 0 : s->keeper)) {
		errno = ESRCH;
		return -1;
	}
	return 0;
}

static int
step_no_new_privs(const struct sandbox *s)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* A ruleset made in the zygote, or one with a scratch directory that only
 * this worker has. */
static int
step_landlock(const struct sandbox *s)
{
	struct zygote_jail *j = s->jail;
	int fd = j->ruleset, rv;

	if (!HAS(s, JAIL_LANDLOCK))
		return 0;
	if (fd == -1) {
		j->paths[j->npaths].path = s->scratch;
		j->paths[j->npaths].use = LANDLOCK_WORK;
		fd = landlock_ruleset(j->paths, j->npaths + 1);
	}
	rv = fd == -1 ? -1 : landlock_restrict(fd);
	if (fd != -1)
		close(fd);
	return rv;
}

static int
step_seccomp(const struct sandbox *s)
{
	if (!HAS(s, JAIL_SECCOMP) || s->session)
		return 0;
	sandbox_trap_install(HAS(s, JAIL_PID), s->ended);
	filter_patch_pid(&s->jail->filter, getpid());
	return filter_load(&s->jail->filter);
}

static const struct {
	const char	*name;
	int		(*apply)(const struct sandbox *);
} steps[] = {
	{ "fds",		step_fds },
	{ "close",		step_close },
	{ "signals",		step_signals },
	{ "session",		step_session },
	{ "umask",		step_umask },
	{ "scratch",		step_scratch },
	{ "rlimits",		step_rlimits },
	{ "nproc",		step_nproc },
	{ "bounding",		step_bounding },
	{ "ids",		step_ids },
	{ "capabilities",	step_capabilities },
	{ "cwd",		step_cwd },
	{ "dumpable",		step_dumpable },
	{ "pdeathsig",		step_pdeathsig },
	{ "no_new_privs",	step_no_new_privs },
	{ "landlock",		step_landlock },
	{ "seccomp",		step_seccomp },
};

int
sandbox_enter(const struct sandbox *s)
{
	size_t i;

	/* Standard error is about to become the job's. */
	log_set_fd(ZYGOTE_FD_LOG);
	for (i = 0; i < sizeof steps / sizeof steps[0]; i++)
		if (steps[i].apply(s) == -1) {
			log_warn("sandbox step %s failed, so the worker runs "
			    "no job", steps[i].name);
			return -1;
		}
	log_set_fd(STDERR_FILENO);
	return close(ZYGOTE_FD_LOG);
}

int
sandbox_gates_state(const struct sandbox *s)
{
	return HAS(s, JAIL_SECCOMP) && !s->jail->processes;
}

int
sandbox_enter_leader(const struct sandbox *s)
{
	return HAS(s, JAIL_SECCOMP) ?
	    filter_load(&s->jail->leader_filter) : 0;
}

int
sandbox_enter_state(const struct sandbox *s, int *gate)
{
	struct syscall_filter *f = &s->jail->state_filter;

	struct rlimit rl = { s->limits.pids, s->limits.pids };

	*gate = -1;
	if (HAS(s, JAIL_UID) && s->limits.pids != 0 &&
	    setrlimit(RLIMIT_NPROC, &rl) == -1)
		return -1;
	if (!HAS(s, JAIL_SECCOMP))
		return 0;
	if (f->n == 0) {
		errno = ENOSYS;
		return -1;
	}
	sandbox_trap_install(0, s->ended);
	/* Without a pid namespace no pid matches: a state has a new one in
	 * each call, so it cannot be told from others. */
	if (HAS(s, JAIL_PID))
		filter_patch_pid(f, 1);
	if (!sandbox_gates_state(s))
		return filter_load(f);
	*gate = filter_load_gated(f);
	return *gate == -1 ? -1 : 0;
}
