#include "config.h"

#include "pycompat.h"

#include <unistd.h>

#include "interp.h"
#include "pystdio.h"

static PyObject	*text_io;		/* io.TextIOWrapper */
static PyObject	*encoding, *errors;	/* of stdin and stdout */
static PyObject	*our_stdin, *our_stderr;	/* compared only */

int
pystdio_init(void)
{
	PyObject *io = PyImport_ImportModule("io");

	if (io == NULL)
		return -1;
	text_io = PyObject_GetAttrString(io, "TextIOWrapper");
	Py_DECREF(io);
	encoding = PyObject_GetAttrString(interp_sys("stdout"), "encoding");
	errors = PyObject_GetAttrString(interp_sys("stdout"), "errors");
	return text_io == NULL || encoding == NULL || errors == NULL ? -1 : 0;
}

/* The binary layer below a standard stream, with its raw layer named. */
static PyObject *
make_buffer(int fd, const char *name)
{
	PyObject *buf, *raw, *str;
	int rv = -1;

	buf = PyFile_FromFd(fd, NULL, fd == STDIN_FILENO ? "rb" : "wb", -1,
	    NULL, NULL, NULL, 0);
	if (buf == NULL)
		return NULL;
	raw = PyObject_GetAttrString(buf, "raw");
	str = PyUnicode_FromString(name);
	if (raw != NULL && str != NULL)
		rv = PyObject_SetAttrString(raw, "name", str);
	Py_XDECREF(raw);
	Py_XDECREF(str);
	if (rv == -1)
		Py_CLEAR(buf);
	return buf;
}

static PyObject *
make_stream(int fd, const char *name)
{
	int is_err = fd == STDERR_FILENO;
	PyObject *buf, *on_error, *stream, *mode;

	on_error = is_err ? PyUnicode_FromString("backslashreplace") :
	    Py_NewRef(errors);
	buf = make_buffer(fd, name);
	if (buf == NULL || on_error == NULL)
		return NULL;
	stream = PyObject_CallFunction(text_io, "NONsOO", buf, encoding,
	    on_error, "\n", is_err ? Py_True : Py_False, Py_False);
	mode = PyUnicode_FromString(fd == STDIN_FILENO ? "r" : "w");
	if (stream == NULL || mode == NULL ||
	    PyObject_SetAttrString(stream, "mode", mode) == -1)
		return NULL;
	Py_DECREF(mode);
	return stream;
}

int
pystdio_make(void)
{
	static const struct {
		int		 fd;
		const char	*name, *attr, *original;
	} streams[] = {
		{ STDIN_FILENO,  "<stdin>",  "stdin",  "__stdin__" },
		{ STDOUT_FILENO, "<stdout>", "stdout", "__stdout__" },
		{ STDERR_FILENO, "<stderr>", "stderr", "__stderr__" },
	};
	PyObject *s = NULL;
	size_t i;

	for (i = 0; i < sizeof streams / sizeof streams[0]; i++) {
		s = make_stream(streams[i].fd, streams[i].name);
		if (s == NULL || PySys_SetObject(streams[i].attr, s) == -1 ||
		    PySys_SetObject(streams[i].original, s) == -1)
			return -1;
		Py_DECREF(s);
		if (i == 0)
			our_stdin = s;
	}
	our_stderr = s;		/* sys holds it */
	return 0;
}

void
pystdio_live(void)
{
	PyObject *reconfigure, *none = PyTuple_New(0), *how, *res = NULL;

	reconfigure = PyObject_GetAttrString(interp_sys("stdout"),
	    "reconfigure");
	how = Py_BuildValue("{s:O}", "line_buffering", Py_True);
	if (reconfigure != NULL && none != NULL && how != NULL)
		res = PyObject_Call(reconfigure, none, how);
	Py_XDECREF(res);
	Py_XDECREF(how);
	Py_XDECREF(none);
	Py_XDECREF(reconfigure);
	PyErr_Clear();
}

int
pystdio_stderr_is_ours(void)
{
	return PySys_GetObject("stderr") == our_stderr;
}

/* Calls flush(); -1 with an exception set. */
static int
flush(PyObject *stream)
{
	PyObject *res = PyObject_CallMethod(stream, "flush", NULL);

	if (res == NULL)
		return -1;
	Py_DECREF(res);
	return 0;
}

void
pystdio_flush_quietly(void)
{
	PyObject *exc = py_take_exception();
	static const char *const names[] = { "stderr", "stdout" };
	size_t i;

	for (i = 0; i < 2; i++) {
		PyObject *s = PySys_GetObject(names[i]);

		if (s != NULL && flush(Py_NewRef(s)) == -1)
			PyErr_Clear();
		Py_XDECREF(s);
	}
	if (exc != NULL)
		py_raise(exc);
}

static int
is_closed(PyObject *stream)
{
	PyObject *closed = PyObject_GetAttrString(stream, "closed");
	int rv = closed == NULL ? -1 : PyObject_IsTrue(closed);

	Py_XDECREF(closed);
	if (rv == -1) {
		PyErr_Clear();
		return 0;
	}
	return rv;
}

int
pystdio_flush_final(void)
{
	PyObject *out = Py_NewRef(interp_sys("stdout"));
	PyObject *err = Py_NewRef(interp_sys("stderr"));
	int status = 0;

	if (out != Py_None && !is_closed(out) && flush(out) == -1) {
		py_unraisable(PY_IN_FLUSH, out);
		status = -1;
	}
	if (err != Py_None && !is_closed(err) && flush(err) == -1) {
		PyErr_Clear();
		status = -1;
	}
	Py_DECREF(out);
	Py_DECREF(err);
	return status;
}

int
pystdio_renew_stdin(void)
{
	PyObject *s;
	int rv;

	if (PySys_GetObject("stdin") != our_stdin)
		return 0;
	s = make_stream(STDIN_FILENO, "<stdin>");
	if (s == NULL)
		return -1;
	rv = PySys_SetObject("stdin", s);
	if (rv == 0)
		rv = PySys_SetObject("__stdin__", s);
	our_stdin = s;
	Py_DECREF(s);
	return rv;
}
