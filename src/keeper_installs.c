#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "caps.h"
#include "cgroup.h"
#include "fdutil.h"
#include "installer.h"
#include "keeper_installs.h"
#include "layers.h"
#include "log.h"
#include "mem.h"
#include "msg.h"

/* Its control group: names of workers are numbers from 1 on. */
#define GROUP_OF(id)	((1ull << 62) | (id))
#define MEMORY_BYTES	(2048ull * MIB)
#define PIDS_MAX	256

struct keeper_install {
	LIST_ENTRY(keeper_install) entry;
	uint64_t		 id;
	pid_t			 pid;
	int			 pidfd;
	int			 grouped;
	struct event		*ev_exit;
	struct keeper_installs	*all;
};

struct keeper_installs {
	struct event_base	*base;
	LIST_HEAD(, keeper_install) list;
	struct cgroup_root	*cgroup;
	const struct keeper_installs_observer *observer;
	void			*arg;
};

struct keeper_installs *
keeper_installs_new(struct event_base *base,
    const struct keeper_installs_observer *observer, void *arg)
{
	struct keeper_installs *all = xcalloc(1, sizeof *all);

	all->base = base;
	all->observer = observer;
	all->arg = arg;
	LIST_INIT(&all->list);
	return all;
}

void
keeper_installs_set_cgroup(struct keeper_installs *all,
    struct cgroup_root *cgroup)
{
	all->cgroup = cgroup;
}

/* Reaps it, after a kill or its end. */
static int
forget(struct keeper_install *in)
{
	struct keeper_installs *all = in->all;
	int status = -1;

	while (waitpid(in->pid, &status, 0) == -1 && errno == EINTR)
		;
	if (in->grouped) {
		cgroup_kill(all->cgroup, GROUP_OF(in->id));
		if (cgroup_remove(all->cgroup, GROUP_OF(in->id)) == -1)
			log_debug("control group of installer %" PRIu64
			    " is left", in->id);
	}
	LIST_REMOVE(in, entry);
	event_free(in->ev_exit);
	close(in->pidfd);
	free(in);
	return status;
}

static void
report_exit(struct keeper_installs *all, uint64_t id, int status, int error)
{
	struct msg_INSTALL_EXITED m = { .install = id, .status = status,
	    .error = error };

	all->observer->exited(&m, all->arg);
}

static void
on_exit_event(evutil_socket_t fd, short what, void *arg)
{
	struct keeper_install *in = arg;
	struct keeper_installs *all = in->all;
	uint64_t id = in->id;

	all->observer->lives(in->pid, 0, all->arg);
	report_exit(all, id, forget(in), 0);
}

void
keeper_installs_free(struct keeper_installs **allp)
{
	struct keeper_installs *all = *allp;
	struct keeper_install *in;

	if (all == NULL)
		return;
	*allp = NULL;
	LIST_FOREACH(in, &all->list, entry)
		pidfd_kill(in->pidfd, SIGKILL);
	while ((in = LIST_FIRST(&all->list)) != NULL)
		forget(in);
	free(all);
}

void
keeper_installs_stop(struct keeper_installs *all, uint64_t id)
{
	struct keeper_install *in;

	LIST_FOREACH(in, &all->list, entry)
		if (in->id == id)
			pidfd_kill(in->pidfd, SIGKILL);
}

static int
make_group(struct keeper_installs *all, uint64_t id)
{
	struct limits lim = { .memory = MEMORY_BYTES, .pids = PIDS_MAX };

	if (all->cgroup == NULL)
		return 0;
	if (cgroup_make(all->cgroup, GROUP_OF(id), &lim, 1) == -1) {
		log_warn("installer %" PRIu64 ": no control group", id);
		return -1;
	}
	return 1;
}

static char *
text_of(struct slice s)
{
	return xmemdupz(s.data, s.len);
}

static char *
python_of(struct slice env)
{
	char *path;

	if (env.len == 0)
		return xstrdup(ADDER_PYTHON_EXE);
	xasprintf(&path, "%.*s/bin/python3", (int)env.len, env.data);
	return path;
}

static void
make_args(char **argv, const struct msg_INSTALL_START *m)
{
	int n = 0;

	argv[n++] = xstrdup("adderd");
	argv[n++] = xstrdup("--installer");
	argv[n++] = python_of(m->python_env);
	argv[n++] = text_of(m->deps_dir);
	argv[n++] = text_of(m->offline);
	argv[n++] = text_of(m->ports);
	argv[n++] = text_of(m->layers);
	xasprintf(&argv[n++], "%" PRIu64, m->uid_base);
	xasprintf(&argv[n++], "%" PRIu64, m->max_bytes);
	argv[n++] = xstrdup(m->sdist ? "1" : "0");
	argv[n] = NULL;
}

