#include "config.h"

#include "pycompat.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "interp.h"
#include "interps.h"
#include "policy.h"
#include "pyend.h"
#include "pyexits.h"
#include "pyjob.h"
#include "pystdio.h"

#define STATUS_FLUSH_FAILED	120	/* as Py_RunMain() exits */
#define USER_MODULES_MAX	256
/* Modules that a program may take out of sys.modules before the search for
 * its own misses some. */
#define MODULES_REMOVED_MAX	64

static PyObject	*collect_fn;		/* gc.collect */
static PyObject	*zygote_modules;	/* names in sys.modules before jobs */
static Py_ssize_t zygote_nmodules;	/* how many they are */
static PyObject	*figures;		/* matplotlib's Gcf.figs, or NULL */
static PyObject	*drawings;		/* a list of our own, or NULL */
static PyObject	*importer_cache;	/* sys.path_importer_cache */
static void	(*fortran_flush)(int *unit);

/* What threading._shutdown() works on; NULL where this version of Python
 * keeps it elsewhere. */
static struct {
	PyObject	*dict, *shutdown, *atexits;
	Py_ssize_t	 natexits;
} threads;

/* libgfortran buffers what Fortran code prints and flushes it only in a
 * destructor, which _exit(2) does not run. */
static int
find_fortran(struct dl_phdr_info *info, size_t size, void *arg)
{
	void *lib;

	if (strstr(info->dlpi_name, "libgfortran") == NULL)
		return 0;
	lib = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
	if (lib != NULL)
		fortran_flush = (void (*)(int *))dlsym(lib,
		    "_gfortran_flush_i4");
	return fortran_flush != NULL;
}

static PyObject *
attribute(const char *module, const char *name)
{
	PyObject *mod = PyImport_ImportModule(module), *res;

	if (mod == NULL)
		return NULL;
	res = PyObject_GetAttrString(mod, name);
	Py_DECREF(mod);
	return res;
}

/* NULL without an exception if it is not there. */
static PyObject *
optional(const char *module, const char *name)
{
	PyObject *res = attribute(module, name);

	PyErr_Clear();
	return res;
}

static void
threads_init(void)
{
	threads.dict = optional("threading", "__dict__");
	threads.shutdown = optional("threading", "_shutdown");
	threads.atexits = optional("threading", "_threading_atexits");
	if (threads.atexits != NULL)
		threads.natexits = PyObject_Size(threads.atexits);
	PyErr_Clear();
}

static void
figures_init(void)
{
	PyObject *gcf;

	if (PyDict_GetItemString(PyImport_GetModuleDict(),
	    "matplotlib._pylab_helpers") == NULL)
		return;
	gcf = optional("matplotlib._pylab_helpers", "Gcf");
	figures = gcf == NULL ? NULL : PyObject_GetAttrString(gcf, "figs");
	drawings = interp_glue("figures", "_drawings");
	Py_XDECREF(gcf);
	PyErr_Clear();
}

int
pyend_adopt(void)
{
	Py_XSETREF(zygote_modules, PyFrozenSet_New(PyImport_GetModuleDict()));
	zygote_nmodules = PyDict_Size(PyImport_GetModuleDict());
	dl_iterate_phdr(find_fortran, NULL);
	return zygote_modules == NULL ? -1 : 0;
}

int
pyend_init(void)
{
	threads_init();
	figures_init();
	/* So that it outlives its name in sys: to take apart what it lists
	 * takes long, and no program sees it. */
	importer_cache = Py_NewRef(interp_sys("path_importer_cache"));
	collect_fn = attribute("gc", "collect");
	return collect_fn == NULL || pyend_adopt() == -1 ? -1 :
	    pyexits_init();
}

/* No thread was left running and nothing waits for the end of threads, so
 * that _shutdown() of this very module would find nothing to do. */
static int
threads_idle(void)
{
	if (threads.dict == NULL || threads.atexits == NULL)
		return 0;
	return py_threads_are_over(threads.dict) &&
	    PyDict_GetItemString(threads.dict, "_shutdown") ==
	    threads.shutdown &&
	    PyList_GET_SIZE(threads.atexits) == threads.natexits;
}

/* wait_for_thread_shutdown() of CPython. */
static void
join_threads(void)
{
	PyObject *name, *mod = NULL, *res;

	if (threads_idle())
		return;
	name = PyUnicode_FromString("threading");
	if (name != NULL)
		mod = PyImport_GetModule(name);
	Py_XDECREF(name);
	if (mod == NULL) {
		PyErr_Clear();
		return;
	}
	res = PyObject_CallMethod(mod, "_shutdown", NULL);
	if (res == NULL)
		py_unraisable("on threading shutdown", mod);
	Py_XDECREF(res);
	Py_DECREF(mod);
}

