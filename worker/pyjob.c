#include "config.h"

#include "pycompat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interp.h"
#include "mem.h"
#include "pyerror.h"
#include "pyjob.h"
#include "pymain.h"
#include "pystdio.h"
#include "source.h"
#include "tail.h"
#include "workerio.h"

/*
 * Theory of operation.  A program runs as `python3 main.py` runs it: from
 * its file, compiled by the same C functions, evaluated with no frame of
 * ours below (the recursion limit counts frames).  The one addition is the
 * value of a last expression: where the text is ordinary UTF-8, a last
 * statement that is an expression is compiled by itself in "single" mode,
 * which hands its value to sys.displayhook.  Where it begins is guessed from
 * the lines, which is quick (tail.h); where the guess does not hold, the
 * program is parsed to a tree, which makes an object of each node.  Whatever
 * neither way can compile is run from its file in CPython's own way, which
 * also makes the error messages.
 */

#define VALUE_MAX	(256 * 1024)	/* bytes of a repr that are sent */

/* A program ready to run: head, then the last statement by itself; NULL for
 * what there is not. */
struct program {
	PyObject	*head;
	PyObject	*tail;
	int		 is_async;
};

static PyObject	*compile_fn;	/* builtins.compile */
static PyObject	*expr_type, *interactive_type;
static PyObject	*display;	/* our sys.displayhook */
static int	 trial;		/* nothing may be sent */

/* The begin of bytes that are too long, and how much is missing; takes them
 * over.  NULL if there is no memory for it. */
static PyObject *
cut_value(PyObject *bytes)
{
	const char *data = PyBytes_AS_STRING(bytes);
	Py_ssize_t keep = VALUE_MAX;
	PyObject *res;

	/* Not in the middle of a character. */
	while ((data[keep] & 0xc0) == 0x80)
		keep--;
	res = PyBytes_FromStringAndSize(data, keep);
	PyBytes_ConcatAndDel(&res, PyBytes_FromFormat("\n[... %zd bytes of the "
	    "value left out ...]", PyBytes_GET_SIZE(bytes) - keep));
	Py_DECREF(bytes);
	return res;
}

static void
send_value(PyObject *text)
{
	struct msg_VALUE m;
	PyObject *bytes;

	bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
	if (bytes != NULL && PyBytes_GET_SIZE(bytes) > VALUE_MAX)
		bytes = cut_value(bytes);
	if (bytes == NULL) {
		PyErr_Clear();
		return;
	}
	m.text.data = PyBytes_AS_STRING(bytes);
	m.text.len = PyBytes_GET_SIZE(bytes);
	if (!trial)
		workerio_VALUE(&m);
	Py_DECREF(bytes);
}

/* Pictures and markup that an object has of itself.  The types that are made
 * in C, which most values are of, have none. */
static void
show_richly(PyObject *value)
{
	PyObject *res;

	if (trial || !PyType_HasFeature(Py_TYPE(value), Py_TPFLAGS_HEAPTYPE))
		return;
	res = interp_call("rich", "show", "(O)", value);
	Py_XDECREF(res);
	PyErr_Clear();
}

/* Plain Python would not have asked for a repr, so that there is none is no
 * end of the program; why there is none is good to know, though, as for an
 * integer that is longer than str() makes. */
static PyObject *
no_repr(PyObject *value)
{
	PyObject *exc = py_take_exception(), *text = NULL;

	if (exc != NULL)
		text = PyUnicode_FromFormat("<%.200s object whose repr() "
		    "failed: %.200s: %.300S>", Py_TYPE(value)->tp_name,
		    Py_TYPE(exc)->tp_name, exc);
	PyErr_Clear();
	Py_XDECREF(exc);
	return text != NULL ? text : PyUnicode_FromFormat(
	    "<%.200s object whose repr() failed>", Py_TYPE(value)->tp_name);
}

/* Stands in for sys.displayhook while the last expression is evaluated. */
static PyObject *
display_value(PyObject *self, PyObject *value)
{
	PyObject *text;

	if (value == Py_None)
		Py_RETURN_NONE;
	text = PyObject_Repr(value);
	if (text == NULL)
		text = no_repr(value);
	if (text != NULL)
		send_value(text);
	PyErr_Clear();
	Py_XDECREF(text);
	show_richly(value);
	Py_RETURN_NONE;
}

static PyMethodDef display_def = { "displayhook", display_value, METH_O,
    NULL };

