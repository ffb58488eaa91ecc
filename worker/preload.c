#include "config.h"

#include "pycompat.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "callbacks.h"
#include "interp.h"
#include "log.h"
#include "mem.h"
#include "preload.h"
#include "zygote_fds.h"

#define FD_SCAN_MAX	4096

/* Calls a function of the glue that takes nothing and returns nothing of
 * interest; -1 with *why. */
static int
step(const char *module, const char *name, char **why)
{
	PyObject *res = interp_call(module, name, "()");
	char *err;

	if (res != NULL) {
		Py_DECREF(res);
		return 0;
	}
	err = interp_take_error();
	xasprintf(why, "preparing Python (%s.%s): %s", module, name, err);
	free(err);
	return -1;
}

static void
import_one(const char *name)
{
	PyObject *res = interp_call("preload", "import_module", "(s)", name);
	const char *failed;
	char *err;
	int ms;

	if (res == NULL || !PyArg_ParseTuple(res, "is", &ms, &failed)) {
		err = interp_take_error();
		log_warnx("module %s is left out: %s", name, err);
		free(err);
	} else if (*failed != '\0')
		log_warnx("module %s is left out: %s", name, failed);
	else
		log_debug("module %s imported in %d ms", name, ms);
	Py_XDECREF(res);
}

static void
import_all(const char *modules)
{
	char *list = xstrdup(modules), *at = list, *name;

	while ((name = strsep(&at, ", ")) != NULL)
		if (*name != '\0')
			import_one(name);
	free(list);
}

/* Runs small jobs of the libraries that are there. */
static void
run_jobs(const char *which)
{
	PyObject *res = interp_call("warm", which, "()");
	const char *failed = res == NULL ? NULL : PyUnicode_AsUTF8(res);
	char *err;

	if (failed != NULL && *failed != '\0')
		log_warnx("warm-up: %s", failed);
	Py_XDECREF(res);
	if (PyErr_Occurred()) {
		err = interp_take_error();
		log_warnx("warm-up: %s", err);
		free(err);
	}
}

void
preload_warm(const char *warm_file)
{
	PyObject *res;
	char *err;

	/* Before the freeze, after which they are not found. */
	Py_XDECREF(interp_call("afterfork", "generators", "()"));
	run_jobs("warm");
	if (*warm_file == '\0')
		return;
	res = interp_call("preload", "run_file", "(s)", warm_file);
	if (res == NULL) {
		err = interp_take_error();
		log_warnx("warm-up file %s: %s", warm_file, err);
		free(err);
	}
	Py_XDECREF(res);
}

int
preload_hook_figures(char **why)
{
	PyObject *mod = PyDict_GetItemString(PyImport_GetModuleDict(),
	    "matplotlib.pyplot");

	return mod == NULL ? 0 : step("figures", "install", why);
}

int
preload(const char *modules, char **why)
{
	callbacks_settle();
	if (step("preload", "import_stdlib", why) == -1)
		return -1;
	import_all(modules);
	run_jobs("needed");
	return 0;
}

int
preload_settle(int thorough, char **why)
{
	return step("preload", thorough ? "settle" : "settle_early", why);
}

void
preload_collect(void)
{
	char *why;

	if (step("preload", "collect_all", &why) == -1) {
		log_warnx("%s", why);
		free(why);
	}
}

char *
preload_packages(void)
{
	PyObject *res = interp_call("preload", "packages", "()");
	const char *s = res == NULL ? NULL : PyUnicode_AsUTF8(res);
	char *out, *err;

	if (s == NULL) {
		err = interp_take_error();
		log_warnx("list of packages: %s", err);
		free(err);
	}
	out = xstrdup(s == NULL ? "" : s);
	Py_XDECREF(res);
	return out;
}

char **
preload_directories(void)
{
	PyObject *res = interp_call("preload", "directories", "()");
	Py_ssize_t i, n = res == NULL ? 0 : PyList_Size(res);
	char **out = xcalloc(n + 1, sizeof *out);
	const char *s;

	for (i = 0; i < n; i++) {
		s = PyUnicode_AsUTF8(PyList_GetItem(res, i));
		out[i] = xstrdup(s != NULL ? s : "/usr");
	}
	PyErr_Clear();
	Py_XDECREF(res);
	return out;
}

int
preload_verify_fds(char **why)
{
	char link[64], target[256];
	ssize_t n;
	int fd;

	for (fd = ZYGOTE_FD_RESERVED; fd < FD_SCAN_MAX; fd++) {
		if (fcntl(fd, F_GETFD) == -1)
			continue;
		snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
		n = readlink(link, target, sizeof target - 1);
		target[n < 0 ? 0 : n] = '\0';
		xasprintf(why, "an imported module keeps descriptor %d (%s) "
		    "open, which workers would share; take it out of "
		    "python.modules", fd, target);
		return -1;
	}
	return 0;
}

static int
verify_threads(FILE *fp, char **why)
{
	char line[256];
	int n = -1;

	while (fp != NULL && fgets(line, sizeof line, fp) != NULL)
		if (sscanf(line, "Threads: %d", &n) == 1)
			break;
	if (n == 1)
		return 0;
	xasprintf(why, "%d threads run after the imports, and forks of a "
	    "process with more than one are not safe; take the module that "
	    "starts them out of python.modules", n);
	return -1;
}

static int
verify_maps(FILE *fp, char **why)
{
	char line[512], perms[8];
	int rv = fp == NULL ? -1 : 0;

	while (rv == 0 && fgets(line, sizeof line, fp) != NULL)
		if (sscanf(line, "%*s %7s", perms) == 1 && perms[1] == 'w' &&
		    perms[3] == 's')
			rv = -1;
	if (rv == -1)
		xasprintf(why, "an imported module keeps writable memory that "
		    "workers would share (%s); take it out of "
		    "python.modules", fp == NULL ? "unreadable" : line);
	return rv;
}

int
preload_verify(FILE *status, FILE *maps, char **why)
{
	return verify_threads(status, why) == -1 ? -1 :
	    verify_maps(maps, why);
}
