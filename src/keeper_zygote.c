#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fdutil.h"
#include "keeper_zygote.h"
#include "mem.h"
#include "msg.h"

#define ARGS_MAX	24

/* Only these are needed, and nothing of adderd's environment may be seen by
 * the code that will run below. */
static char *const zygote_environ[] = {
	(char *)"PATH=/usr/bin:/bin",
	(char *)"LANG=C.UTF-8",
	NULL
};

static void
free_args(char **argv)
{
	int i;

	for (i = 0; argv[i] != NULL; i++)
		free(argv[i]);
}

static void
make_args(char **argv, const struct msg_ZYGOTE_START *m, const char *scratch)
{
	int n = 0;

	argv[n++] = xstrdup("adder-zygote");
	argv[n++] = xstrdup("--generation");
	xasprintf(&argv[n++], "%" PRIu64, m->generation);
	argv[n++] = xstrdup("--python-env");
	argv[n++] = xmemdupz(m->python_env.data, m->python_env.len);
	argv[n++] = xstrdup("--modules");
	argv[n++] = xmemdupz(m->modules.data, m->modules.len);
	argv[n++] = xstrdup("--warm-file");
	argv[n++] = xmemdupz(m->warm_file.data, m->warm_file.len);
	argv[n++] = xstrdup("--scratch");
	argv[n++] = xstrdup(scratch);
	argv[n++] = xstrdup("--deps-dir");
	argv[n++] = xmemdupz(m->deps_dir.data, m->deps_dir.len);
	argv[n++] = xstrdup("--layers");
	argv[n++] = xmemdupz(m->layers.data, m->layers.len);
	argv[n++] = xstrdup("--uid-base");
	xasprintf(&argv[n++], "%" PRIu64, m->uid_base);
	if (m->processes)
		argv[n++] = xstrdup("--processes");
	if (m->compact)
		argv[n++] = xstrdup("--compact");
	if (m->prefault)
		argv[n++] = xstrdup("--prefault");
	if (m->debug)
		argv[n++] = xstrdup("--debug");
	argv[n] = NULL;
}

/* In the child: only what signal-safety(7) allows. */
static void
child(const char *path, char **argv, int control, int log_fd)
{
	int null = open("/dev/null", O_RDWR);
	int sig;
	sigset_t none;

	for (sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Away from the terminal, for its workers, too. */
	setsid();
	/* Out of the way of the numbers that are to be set. */
	control = fcntl(control, F_DUPFD_CLOEXEC, 10);
	log_fd = fcntl(log_fd, F_DUPFD_CLOEXEC, 10);
	if (dup2(null, 0) == -1 || dup2(log_fd, 1) == -1 ||
	    dup2(log_fd, 2) == -1 || dup2(control, ZYGOTE_FD_CONTROL) == -1)
		_exit(126);
	if (null > ZYGOTE_FD_CONTROL)
		close(null);
	execve(path, argv, zygote_environ);
	dprintf(2, "cannot execute %s: error %d\n", path, errno);
	_exit(127);
}

pid_t
keeper_zygote_exec(const struct msg_ZYGOTE_START *m, const char *scratch,
    int control, int log_fd)
{
	char *argv[ARGS_MAX], *path;
	pid_t pid;

	make_args(argv, m, scratch);
	path = xmemdupz(m->path.data, m->path.len);
	pid = fork();
	if (pid == 0)
		child(path, argv, control, log_fd);
	free(path);
	free_args(argv);
	return pid;
}