int
pyjob_init(void)
{
	PyObject *ast = PyImport_ImportModule("_ast");
	PyObject *builtins = PyImport_ImportModule("builtins");

	if (ast == NULL || builtins == NULL)
		return -1;
	compile_fn = PyObject_GetAttrString(builtins, "compile");
	expr_type = PyObject_GetAttrString(ast, "Expr");
	interactive_type = PyObject_GetAttrString(ast, "Interactive");
	display = PyCFunction_New(&display_def, NULL);
	Py_DECREF(ast);
	Py_DECREF(builtins);
	return compile_fn == NULL || expr_type == NULL ||
	    interactive_type == NULL || display == NULL ? -1 : pyerror_init();
}

/* Where the text begins, after a byte order mark. */
static const char *
text_of(const struct pyjob *job)
{
	return job->source.data + source_bom(job->source.data,
	    job->source.len);
}

static PyObject *
compile_text(const struct pyjob *job, const char *text, int start, int how)
{
	PyCompilerFlags flags = _PyCompilerFlags_INIT;
	PyObject *name, *res;

	flags.cf_flags = PyCF_IGNORE_COOKIE | how;
	name = PyUnicode_DecodeFSDefault(job->path);
	if (name == NULL)
		return NULL;
	res = Py_CompileStringObject(text, name, start, &flags, -1);
	Py_DECREF(name);
	return res;
}

/* The text from at on, with its line numbers. */
static char *
text_from(const char *text, size_t len, size_t at)
{
	size_t i, lines = 0;
	char *out;

	for (i = 0; i < at; i++)
		lines += text[i] == '\n';
	out = xmalloc(lines + len - at + 1);
	memset(out, '\n', lines);
	memcpy(out + lines, text + at, len - at);
	out[lines + len - at] = '\0';
	return out;
}

/* By the guess of where the last statement begins; -1, maybe with an
 * exception, if it does not hold. */
static int
compile_split(const struct pyjob *job, struct program *p)
{
	const char *text = text_of(job);
	size_t at, len = job->source.len - (text - job->source.data);
	enum tail_kind kind = tail_find(text, len, &at);
	char *part;

	p->head = p->tail = NULL;
	if (kind == TAIL_UNKNOWN)
		return -1;
	part = text_from(text, len, at);
	p->tail = compile_text(job, part, kind == TAIL_SIMPLE ?
	    Py_single_input : Py_file_input, 0);
	free(part);
	if (p->tail == NULL || at == 0)
		return p->tail == NULL ? -1 : 0;
	part = xmemdupz(text, at);
	p->head = compile_text(job, part, Py_file_input, 0);
	free(part);
	if (p->head == NULL)
		Py_CLEAR(p->tail);
	return p->head == NULL ? -1 : 0;
}

/* Takes a last statement that is an expression out of the tree, as a tree
 * for "single" mode; NULL without an exception if there is none. */
static PyObject *
take_tail(PyObject *tree)
{
	PyObject *body, *last = NULL, *list, *tail = NULL;
	Py_ssize_t n;

	body = PyObject_GetAttrString(tree, "body");
	n = body == NULL ? -1 : PyList_GET_SIZE(body);
	/* One statement alone may be the docstring. */
	if (n > 0)
		last = Py_NewRef(PyList_GET_ITEM(body, n - 1));
	if (last != NULL && Py_TYPE(last) == (PyTypeObject *)expr_type &&
	    PySequence_DelItem(body, n - 1) == 0) {
		list = Py_BuildValue("[O]", last);
		if (list != NULL)
			tail = PyObject_CallOneArg(interactive_type, list);
		Py_XDECREF(list);
	}
	Py_XDECREF(last);
	Py_XDECREF(body);
	return tail;
}

static PyObject *
compile_tree(const struct pyjob *job, PyObject *tree, const char *mode,
    int flags)
{
	/* compile(tree, path, mode, flags, dont_inherit) */
	return PyObject_CallFunction(compile_fn, "Ossii", tree, job->path,
	    mode, flags, 1);
}

/* What the head imported from __future__ holds for the tail as well. */
static int
future_flags(PyObject *code)
{
	return PyCode_Check(code) ?
	    ((PyCodeObject *)code)->co_flags & PyCF_MASK : 0;
}

static int
compile_with(const struct pyjob *job, int flags, struct program *p)
{
	PyObject *tree, *tail;

	p->head = p->tail = NULL;
	tree = compile_text(job, text_of(job), Py_file_input, PyCF_ONLY_AST);
	if (tree == NULL)
		return -1;
	tail = take_tail(tree);
	p->head = compile_tree(job, tree, "exec", flags);
	if (p->head != NULL && tail != NULL)
		p->tail = compile_tree(job, tail, "single",
		    flags | future_flags(p->head));
	Py_DECREF(tree);
	if (p->head == NULL || PyErr_Occurred()) {
		Py_XDECREF(tail);
		Py_CLEAR(p->head);
		return -1;
	}
	Py_XDECREF(tail);
	return 0;
}

