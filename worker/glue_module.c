#include "config.h"

#include "pycompat.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect.h"
#include "fdutil.h"
#include "glue_module.h"
#include "image.h"
#include "interp.h"
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
		image_send(&m);
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

static PyObject *
glue_file(PyObject *self, PyObject *args)
{
	struct msg_FILE m = { .whole = 1 };
	const char *path, *data;
	Py_ssize_t len;

	if (!PyArg_ParseTuple(args, "sy#", &path, &data, &len))
		return NULL;
	m.path = slice_of(path);
	m.data.data = data;
	m.data.len = m.size = len;
	if (frame_rule(FRAME_FILE, WORKER_TO_SERVER, len + KIB) == NULL)
		workerio_FILE(&m);
	Py_RETURN_NONE;
}

static PyObject *
glue_shown(PyObject *self, PyObject *arg)
{
	PyObject *path;

	if (!PyUnicode_FSConverter(arg, &path))
		return NULL;
	collect_shown(PyBytes_AS_STRING(path));
	Py_DECREF(path);
	Py_RETURN_NONE;
}

/* From one part of the glue to another. */
static PyObject *
glue_figure(PyObject *self, PyObject *arg)
{
	return interp_call("figures", "take_value", "(O)", arg);
}

/* Our own bookkeeping must not be seen. */
static void
call_quietly(PyObject *fn, PyObject *args, PyObject *kwargs)
{
	PyObject *res;

	if (fn == Py_None)
		return;
	res = PyObject_Call(fn, args, kwargs);
	if (res == NULL)
		PyErr_Clear();
	Py_XDECREF(res);
}

/* self is (name, function, after, before). */
static PyObject *
method_then_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
	PyObject *res;

	call_quietly(PyTuple_GET_ITEM(self, 3), args, kwargs);
	res = PyObject_Call(PyTuple_GET_ITEM(self, 1), args, kwargs);
	if (res != NULL)
		call_quietly(PyTuple_GET_ITEM(self, 2), args, kwargs);
	return res;
}

/* What a program sees of the method is what it would be called. */
static PyMethodDef method_defs[] = {
	{ "savefig", (PyCFunction)(void (*)(void))method_then_call,
	    METH_VARARGS | METH_KEYWORDS, NULL },
	{ "save", (PyCFunction)(void (*)(void))method_then_call,
	    METH_VARARGS | METH_KEYWORDS, NULL },
	{ "show", (PyCFunction)(void (*)(void))method_then_call,
	    METH_VARARGS | METH_KEYWORDS, NULL }
};

static PyObject *
glue_method_then(PyObject *self, PyObject *args)
{
	PyObject *fn, *method;
	const char *name;
	size_t i;

	if (PyTuple_GET_SIZE(args) != 4) {
		PyErr_SetString(PyExc_TypeError, "method_then takes four");
		return NULL;
	}
	name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(args, 0));
	for (i = 0; name != NULL && strcmp(method_defs[i].ml_name, name) != 0;)
		if (++i == sizeof method_defs / sizeof method_defs[0]) {
			PyErr_SetString(PyExc_ValueError, "no such method");
			return NULL;
		}
	fn = name == NULL ? NULL : PyCFunction_New(&method_defs[i], args);
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
	{ "file", glue_file, METH_VARARGS,
	    "file(name, data): send a file that lies nowhere." },
	{ "shown", glue_shown, METH_O,
	    "shown(path): the answer has the picture in this file already." },
	{ "figure", glue_figure, METH_O,
	    "figure(figure): show a figure that is a value." },
	{ "method_then", glue_method_then, METH_VARARGS,
	    "method_then(name, function, after, before): a method that calls "
	    "before, function and then, if it did not raise, after with the "
	    "same arguments; either may be None." },
	{ NULL, NULL, 0, NULL }
};

static struct PyModuleDef def = { PyModuleDef_HEAD_INIT, "adder", NULL, -1,
    methods, NULL, NULL, NULL, NULL };

PyObject *
glue_module_new(void)
{
	return PyModule_Create(&def);
}
