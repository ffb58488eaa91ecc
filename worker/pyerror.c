#include "config.h"

#include "pycompat.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "interp.h"
#include "pyerror.h"
#include "pyjob.h"
#include "pystdio.h"
#include "workerio.h"

#define RESERVE_BYTES	(16 * 1024 * 1024)
#define FALLBACK_FRAMES	50
#define STATUS_INTERRUPTED 130		/* 128 + SIGINT, as shells say it */

static PyObject	*default_hook;		/* the original sys.excepthook */
static void	*reserve = MAP_FAILED;

int
pyerror_init(void)
{
	default_hook = Py_XNewRef(PySys_GetObject("excepthook"));
	return default_hook == NULL ? -1 : 0;
}

void
pyerror_keep_reserve(void)
{
	reserve = mmap(NULL, RESERVE_BYTES, PROT_NONE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void
release_reserve(void)
{
	if (reserve != MAP_FAILED)
		munmap(reserve, RESERVE_BYTES);
	reserve = MAP_FAILED;
}

/* handle_system_exit() of CPython up to the exit itself. */
static void
system_exit(struct pyjob *job, PyObject *exc)
{
	PyObject *code = PyObject_GetAttrString(exc, "code"), *err;

	fflush(stdout);
	job->exited = 1;
	if (code == NULL) {
		PyErr_Clear();
		code = Py_NewRef(exc);
	}
	if (code == Py_None)
		job->status = 0;
	else if (PyLong_Check(code))
		job->status = (int)PyLong_AsLong(code);
	else {
		err = Py_NewRef(interp_sys("stderr"));
		if (err != Py_None)
			PyFile_WriteObject(code, err, Py_PRINT_RAW);
		else
			PyObject_Print(code, stderr, Py_PRINT_RAW);
		Py_DECREF(err);
		PyErr_Clear();
		PySys_WriteStderr("\n");
		job->status = 1;
	}
	PyErr_Clear();
	Py_DECREF(code);
	job->status &= 0xff;
}

static void
set_last(PyObject *exc, PyObject *tb)
{
	if (PySys_SetObject("last_type", (PyObject *)Py_TYPE(exc)) == -1 ||
	    PySys_SetObject("last_value", exc) == -1 ||
	    PySys_SetObject("last_traceback", tb) == -1 ||
	    py_set_last_exc(exc) == -1)
		PyErr_Clear();
}

static void
display(PyObject *exc)
{
	PyObject *tb = PyException_GetTraceback(exc);

	PyErr_Display((PyObject *)Py_TYPE(exc), exc, tb);
	PyErr_Clear();
	Py_XDECREF(tb);
}

/* The program's own sys.excepthook, with CPython's words if it fails. */
static void
call_hook(struct pyjob *job, PyObject *hook, PyObject *exc, PyObject *tb)
{
	PyObject *res, *second;

	if (hook == Py_None) {
		PySys_WriteStderr("sys.excepthook is missing\n");
		display(exc);
		return;
	}
	res = PyObject_CallFunctionObjArgs(hook, (PyObject *)Py_TYPE(exc), exc,
	    tb, NULL);
	if (res != NULL) {
		Py_DECREF(res);
		return;
	}
	second = py_take_exception();
	if (PyErr_GivenExceptionMatches(second, PyExc_SystemExit))
		system_exit(job, second);
	else {
		PySys_WriteStderr("Error in sys.excepthook:\n");
		display(second);
		PySys_WriteStderr("\nOriginal exception was:\n");
		display(exc);
	}
	Py_DECREF(second);
}

static struct slice
slice_of_str(PyObject *str)
{
	struct slice s = { "", 0 };
	Py_ssize_t len;
	const char *p;

	p = str == NULL ? NULL : PyUnicode_AsUTF8AndSize(str, &len);
	if (p == NULL) {
		PyErr_Clear();
		return s;
	}
	s.data = p;
	s.len = len;
	return s;
}

/* Line n of the program without its indentation. */
static struct slice
source_line(const struct pyjob *job, long n)
{
	const char *p = job->source.data, *end = p + job->source.len, *nl;
	struct slice s = { p, 0 };

	for (; n > 0 && p < end; p = nl + 1, n--) {
		nl = memchr(p, '\n', end - p);
		if (nl == NULL)
			nl = end;
		s.data = p;
		s.len = nl - p;
	}
	while (s.len > 0 && (*s.data == ' ' || *s.data == '\t')) {
		s.data++;
		s.len--;
	}
	return s;
}

/* One entry of the plain traceback below: where, and the source line. */
static int
put_entry(const struct pyjob *job, char *out, size_t room, PyObject *tb,
    uint64_t *line)
{
	PyObject *lineno, *frame;
	PyCodeObject *code;
	int n = 0;

	lineno = PyObject_GetAttrString(tb, "tb_lineno");
	frame = PyObject_GetAttrString(tb, "tb_frame");
	if (lineno != NULL && frame != NULL && PyFrame_Check(frame)) {
		long at = PyLong_AsLong(lineno);
		const char *file, *name;
		struct slice text = { "", 0 };

		code = PyFrame_GetCode((PyFrameObject *)frame);
		file = PyUnicode_AsUTF8(code->co_filename);
		name = PyUnicode_AsUTF8(code->co_name);
		*line = at > 0 ? at : 0;
		if (file != NULL && strcmp(file, job->path) == 0) {
			file = strrchr(file, '/') + 1;
			text = source_line(job, at);
		}
		n = snprintf(out, room, "  File \"%s\", line %ld, in %s\n"
		    "    %.*s\n", file == NULL ? "?" : file, at,
		    name == NULL ? "?" : name, (int)text.len, text.data);
		Py_DECREF(code);
	}
	PyErr_Clear();
	Py_XDECREF(lineno);
	Py_XDECREF(frame);
	return n < 0 || (size_t)n >= room ? 0 : n;
}

/*
 * The last handler, in C and with buffers of its own: for when memory is
 * out or the program has broken what the better report needs.
 */
static void
send_plain_exception(const struct pyjob *job, PyObject *exc)
{
	static char text[16384];
	struct msg_EXCEPTION m = { .line = 0 };
	PyObject *tb, *next, *str;
	size_t at = 0;
	int i;

	at = snprintf(text, sizeof text,
	    "Traceback (most recent call last):\n");
	tb = PyException_GetTraceback(exc);
	for (i = 0; tb != NULL && i < FALLBACK_FRAMES; i++) {
		at += put_entry(job, text + at, sizeof text - at, tb, &m.line);
		next = PyObject_GetAttrString(tb, "tb_next");
		Py_DECREF(tb);
		tb = next == Py_None ? NULL : next;
	}
	str = PyObject_Str(exc);
	m.type = slice_of(Py_TYPE(exc)->tp_name);
	m.message = slice_of_str(str);
	if (m.message.len > KIB)
		m.message.len = KIB;
	at += snprintf(text + at, sizeof text - at, "%s: %.*s\n",
	    m.type.data, (int)m.message.len, m.message.data);
	m.traceback.data = text;
	m.traceback.len = at < sizeof text ? at : sizeof text - 1;
	workerio_EXCEPTION(&m);
	PyErr_Clear();
	Py_XDECREF(str);
	Py_XDECREF(tb);
}

/* A str that can be sent: lone surrogates become escapes. */
static PyObject *
sendable(PyObject *str)
{
	return PyUnicode_AsEncodedString(str, "utf-8", "backslashreplace");
}

static int
send_rendered(PyObject *report, int with_text)
{
	struct msg_EXCEPTION m;
	PyObject *parts[3];
	struct slice *to[3] = { &m.type, &m.message, &m.traceback };
	unsigned long long line;
	int i, rv = 0;

	if (!PyArg_ParseTuple(report, "UUUK", &parts[0], &parts[1], &parts[2],
	    &line))
		return -1;
	for (i = 0; i < 3; i++) {
		parts[i] = sendable(parts[i]);
		if (parts[i] == NULL) {
			rv = -1;
			continue;
		}
		to[i]->data = PyBytes_AS_STRING(parts[i]);
		to[i]->len = PyBytes_GET_SIZE(parts[i]);
	}
	m.line = line;
	if (!with_text)
		m.traceback.len = 0;
	if (rv == 0)
		workerio_EXCEPTION(&m);
	for (i = 0; i < 3; i++)
		Py_XDECREF(parts[i]);
	return rv;
}

static void
send_exception(const struct pyjob *job, PyObject *exc, int with_text)
{
	PyObject *source, *report = NULL;

	source = PyUnicode_DecodeUTF8(job->source.data, job->source.len,
	    "replace");
	if (source != NULL)
		report = interp_call("report", "render", "(OsO)", exc,
		    job->path, source);
	Py_XDECREF(source);
	if (report == NULL || send_rendered(report, with_text) == -1) {
		PyErr_Clear();
		send_plain_exception(job, exc);
	}
	Py_XDECREF(report);
}

static void
report(struct pyjob *job, PyObject *exc)
{
	PyObject *hook = PySys_GetObject("excepthook"), *tb;

	job->status = 1;
	tb = PyException_GetTraceback(exc);
	if (tb == NULL)
		tb = Py_NewRef(Py_None);
	set_last(exc, tb);
	if (hook == default_hook) {
		/* The frame carries the traceback; standard error does only
		 * where the program put an object of its own there, or where
		 * this is a child that it forked. */
		if (!workerio_is_owner() || !pystdio_stderr_is_ours())
			display(exc);
		send_exception(job, exc, 1);
	} else {
		hook = hook == NULL ? Py_None : hook;
		Py_INCREF(hook);
		call_hook(job, hook, exc, tb);
		if (!job->exited)
			/* Whatever was to be seen is on its streams. */
			send_exception(job, exc, 0);
		Py_DECREF(hook);
	}
	Py_DECREF(tb);
}

void
pyerror_handle(struct pyjob *job)
{
	PyObject *exc;

	release_reserve();
	exc = py_take_exception();
	if (exc == NULL) {
		job->status = 1;
		return;
	}
	if (PyErr_GivenExceptionMatches(exc, PyExc_SystemExit))
		system_exit(job, exc);
	else {
		report(job, exc);
		if (PyErr_GivenExceptionMatches(exc, PyExc_KeyboardInterrupt)) {
			job->interrupted = 1;
			job->status = STATUS_INTERRUPTED;
		}
	}
	Py_DECREF(exc);
	PyErr_Clear();
}
