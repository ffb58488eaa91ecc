#include "config.h"

#include "pycompat.h"

#include "interp.h"
#include "pyexits.h"

#define WATCHED_MAX	8

/* A container that a handler works on, as it was before any program. */
struct watched {
	PyObject	*container;
	Py_ssize_t	 size;
	PyObject	*last;		/* compared only */
	PyObject	*handler;
};

static PyObject		*run_exitfuncs, *count_exitfuncs; /* of atexit */
static PyObject		*handlers;	/* list of (handler, containers) */
static struct watched	 watched[WATCHED_MAX];
static size_t		 nwatched;

static PyObject *
last_item(PyObject *container)
{
	Py_ssize_t n;

	if (!PyList_Check(container))
		return NULL;
	n = PyList_GET_SIZE(container);
	return n == 0 ? NULL : PyList_GET_ITEM(container, n - 1);
}

static int
watch(PyObject *handler, PyObject *container)
{
	struct watched *w = &watched[nwatched];

	if (nwatched == WATCHED_MAX) {
		PyErr_SetString(PyExc_SystemError, "too many exit handlers");
		return -1;
	}
	w->handler = handler;
	w->container = Py_NewRef(container);
	w->size = PyObject_Size(container);
	w->last = last_item(container);
	nwatched++;
	return w->size == -1 ? -1 : 0;
}

static int
watch_all(void)
{
	PyObject *handler, *containers;
	Py_ssize_t i, j;

	for (i = 0; i < PyList_GET_SIZE(handlers); i++) {
		if (!PyArg_ParseTuple(PyList_GET_ITEM(handlers, i), "OO!",
		    &handler, &PyTuple_Type, &containers))
			return -1;
		for (j = 0; j < PyTuple_GET_SIZE(containers); j++)
			if (watch(handler,
			    PyTuple_GET_ITEM(containers, j)) == -1)
				return -1;
	}
	return 0;
}

int
pyexits_init(void)
{
	PyObject *mod = PyImport_ImportModule("atexit");

	handlers = interp_call("preload", "library_exits", "()");
	if (mod == NULL || handlers == NULL || !PyList_Check(handlers))
		return -1;
	run_exitfuncs = PyObject_GetAttrString(mod, "_run_exitfuncs");
	count_exitfuncs = PyObject_GetAttrString(mod, "_ncallbacks");
	Py_DECREF(mod);
	return run_exitfuncs == NULL || count_exitfuncs == NULL ? -1 :
	    watch_all();
}

static int
has_work(PyObject *handler)
{
	size_t i;

	for (i = 0; i < nwatched; i++)
		if (watched[i].handler == handler &&
		    (PyObject_Size(watched[i].container) != watched[i].size ||
		    last_item(watched[i].container) != watched[i].last))
			return 1;
	return 0;
}

static void
call(PyObject *fn)
{
	PyObject *res = PyObject_CallNoArgs(fn);

	if (res == NULL)
		PyErr_WriteUnraisable(fn);
	Py_XDECREF(res);
}

static int
program_has_some(void)
{
	PyObject *n = PyObject_CallNoArgs(count_exitfuncs);
	int rv = n == NULL || PyObject_IsTrue(n) != 0;

	PyErr_Clear();
	Py_XDECREF(n);
	return rv;
}

void
pyexits_run(void)
{
	Py_ssize_t i;

	if (program_has_some())
		call(run_exitfuncs);
	for (i = PyList_GET_SIZE(handlers) - 1; i >= 0; i--) {
		PyObject *handler = PyTuple_GET_ITEM(
		    PyList_GET_ITEM(handlers, i), 0);

		if (has_work(handler))
			call(handler);
	}
}
