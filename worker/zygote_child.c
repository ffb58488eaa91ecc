#include "config.h"

#include "pycompat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "afterfork.h"
#include "clean_pages.h"
#include "interp.h"
#include "log.h"
#include "mem.h"
#include "msg.h"
#include "preload.h"
#include "pyend.h"
#include "zygote_child.h"
#include "zygote_fds.h"
#include "zygote_jail.h"
#include "zygote_settle.h"

/* Its own entries in /proc, opened before it is out of reach. */
struct own_proc {
	FILE	*status, *maps, *statm, *pagemap;
};

/* What is printed by imports goes nowhere; the log is at its number. */
static int
take_descriptors(const int fds[CHILD_FDS])
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), rv = -1;

	if (null != -1 &&
	    dup3(fds[CHILD_FD_CONTROL], ZYGOTE_FD_CONTROL, O_CLOEXEC) != -1 &&
	    dup3(fds[CHILD_FD_LOG], ZYGOTE_FD_LOG, O_CLOEXEC) != -1 &&
	    dup2(null, STDIN_FILENO) != -1 &&
	    dup2(null, STDOUT_FILENO) != -1 &&
	    dup2(null, STDERR_FILENO) != -1)
		rv = close_range(ZYGOTE_FD_RESERVED, ~0U, 0);
	log_set_fd(ZYGOTE_FD_LOG);
	return rv;
}

static FILE *
open_own(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "%ld/%s", (long)getpid(), name);
	fd = openat(ZYGOTE_FD_PROC, path, O_RDONLY | O_CLOEXEC);
	return fd == -1 ? NULL : fdopen(fd, "r");
}

static int
open_proc(struct own_proc *p)
{
	p->status = open_own("status");
	p->maps = open_own("maps");
	p->statm = open_own("statm");
	/* That is root's where the process is not dumpable; it only helps. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	p->pagemap = open_own("pagemap");
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	return p->status != NULL && p->maps != NULL && p->statm != NULL ?
	    0 : -1;
}

static int
call(const char *function, const char *a, const char *b, char **why)
{
	PyObject *res = interp_call("environment", function, b != NULL ?
	    "(ss)" : "()", a, b);
	char *err;

	if (res != NULL) {
		Py_DECREF(res);
		return 0;
	}
	err = interp_take_error();
	xasprintf(why, "preparing the environment (%s): %s", function, err);
	free(err);
	return -1;
}

/* The figures' hooks, what a fork is to do for the new modules, garbage;
 * what a program may take apart is younger than the freeze. */
static int
settle(const struct zygote_jail *jail, char **why)
{
	if (preload_hook_figures(why) == -1)
		return -1;
	if (pyend_adopt() == -1 || afterfork_init() == -1)
		return zygote_python_failed("looking at what was imported",
		    why);
	if (call("settle", NULL, NULL, why) == -1)
		return -1;
	return zygote_settle(jail->layers, why);
}

static void
read_memory(FILE *statm, struct zygote_memory *memory)
{
	unsigned long long pages[2] = { 0, 0 };

	if (fscanf(statm, "%llu %llu", &pages[0], &pages[1]) != 2)
		log_warnx("statm cannot be read");
	memory->size = pages[0] * sysconf(_SC_PAGESIZE);
	memory->resident = pages[1] * sysconf(_SC_PAGESIZE);
}

/* Imports of a package may leave what no fork may have: then it is said, and
 * the next zygote of this environment imports nothing. */
static int
check(struct own_proc *p, struct zygote_memory *memory, char **why)
{
	int rv;

	read_memory(p->statm, memory);
	rv = preload_verify(p->status, p->maps, why);
	if (p->pagemap != NULL) {
		rewind(p->maps);
		clean_pages_drop(p->maps, p->pagemap);
		fclose(p->pagemap);
	}
	fclose(p->statm);
	fclose(p->status);
	fclose(p->maps);
	return rv == -1 ? -1 : preload_verify_fds(why);
}

static int
enter(struct zygote_jail *jail, const struct msg_ZYGOTE_FORK *m, char *site,
    char **why)
{
	char *modules = xmemdupz(m->modules.data, m->modules.len);
	const char *step;
	int rv = 0;

	if (m->import && zygote_jail_nest(jail, &step) == -1) {
		xasprintf(why, "the code of packages is not held (%s: %s)",
		    step, strerror(errno));
		rv = -1;
	}
	if (rv == 0 && m->import) {
		Py_XDECREF(interp_call("afterfork", "watch", "()"));
		rv = call("import_ahead", site, modules, why);
	}
	free(modules);
	return rv;
}

int
zygote_child_become(struct zygote_jail *jail, const struct msg_ZYGOTE_FORK *m,
    const int fds[CHILD_FDS], struct zygote_memory *memory, char **why)
{
	char *top = xmemdupz(m->path.data, m->path.len);
	char *site = xmemdupz(m->site.data, m->site.len);
	struct own_proc proc;
	int rv = -1;

	if (afterfork_worker() == -1)
		return zygote_python_failed("random numbers", why);
	if (take_descriptors(fds) == -1 || open_proc(&proc) == -1)
		xasprintf(why, "descriptors: %s", strerror(errno));
	/* The jail keeps top. */
	else if (zygote_jail_admit(jail, top, why) == 0 &&
	    call("enter", top, site, why) == 0 &&
	    enter(jail, m, site, why) == 0 && settle(jail, why) == 0)
		rv = check(&proc, memory, why);
	free(site);
	return rv;
}
