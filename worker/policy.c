#include "config.h"

#include "pycompat.h"

#include <fcntl.h>
#include <string.h>

#include "interp.h"
#include "mem.h"
#include "policy.h"
#include "preload.h"

static char	**libraries;	/* files below these may be read */
static int	  armed, ending;

/* Events (docs.python.org/3/library/audit_events.html) that begin so are
 * effects that a calculator does not have. */
static const char *const refused[] = { "os.", "shutil.", "subprocess.",
    "socket.", "ctypes.", "pickle.", "glob.", "tempfile.", "mmap.",
    "urllib.", "http.", "ftplib.", "smtplib.", "poplib.", "imaplib.",
    "nntplib.", "telnetlib.", "webbrowser.", "sqlite3.", "signal.",
    "resource.", "fcntl.", "syslog.", "pty.", "pathlib.", "gc.",
    "sys.addaudithook", "sys.settrace", "sys.setprofile", "code.__new__",
    "cpython.", "ensurepip.", "msvcrt.", "setopencodehook" };

static int
begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static int
is_library(PyObject *path)
{
	const char *s;
	size_t i, len;

	if (PyLong_Check(path))
		return 1;	/* a descriptor that is open already */
	s = PyUnicode_Check(path) ? PyUnicode_AsUTF8(path) :
	    PyBytes_Check(path) ? PyBytes_AS_STRING(path) : NULL;
	if (s == NULL) {
		PyErr_Clear();
		return 0;
	}
	if (strstr(s, "/../") != NULL)
		return 0;
	for (i = 0; libraries[i] != NULL; i++) {
		len = strlen(libraries[i]);
		if (strncmp(s, libraries[i], len) == 0 &&
		    (s[len] == '/' || s[len] == '\0'))
			return 1;
	}
	return strcmp(s, "/dev/urandom") == 0 || strcmp(s, "/dev/null") == 0;
}

/* open(path, mode, flags): for reading, and of a library. */
static int
may_open(PyObject *args)
{
	PyObject *path, *mode, *flags;
	const char *s;
	long bits;

	if (!PyArg_ParseTuple(args, "OOO", &path, &mode, &flags)) {
		PyErr_Clear();
		return 0;
	}
	s = PyUnicode_Check(mode) ? PyUnicode_AsUTF8(mode) : "";
	bits = PyLong_Check(flags) ? PyLong_AsLong(flags) : 0;
	PyErr_Clear();
	if (s == NULL || strpbrk(s, "wax+") != NULL ||
	    (bits & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0)
		return 0;
	return is_library(path);
}

/* The import machinery lists the directories that it imports from. */
static int
may_list(PyObject *args)
{
	return PyTuple_GET_SIZE(args) == 1 &&
	    is_library(PyTuple_GET_ITEM(args, 0));
}

static int
is_allowed(const char *event, PyObject *args)
{
	size_t i;

	if (strcmp(event, "open") == 0)
		return may_open(args);
	if (strcmp(event, "os.listdir") == 0 ||
	    strcmp(event, "os.scandir") == 0)
		return may_list(args);
	for (i = 0; i < sizeof refused / sizeof refused[0]; i++)
		if (begins(event, refused[i]))
			return 0;
	return 1;
}

/* In CPython's words. */
static int
refuse_at_end(const char *event)
{
	if (PY_EXC_AT_END == NULL)
		return 0;
	if (begins(event, "_thread.start_"))
		PyErr_SetString(PY_EXC_AT_END,
		    "can't create new thread at interpreter shutdown");
	else if (begins(event, "os.fork"))
		PyErr_SetString(PY_EXC_AT_END,
		    "can't fork at interpreter shutdown");
	else
		return 0;
	return -1;
}

static int
hook(const char *event, PyObject *args, void *data)
{
	if (ending && refuse_at_end(event) == -1)
		return -1;
	if (!armed || is_allowed(event, args))
		return 0;
	PyErr_Format(PyExc_PermissionError, "policy restricted refuses %s; "
	    "compute with what it offers", event);
	return -1;
}

int
policy_init(void)
{
	libraries = preload_directories();
	return PySys_AddAuditHook(hook, NULL);
}

int
policy_restrict(PyObject *ns, struct slice source, char **why)
{
	PyObject *res;
	const char *s;

	res = interp_call("restricted", "prepare", "(y#O)", source.data,
	    (Py_ssize_t)source.len, ns);
	if (res == NULL) {
		*why = interp_take_error();
		return -1;
	}
	if (res == Py_None) {
		Py_DECREF(res);
		armed = 1;
		return 0;
	}
	s = PyUnicode_AsUTF8(res);
	*why = xstrdup(s != NULL ? s : "policy restricted refuses it");
	PyErr_Clear();
	Py_DECREF(res);
	return -1;
}

void
policy_end(void)
{
	ending = 1;
}

void
policy_arm(int on)
{
	armed = on;
}

int
policy_armed(void)
{
	return armed;
}
