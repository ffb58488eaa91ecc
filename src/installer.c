#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "caps.h"
#include "installer.h"
#include "installer_code.h"
#include "landlock.h"
#include "log.h"
#include "mem.h"
#include "namespaces.h"
#include "syscall_filter.h"

/*
 * Theory of operation.  What is installed comes from strangers, and a package
 * that is built runs code of theirs.  So the installer has a user id of its
 * own (layer uid), process ids of its own (pid), may write below deps.dir
 * only and read what the resolver needs (Landlock), connect to the ports of
 * an index (Landlock, ABI 4) or, offline, make no socket at all (seccomp).
 * installer.py confines the resolver further, to the one environment that it
 * makes.  A network namespace would need a way out of it, so there is none.
 */

#define PATHS_MAX	96
#define DESCRIPTORS	1024

struct installer {
	const char	*python, *deps_dir, *offline, *ports;
	jail_set	 layers;
	unsigned	 uid;
	uint64_t	 max_bytes;
	int		 sdist;
	struct landlock_path paths[PATHS_MAX];
	size_t		 npaths;
};

#define HAS(in, layer)	(((in)->layers & JAIL_BIT(layer)) != 0)

static const char *const readable[] = { "/usr", "/bin", "/sbin", "/lib",
    "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/localtime",
    "/etc/timezone", "/etc/mime.types", "/etc/passwd", "/etc/group",
    "/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf",
    "/etc/resolv.conf", "/etc/services", "/etc/protocols", "/etc/ssl",
    "/etc/pki", "/etc/ca-certificates", "/etc/pip.conf", "/etc/xdg/pip",
    "/etc/os-release", "/etc/lsb-release", "/etc/debian_version",
    "/etc/redhat-release", "/etc/system-release", "/etc/alpine-release",
    "/run/systemd/resolve", "/run/resolvconf" };

static const char *const devices[] = { "/dev/null", "/dev/zero",
    "/dev/random", "/dev/urandom" };

static const char *const home_files[] = { ".config/pip", ".pip", ".netrc" };

/* What the operator's environment may tell the resolver, by its names. */
static const char *const passed[] = { "PIP_", "HTTP_PROXY=", "HTTPS_PROXY=",
    "NO_PROXY=", "ALL_PROXY=", "http_proxy=", "https_proxy=", "no_proxy=",
    "all_proxy=", "SSL_CERT_FILE=", "SSL_CERT_DIR=", "REQUESTS_CA_BUNDLE=",
    "CURL_CA_BUNDLE=", "HOME=", "NETRC=" };

extern char **environ;

static void
add_path(struct installer *in, const char *path, enum landlock_use use)
{
	if (in->npaths == PATHS_MAX)
		return;
	in->paths[in->npaths].path = path;
	in->paths[in->npaths++].use = use;
}

/* Files and directories that a variable of the environment names. */
static void
add_named(struct installer *in, const char *value)
{
	char *list = xstrdup(value), *at = list, *word, *path;

	while ((word = strsep(&at, ": \t")) != NULL) {
		if (word[0] != '/' || word[1] == '/')
			continue;
		path = realpath(word, NULL);
		if (path != NULL && strcmp(path, "/") != 0)
			add_path(in, path, LANDLOCK_READ);
	}
	free(list);
}

/* The environment of the resolver: nothing of adderd's but what is meant for
 * it. */
static char **
take_environment(struct installer *in)
{
	char **out = xcalloc(64, sizeof *out), **e, *value;
	size_t i, n = 0;

	out[n++] = (char *)"PATH=/usr/local/bin:/usr/bin:/bin";
	out[n++] = (char *)"LANG=C.UTF-8";
	for (e = environ; *e != NULL && n < 63; e++)
		for (i = 0; i < sizeof passed / sizeof passed[0]; i++)
			if (strncmp(*e, passed[i], strlen(passed[i])) == 0) {
				out[n++] = *e;
				value = strchr(*e, '=');
				if (strncmp(*e, "HOME=", 5) != 0)
					add_named(in, value + 1);
				break;
			}
	return out;
}

static void
add_home(struct installer *in)
{
	const char *home = getenv("HOME");
	char *path;
	size_t i;

	for (i = 0; home != NULL && home[0] == '/' &&
	    i < sizeof home_files / sizeof home_files[0]; i++) {
		xasprintf(&path, "%s/%s", home, home_files[i]);
		add_path(in, path, LANDLOCK_READ);
	}
}

/* Where the interpreter and its packages are: two levels above it, and above
 * what it links to. */
static void
add_python(struct installer *in)
{
	char *path, *slash;
	int i, up;

	for (i = 0; i < 2; i++) {
		path = i == 0 ? xstrdup(in->python) :
		    realpath(in->python, NULL);
		for (up = 0; path != NULL && up < 2; up++)
			if ((slash = strrchr(path, '/')) != NULL)
				*slash = '\0';
		if (path != NULL && path[0] != '\0')
			add_path(in, path, LANDLOCK_READ);
	}
}

static void
collect_paths(struct installer *in)
{
	size_t i;

	for (i = 0; i < sizeof readable / sizeof readable[0]; i++)
		add_path(in, readable[i], LANDLOCK_READ);
	for (i = 0; i < sizeof devices / sizeof devices[0]; i++)
		add_path(in, devices[i], LANDLOCK_DEVICE);
	add_path(in, in->deps_dir, in->sdist ? LANDLOCK_BUILD :
	    LANDLOCK_WORK);
	if (in->offline[0] != '\0')
		add_path(in, in->offline, LANDLOCK_READ);
	add_python(in);
	add_home(in);
}

