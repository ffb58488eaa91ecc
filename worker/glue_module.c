#include "config.h"

#include "pycompat.h"

#include <stdlib.h>
#include <unistd.h>

#include "fdutil.h"
#include "glue_module.h"
#include "mem.h"
#include "workerio.h"

static PyObject *
glue_image(PyObject *self, PyObject *args)
{
	const char *mime, *name, *data;
	struct msg_IMAGE m;
	Py_ssize_t len;

	if (!PyArg_ParseTuple(args, "ssy#", &mime, &name, &data, &len))
		return NULL;
	m.mime = slice_of(mime);
	m.name = slice_of(name);
	m.data.data = data;
	m.data.len = len;
	/* A child that the program forked draws for itself alone, and a
	 * picture beyond the frame's cap cannot travel. */
	if (frame_rule(FRAME_IMAGE, WORKER_TO_SERVER, len + KIB) == NULL)
		workerio_IMAGE(&m);
	Py_RETURN_NONE;
}

static PyObject *
glue_note(PyObject *self, PyObject *arg)
{
	const char *text = PyUnicode_AsUTF8(arg);
	char *line;
	int n;

	if (text == NULL)
		return NULL;
	n = xasprintf(&line, "%s\n", text);
	/* Standard error may be gone; then there is nobody to tell. */
	if (fd_write_all(STDERR_FILENO, line, n) == -1)
		PyErr_Clear();
	free(line);
	Py_RETURN_NONE;
}

/* self is the pair (function, after). */
static PyObject *
method_then_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
	PyObject *res, *seen;

	res = PyObject_Call(PyTuple_GET_ITEM(self, 0), args, kwargs);
	if (res == NULL)
		return NULL;
	seen = PyObject_Call(PyTuple_GET_ITEM(self, 1), args, kwargs);
	if (seen == NULL)
		PyErr_Clear();	/* our own bookkeeping must not be seen */
	Py_XDECREF(seen);
	return res;
}

static PyMethodDef method_then_def = { "savefig",
    (PyCFunction)(void (*)(void))method_then_call,
    METH_VARARGS | METH_KEYWORDS, NULL };

static PyObject *
glue_method_then(PyObject *self, PyObject *args)
{
	PyObject *fn, *method;

	if (PyTuple_GET_SIZE(args) != 2) {
		PyErr_SetString(PyExc_TypeError, "method_then takes two");
		return NULL;
	}
	fn = PyCFunction_New(&method_then_def, args);
	if (fn == NULL)
		return NULL;
	method = PyInstanceMethod_New(fn);
	Py_DECREF(fn);
	return method;
}

static PyMethodDef methods[] = {
	{ "image", glue_image, METH_VARARGS,
	    "image(mime, name, data): send a picture of the job." },
	{ "note", glue_note, METH_O,
	    "note(text): one line to the job's standard error." },
	{ "method_then", glue_method_then, METH_VARARGS,
	    "method_then(function, after): a method that calls function and "
	    "then, if it did not raise, after with the same arguments." },
	{ NULL, NULL, 0, NULL }
};

static struct PyModuleDef def = { PyModuleDef_HEAD_INIT, "adder", NULL, -1,
    methods, NULL, NULL, NULL, NULL };

PyObject *
glue_module_new(void)
{
	return PyModule_Create(&def);
}