static void
call_quietly(PyObject *fn)
{
	PyObject *res = PyObject_CallNoArgs(fn);

	if (res == NULL)
		PyErr_WriteUnraisable(fn);
	Py_XDECREF(res);
}

/* Figures exist only where pyplot's registry has some; matplotlib may have
 * been imported by the program itself. */
static void
send_figures(void)
{
	int restricted;
	PyObject *res;

	if (figures == NULL)
		figures_init();
	if (figures != NULL && (PyObject_Size(figures) > 0 ||
	    (drawings != NULL && PyList_GET_SIZE(drawings) > 0))) {
		/* Our own work, whatever the program may do. */
		restricted = policy_armed();
		policy_arm(0);
		res = interp_call("figures", "collect", "()");
		policy_arm(restricted);
		Py_XDECREF(res);
	}
	PyErr_Clear();
}

/* Attributes of sys that end as None. */
static const char *const forgotten[] = { "path", "argv", "ps1", "ps2",
    "last_type", "last_value", "last_traceback", "last_exc", "path_hooks",
    "path_importer_cache", "meta_path", NULL };

/* finalize_modules_delete_special() of CPython. */
static void
forget_sys(void)
{
	static const char *const restore[][2] = { { "stdin", "__stdin__" },
	    { "stdout", "__stdout__" }, { "stderr", "__stderr__" } };
	size_t i;

	for (i = 0; forgotten[i] != NULL; i++)
		if (PySys_GetObject(forgotten[i]) != NULL)
			PySys_SetObject(forgotten[i], Py_None);
	for (i = 0; i < sizeof restore / sizeof restore[0]; i++)
		PySys_SetObject(restore[i][0], interp_sys(restore[i][1]));
	PyErr_Clear();
}

/*
 * Names of modules that the program brought: __main__ and what it imported.
 * To look at each of some two thousand names would fault in as many pages;
 * new ones come last in sys.modules, so the search begins a little before
 * the number that there were.
 */
static int
find_user_modules(PyObject *names[USER_MODULES_MAX])
{
	PyObject *modules = PyImport_GetModuleDict(), *key, *value;
	Py_ssize_t at = zygote_nmodules - MODULES_REMOVED_MAX;
	int n = 0;

	if ((key = PyUnicode_InternFromString("__main__")) != NULL)
		names[n++] = key;
	if (PyDict_Size(modules) == zygote_nmodules)
		return n;
	if (at < 0)
		at = 0;
	while (n < USER_MODULES_MAX && PyDict_Next(modules, &at, &key, &value))
		if (PyUnicode_Check(key) && PyModule_Check(value) &&
		    PySet_Contains(zygote_modules, key) == 0)
			names[n++] = Py_NewRef(key);
	return n;
}

/* Takes them out of sys.modules; refs keeps weak references. */
static int
drop_user_modules(PyObject *refs[USER_MODULES_MAX])
{
	PyObject *names[USER_MODULES_MAX], *value;
	PyObject *modules = PyImport_GetModuleDict();
	int i, n = find_user_modules(names), kept = 0;

	for (i = 0; i < n; i++) {
		value = PyDict_GetItem(modules, names[i]);
		if (value != NULL && PyModule_Check(value))
			refs[kept] = PyWeakref_NewRef(value, NULL);
		else
			value = NULL;
		if (value != NULL && refs[kept] != NULL)
			kept++;
		/* Here the module may go, and its objects with it. */
		if (value != NULL)
			PyDict_SetItem(modules, names[i], Py_None);
		Py_DECREF(names[i]);
		PyErr_Clear();
	}
	return kept;
}

/* _PyModule_ClearDict() of CPython: first what begins with one underscore,
 * then the rest but __builtins__. */
static void
clear_dict(PyObject *dict)
{
	PyObject *key, *value;
	Py_ssize_t at;
	const char *s;
	int pass;

	for (pass = 0; pass < 2; pass++)
		for (at = 0; PyDict_Next(dict, &at, &key, &value);) {
			if (value == Py_None || !PyUnicode_Check(key) ||
			    (s = PyUnicode_AsUTF8(key)) == NULL)
				continue;
			if (pass == 0 ? s[0] != '_' || s[1] == '_' :
			    strcmp(s, "__builtins__") == 0)
				continue;
			/* An existing key: the dict does not move. */
			PyDict_SetItem(dict, key, Py_None);
		}
	PyErr_Clear();
}