static int
allow_ports(const struct installer *in, int ruleset)
{
	char *list = xstrdup(in->ports), *at = list, *word;
	int rv = 0;

	while (rv == 0 && (word = strsep(&at, ",")) != NULL)
		if (*word != '\0')
			rv = landlock_allow_port(ruleset,
			    (unsigned)strtoul(word, NULL, 10));
	free(list);
	return rv;
}

static int
restrict_access(struct installer *in)
{
	int ruleset, rv;

	if (!HAS(in, JAIL_LANDLOCK))
		return 0;
	ruleset = landlock_ruleset(in->paths, in->npaths);
	if (ruleset == -1)
		return -1;
	rv = in->offline[0] != '\0' ? 0 : allow_ports(in, ruleset);
	if (rv == 0)
		rv = landlock_restrict(ruleset);
	close(ruleset);
	return rv;
}

static int
restrict_calls(const struct installer *in)
{
	struct filter_options o = { .processes = 1, .own_root = 1,
	    .memory_cgroup = 1, .installer = 1,
	    .own_pid_ns = HAS(in, JAIL_PID),
	    .network = in->offline[0] == '\0' };
	struct syscall_filter f;

	if (!HAS(in, JAIL_SECCOMP))
		return 0;
	if (filter_build(&o, &f) == -1)
		return -1;
	filter_patch_pid(&f, getpid());
	return filter_load(&f);
}

static int
set_limits(const struct installer *in)
{
	const struct { int what; rlim_t value; } limits[] = {
		{ RLIMIT_CORE, 0 }, { RLIMIT_NOFILE, DESCRIPTORS },
		{ RLIMIT_FSIZE, in->max_bytes }, { RLIMIT_MSGQUEUE, 0 },
		{ RLIMIT_MEMLOCK, 0 }, { RLIMIT_SIGPENDING, 1024 } };
	struct rlimit rl;
	size_t i;

	for (i = 0; i < sizeof limits / sizeof limits[0]; i++) {
		if (getrlimit(limits[i].what, &rl) == -1)
			return -1;
		if (limits[i].value < rl.rlim_max)
			rl.rlim_max = limits[i].value;
		rl.rlim_cur = rl.rlim_max;
		if (setrlimit(limits[i].what, &rl) == -1)
			return -1;
	}
	return 0;
}

static int
give_up_rights(const struct installer *in)
{
	if (HAS(in, JAIL_UID) && (caps_drop_bounding(CAPS_ALL) == -1 ||
	    ids_become(in->uid, in->uid) == -1))
		return -1;
	if (caps_set(0) == -1 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		return -1;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* The named steps, in order; each must work. */
static void
become_resolver(struct installer *in) __attribute__((noreturn));

static void
become_resolver(struct installer *in)
{
	char *argv[] = { (char *)in->python, (char *)"-I", (char *)"-c",
	    (char *)installer_code, NULL };
	char **env;
	const char *step = NULL;

	umask(022);
	env = take_environment(in);
	collect_paths(in);
	if (chdir(in->deps_dir) == -1)
		step = "directory";
	else if (set_limits(in) == -1)
		step = "limits";
	else if (give_up_rights(in) == -1)
		step = "rights";
	/* Its death is not the parent's only way to be told: a credential
	 * change clears this. */
	else if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1)
		step = "parent";
	else if (restrict_access(in) == -1)
		step = "landlock";
	else if (restrict_calls(in) == -1)
		step = "seccomp";
	if (step == NULL) {
		execve(in->python, argv, env);
		step = "python";
	}
	log_warn("the installer is not run: step %s", step);
	_exit(125);
}

/* Namespaces as far as they hold, then a child in them: the first process of
 * its pid namespace, with which all of it ends. */
static pid_t
fork_inside(const struct installer *in)
{
	jail_set want = in->layers & (JAIL_BIT(JAIL_USERNS) |
	    JAIL_BIT(JAIL_IPC) | JAIL_BIT(JAIL_UTS));
	const char *step = "pid";

	if (in->offline[0] != '\0')
		want |= in->layers & JAIL_BIT(JAIL_NET);
	if (namespaces_enter(want, &step) == -1 ||
	    (HAS(in, JAIL_PID) && unshare(CLONE_NEWPID) == -1)) {
		log_warn("the installer is not run: step %s", step);
		return -1;
	}
	return fork();
}

static int
parse(struct installer *in, char **argv)
{
	const char *bad;
	size_t len;

	memset(in, 0, sizeof *in);
	in->python = argv[0];
	in->deps_dir = argv[1];
	in->offline = argv[2];
	in->ports = argv[3];
	in->uid = strtoul(argv[5], NULL, 10) + JAIL_UID_INSTALLER;
	in->max_bytes = strtoull(argv[6], NULL, 10);
	in->sdist = argv[7][0] == '1';
	return jail_set_parse(argv[4], &in->layers, &bad, &len);
}

int
installer_main(int argc, char **argv)
{
	struct installer in;
	int status;
	pid_t pid;

	log_init("installer", LOG_LEVEL_INFO);
	if (argc != INSTALLER_ARGS || parse(&in, argv) == -1) {
		log_errorx("only the keeper starts an installer");
		return 2;
	}
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == -1)
		return 125;
	pid = fork_inside(&in);
	if (pid == -1)
		return 125;
	if (pid == 0)
		become_resolver(&in);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return 125;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 124;
}
