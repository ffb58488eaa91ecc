#include "config.h"

#include "pycompat.h"

#include <marshal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "glue_data.h"
#include "glue_module.h"
#include "interp.h"
#include "mem.h"

/*
 * Theory of operation.  Plain `python3 main.py` is the measure, so the
 * configuration is the ordinary one, not CPython's "isolated" preset: that
 * preset shows in sys.flags and is handed on to child interpreters.  What
 * isolates is that the environment was made from scratch (zygote_main.c) and
 * that executable and home are named here instead of searched for.
 */

static PyObject	*glue[GLUE_MODULES];

static int
status_failed(PyStatus status, char **why)
{
	if (!PyStatus_Exception(status))
		return 0;
	xasprintf(why, "Python cannot start: %s",
	    status.err_msg != NULL ? status.err_msg : "unknown reason");
	return 1;
}

/* The interpreter to be: the venv's own, so that getpath.py finds its
 * pyvenv.cfg, or the one that this program was built for. */
static int
find_executable(const char *python_env, char **exe, char **why)
{
	char *lib;
	int ok;

	if (*python_env == '\0') {
		*exe = xstrdup(ADDER_PYTHON_EXE);
		return 0;
	}
	xasprintf(exe, "%s/bin/python3", python_env);
	xasprintf(&lib, "%s/lib/python%d.%d/site-packages", python_env,
	    PY_MAJOR_VERSION, PY_MINOR_VERSION);
	ok = access(*exe, X_OK) == 0 && access(lib, R_OK) == 0;
	free(lib);
	if (ok)
		return 0;
	xasprintf(why, "python environment %s cannot be used: it must be a "
	    "virtual environment of Python %d.%d, the version that "
	    "adder-zygote embeds; make one with \"%s -m venv %s\"", python_env,
	    PY_MAJOR_VERSION, PY_MINOR_VERSION, ADDER_PYTHON_EXE, python_env);
	free(*exe);
	return -1;
}

static PyStatus
configure(PyConfig *config, const char *exe)
{
	wchar_t *argv[] = { (wchar_t *)L"main.py" };
	wchar_t *orig[] = { NULL, (wchar_t *)L"main.py" };
	PyStatus status;

	PyConfig_InitPythonConfig(config);
	config->parse_argv = 0;
	config->pathconfig_warnings = 0;
	config->install_signal_handlers = 1;
	status = PyConfig_SetBytesString(config, &config->program_name, exe);
	if (!PyStatus_Exception(status))
		status = PyConfig_SetBytesString(config, &config->executable,
		    exe);
	if (!PyStatus_Exception(status))
		status = PyConfig_SetWideStringList(config, &config->argv, 1,
		    argv);
	if (PyStatus_Exception(status))
		return status;
	orig[0] = config->executable;
	return PyConfig_SetWideStringList(config, &config->orig_argv, 2, orig);
}

/* Runs one embedded module in a namespace with builtins of its own. */
static PyObject *
glue_load(const struct glue_source *src, PyObject *builtins)
{
	PyObject *code, *ns, *res = NULL;

	code = PyMarshal_ReadObjectFromString((const char *)src->data,
	    src->len);
	ns = Py_BuildValue("{s:s,s:O,s:N}", "__name__", src->name,
	    "__builtins__", builtins, "adder", glue_module_new());
	if (code != NULL && ns != NULL)
		res = PyEval_EvalCode(code, ns, ns);
	Py_XDECREF(code);
	if (res == NULL)
		Py_CLEAR(ns);
	Py_XDECREF(res);
	return ns;
}

static int
glue_init(char **why)
{
	PyObject *builtins, *mod;
	char *err;
	size_t i;

	mod = PyImport_ImportModule("builtins");
	builtins = mod == NULL ? NULL : PyDict_Copy(PyModule_GetDict(mod));
	Py_XDECREF(mod);
	for (i = 0; builtins != NULL && i < GLUE_MODULES; i++)
		if ((glue[i] = glue_load(&glue_sources[i], builtins)) == NULL)
			break;
	Py_XDECREF(builtins);
	if (i == GLUE_MODULES)
		return 0;
	err = interp_take_error();
	xasprintf(why, "built-in Python part %s does not load: %s",
	    glue_sources[i].name, err);
	free(err);
	return -1;
}

int
interp_start(const char *python_env, char **why)
{
	PyPreConfig pre;
	PyConfig config;
	PyStatus status;
	char *exe;
	int failed;

	PyPreConfig_InitPythonConfig(&pre);
	pre.parse_argv = 0;
	if (status_failed(Py_PreInitialize(&pre), why) ||
	    find_executable(python_env, &exe, why) == -1)
		return -1;
	status = configure(&config, exe);
	if (!PyStatus_Exception(status))
		status = Py_InitializeFromConfig(&config);
	failed = status_failed(status, why);
	PyConfig_Clear(&config);
	free(exe);
	return failed ? -1 : glue_init(why);
}

PyObject *
interp_glue(const char *module, const char *name)
{
	size_t i;

	for (i = 0; i < GLUE_MODULES; i++)
		if (strcmp(glue_sources[i].name, module) == 0 &&
		    glue[i] != NULL)
			return PyDict_GetItemString(glue[i], name);
	return NULL;
}

PyObject *
interp_call(const char *module, const char *name, const char *format, ...)
{
	PyObject *fn = interp_glue(module, name), *args, *res;
	va_list ap;

	if (fn == NULL) {
		PyErr_Format(PyExc_SystemError, "%s.%s is gone", module, name);
		return NULL;
	}
	va_start(ap, format);
	args = Py_VaBuildValue(format, ap);
	va_end(ap);
	if (args == NULL)
		return NULL;
	res = PyObject_Call(fn, args, NULL);
	Py_DECREF(args);
	return res;
}

char *
interp_take_error(void)
{
	PyObject *exc = py_take_exception(), *text;
	const char *s = NULL;
	char *out;

	if (exc == NULL)
		return xstrdup("no reason given");
	text = PyObject_Str(exc);
	if (text != NULL)
		s = PyUnicode_AsUTF8(text);
	xasprintf(&out, "%s: %s", Py_TYPE(exc)->tp_name,
	    s == NULL ? "(no message)" : s);
	PyErr_Clear();
	Py_XDECREF(text);
	Py_DECREF(exc);
	return out;
}

PyObject *
interp_sys(const char *name)
{
	PyObject *v = PySys_GetObject(name);

	return v == NULL ? Py_None : v;
}