static void
clear_survivors(PyObject *refs[USER_MODULES_MAX], int n)
{
	PyObject *mod;

	while (n-- > 0) {
		mod = py_weakref_get(refs[n]);
		if (mod != Py_None && PyModule_Check(mod))
			clear_dict(PyModule_GetDict(mod));
		Py_DECREF(mod);
		Py_DECREF(refs[n]);
	}
}

/* CPython has None in place of every module by now; here those of the zygote
 * are left alone and importing one fails instead. */
static PyObject *
import_at_end(PyObject *self, PyObject *args, PyObject *kwargs)
{
	PyObject *name = PyTuple_GET_SIZE(args) > 0 ?
	    PyTuple_GET_ITEM(args, 0) : NULL;

	if (name != NULL && PyUnicode_Check(name) &&
	    PyDict_Contains(PyImport_GetModuleDict(), name) == 1)
		return PyErr_Format(PyExc_ModuleNotFoundError,
		    "import of %U halted; None in sys.modules", name);
	PyErr_SetString(PyExc_ImportError, "sys.meta_path is None, Python is "
	    "likely shutting down");
	return NULL;
}

static PyMethodDef import_def = { "__import__",
    (PyCFunction)(void (*)(void))import_at_end, METH_VARARGS | METH_KEYWORDS,
    NULL };

static void
stop_imports(void)
{
	PyObject *fn = PyCFunction_New(&import_def, NULL);
	PyObject *builtins = PyEval_GetBuiltins();

	if (fn == NULL || builtins == NULL ||
	    PyDict_SetItemString(builtins, "__import__", fn) == -1)
		PyErr_Clear();
	Py_XDECREF(fn);
}

/*
 * finalize_modules() of CPython for the modules of the program; those of
 * the libraries are older than the fork and die with the process.
 */
static void
finalize_modules(void)
{
	PyObject *refs[USER_MODULES_MAX];
	int n;

	forget_sys();
	n = drop_user_modules(refs);
	stop_imports();
	call_quietly(collect_fn);
	clear_survivors(refs, n);
	call_quietly(collect_fn);
}

static void
flush_c(void)
{
	fflush(NULL);
	if (fortran_flush != NULL)
		fortran_flush(NULL);	/* every unit */
}

void
pyend_run(struct pyjob *job)
{
	join_threads();
	Py_MakePendingCalls();
	pyexits_run();
	send_figures();
	if (pystdio_flush_final() == -1)
		job->status = STATUS_FLUSH_FAILED;
	policy_end();
	PyGC_Collect();
	/* Later in CPython, where objects of the program cannot end them as
	 * they go, which here they could. */
	interps_end();
	finalize_modules();
	/* CPython frees the streams here, which flushes without a word. */
	pystdio_flush_quietly();
	flush_c();
}

/* The way of a module that goes, with one that is nobody's. */
static void
try_dropping(void)
{
	static const char name[] = "__trial__";
	PyObject *modules = PyImport_GetModuleDict(), *mod, *ref;

	mod = PyModule_New(name);
	ref = mod == NULL ? NULL : PyWeakref_NewRef(mod, NULL);
	if (ref != NULL && PyDict_SetItemString(modules, name, mod) == 0) {
		PyDict_SetItemString(modules, name, Py_None);
		PyDict_DelItemString(modules, name);
	}
	Py_XDECREF(mod);
	if (ref != NULL)
		Py_DECREF(py_weakref_get(ref));
	Py_XDECREF(ref);
	PyErr_Clear();
}

void
pyend_trial(void)
{
	static const char *const streams[] = { "stdin", "stdout", "stderr" };
	PyObject *builtins = PyEval_GetBuiltins(), *value;
	size_t i;

	(void)threads_idle();
	Py_MakePendingCalls();
	/* Each is set to what it is. */
	for (i = 0; forgotten[i] != NULL; i++)
		if ((value = PySys_GetObject(forgotten[i])) != NULL)
			PySys_SetObject(forgotten[i], value);
	for (i = 0; i < sizeof streams / sizeof streams[0]; i++)
		PySys_SetObject(streams[i], interp_sys(streams[i]));
	value = builtins == NULL ? NULL :
	    PyDict_GetItemString(builtins, "__import__");
	if (value != NULL)
		PyDict_SetItemString(builtins, "__import__", value);
	PyErr_Clear();
	try_dropping();
	call_quietly(collect_fn);
	pyexits_run();
	pystdio_flush_final();
	flush_c();
}

void
pyend_pause(void)
{
	Py_MakePendingCalls();
	PyErr_Clear();
	send_figures();
	pystdio_flush_quietly();
	flush_c();
}