/* In the child. */
static void
become_installer(struct keeper_installs *all, char **argv, uint64_t id,
    int grouped, const int fds[3])
{
	sigset_t none;
	int sig, i;

	for (sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (grouped && cgroup_attach(all->cgroup, GROUP_OF(id), getpid()) ==
	    -1) {
		log_warn("installer %" PRIu64 ": not in its control group",
		    id);
		_exit(125);
	}
	for (i = 0; i < 3; i++)
		if (dup2(fds[i], i) == -1)
			_exit(125);
	setsid();
	execv("/proc/self/exe", argv);
	_exit(127);
}

/* A pipe that holds the whole request; the end to read from, or -1. */
static int
pipe_of(struct slice request)
{
	int fds[2], rv;

	if (pipe2(fds, O_CLOEXEC) == -1)
		return -1;
	rv = fd_set_nonblock(fds[1]) == -1 ||
	    write(fds[1], request.data, request.len) !=
	    (ssize_t)request.len ? -1 : 0;
	close(fds[1]);
	if (rv == -1)
		close(fds[0]);
	return rv == -1 ? -1 : fds[0];
}

static pid_t
fork_installer(struct keeper_installs *all,
    const struct msg_INSTALL_START *m, int grouped, int report, int log)
{
	char *argv[INSTALLER_ARGS + 3];
	int fds[3] = { pipe_of(m->request), report, log }, i;
	pid_t pid = -1;

	make_args(argv, m);
	if (fds[0] != -1)
		pid = fork();
	if (pid == 0)
		become_installer(all, argv, m->install, grouped, fds);
	for (i = 0; argv[i] != NULL; i++)
		free(argv[i]);
	fd_close(&fds[0]);
	return pid;
}

static uid_t
owner_of(const struct msg_INSTALL_START *m)
{
	const char *bad;
	jail_set layers;
	char *names = text_of(m->layers);
	size_t len;
	int rv = jail_set_parse(names, &layers, &bad, &len);

	free(names);
	return rv == 0 && layers & JAIL_BIT(JAIL_UID) ?
	    m->uid_base + JAIL_UID_INSTALLER : (uid_t)-1;
}

void
keeper_installs_start(struct keeper_installs *all,
    const struct msg_INSTALL_START *m, int report, int log)
{
	struct keeper_install *in;
	int grouped, pidfd = -1;
	pid_t pid = -1;

	grouped = keeper_deps_dir(m->deps_dir, owner_of(m)) == -1 ? -1 :
	    make_group(all, m->install);
	if (grouped != -1)
		pid = fork_installer(all, m, grouped, report, log);
	if (pid != -1)
		pidfd = pidfd_open_pid(pid);
	if (pidfd == -1) {
		int error = errno;

		log_warn("installer %" PRIu64 ": not started", m->install);
		report_exit(all, m->install, 0x7d00, error);
		return;
	}
	in = xcalloc(1, sizeof *in);
	in->all = all;
	in->id = m->install;
	in->pid = pid;
	in->pidfd = pidfd;
	in->grouped = grouped;
	in->ev_exit = event_new(all->base, pidfd, EV_READ, on_exit_event, in);
	event_add(in->ev_exit, NULL);
	LIST_INSERT_HEAD(&all->list, in, entry);
	all->observer->lives(pid, 1, all->arg);
}

/* With the directories above it. */
static int
make_path(char *path)
{
	char *p;
	int rv;

	for (p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
		*p = '\0';
		rv = mkdir(path, 0755);
		*p = '/';
		if (rv == -1 && errno != EEXIST)
			return -1;
	}
	return mkdir(path, 0755);
}

int
keeper_deps_dir(struct slice dir, uid_t uid)
{
	char *path = text_of(dir);
	struct stat st;
	int fd, saved, rv = -1;

	if (make_path(path) == 0 && uid != (uid_t)-1 &&
	    lchown(path, uid, uid) == -1)
		log_warn("deps.dir %s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd != -1 && fstat(fd, &st) == 0) {
		if (st.st_uid == (uid != (uid_t)-1 ? uid : geteuid()) &&
		    (st.st_mode & 022) == 0)
			rv = 0;
		else
			errno = EPERM;
	}
	saved = errno;
	if (rv == -1)
		log_warn("deps.dir %s is of no use: it must be a directory "
		    "that belongs to user id %ld and that nobody else may "
		    "write to", path, (long)(uid != (uid_t)-1 ? uid :
		    geteuid()));
	fd_close(&fd);
	free(path);
	errno = saved;
	return rv;
}