/* -1 without an exception: the program has to run from its file. */
static int
prepare(const struct pyjob *job, struct program *p)
{
	PyObject *text;

	p->is_async = 0;
	if (!source_is_plain(job->source.data, job->source.len))
		return -1;
	text = PyUnicode_DecodeUTF8(job->source.data, job->source.len, NULL);
	if (text == NULL) {
		PyErr_Clear();
		return -1;
	}
	Py_DECREF(text);
	if (compile_split(job, p) == 0)
		return 0;
	PyErr_Clear();
	if (compile_with(job, 0, p) == 0)
		return 0;
	if (PyErr_ExceptionMatches(PyExc_SyntaxError)) {
		PyErr_Clear();
		/* Code for notebooks awaits outside of functions. */
		p->is_async = 1;
		if (compile_with(job, PyCF_ALLOW_TOP_LEVEL_AWAIT, p) == 0)
			return 0;
	}
	PyErr_Clear();
	return -1;
}

/* CPython's own way, for text that is not plain UTF-8 and for errors. */
static PyObject *
run_file(const struct pyjob *job, PyObject *ns)
{
	PyCompilerFlags flags = _PyCompilerFlags_INIT;
	FILE *fp = fopen(job->path, "rbe");

	if (fp == NULL)
		return PyErr_SetFromErrnoWithFilename(PyExc_OSError, job->path);
	return PyRun_FileExFlags(fp, job->path, Py_file_input, ns, ns, 1,
	    &flags);
}

/* Puts our display hook in place; the one before it, a new reference. */
static PyObject *
hook_begin(void)
{
	PyObject *before = Py_NewRef(interp_sys("displayhook"));

	if (PySys_SetObject("displayhook", display) == -1)
		PyErr_Clear();
	return before;
}

/* Takes it back, unless the program has set its own meanwhile; a pending
 * exception stays pending. */
static void
hook_end(PyObject *before)
{
	PyObject *exc = py_take_exception();

	if (PySys_GetObject("displayhook") == display &&
	    PySys_SetObject("displayhook", before) == -1)
		PyErr_Clear();
	Py_DECREF(before);
	if (exc != NULL)
		py_raise(exc);
}

static PyObject *
run_async(const struct program *p, PyObject *ns)
{
	PyObject *codes, *res, *before;

	codes = p->tail == NULL ? Py_BuildValue("(O)", p->head) :
	    Py_BuildValue("(OO)", p->head, p->tail);
	if (codes == NULL)
		return NULL;
	before = hook_begin();
	res = interp_call("job", "run_async", "(NO)", codes, ns);
	hook_end(before);
	return res;
}

static PyObject *
run_program(const struct program *p, PyObject *ns)
{
	PyObject *res, *before;

	if (p->is_async)
		return run_async(p, ns);
	if (p->head != NULL) {
		res = PyEval_EvalCode(p->head, ns, ns);
		if (res == NULL || p->tail == NULL)
			return res;
		Py_DECREF(res);
	}
	before = hook_begin();
	res = PyEval_EvalCode(p->tail, ns, ns);
	hook_end(before);
	return res;
}

static PyObject *
run(const struct pyjob *job, PyObject *ns)
{
	struct program p;
	PyObject *res;

	if (prepare(job, &p) == -1)
		return run_file(job, ns);
	res = run_program(&p, ns);
	Py_XDECREF(p.head);
	Py_XDECREF(p.tail);
	return res;
}

void
pyjob_run(struct pyjob *job)
{
	PyObject *mod = PyImport_AddModule("__main__"), *ns, *res;

	if (mod == NULL) {
		pyerror_handle(job);
		return;
	}
	ns = Py_NewRef(PyModule_GetDict(mod));
	res = run(job, ns);
	pystdio_flush_quietly();
	if (res == NULL)
		pyerror_handle(job);
	Py_XDECREF(res);
	if (!job->session)
		pymain_unname(ns);
	Py_DECREF(ns);
}

void
pyjob_trial(const char *path)
{
	struct pyjob job = { .path = path };
	PyObject *ns, *res = NULL;

	/* Writes nothing, and shows a value so that this way is warm too. */
	job.source = slice_of("import sys\n"
	    "def f(n):\n\treturn [str(i * 1.5) for i in range(n)]\n"
	    "print('', sum(range(100)) and '', sep='', end='')\n"
	    "sys.stdout.buffer.raw.write(b'')\n"
	    "f(3)\n");
	trial = 1;
	ns = Py_BuildValue("{s:s,s:O}", "__name__", "__trial__",
	    "__builtins__", PyEval_GetBuiltins());
	if (ns != NULL)
		res = run(&job, ns);
	pystdio_flush_quietly();
	Py_XDECREF(res);
	Py_XDECREF(ns);
	PyErr_Clear();
	trial = 0;
}
