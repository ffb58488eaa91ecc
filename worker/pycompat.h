#ifndef ADDER_PYCOMPAT_H
#define ADDER_PYCOMPAT_H

/* Python.h must come before any other header. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if PY_VERSION_HEX < 0x030b0000
#error "adder needs CPython 3.11 or later"
#endif

/* The pending exception as one normalised object (a new reference) with its
 * traceback set, or NULL; afterwards none is pending. */
static inline PyObject *
py_take_exception(void)
{
#if PY_VERSION_HEX >= 0x030c0000
	return PyErr_GetRaisedException();
#else
	PyObject *type, *value, *tb;

	PyErr_Fetch(&type, &value, &tb);
	if (type == NULL)
		return NULL;
	PyErr_NormalizeException(&type, &value, &tb);
	if (tb != NULL && value != NULL)
		PyException_SetTraceback(value, tb);
	Py_XDECREF(tb);
	Py_DECREF(type);
	return value;
#endif
}

/* What a weak reference refers to (a new reference), or None. */
static inline PyObject *
py_weakref_get(PyObject *ref)
{
#if PY_VERSION_HEX >= 0x030d0000
	PyObject *obj = NULL;

	if (PyWeakref_GetRef(ref, &obj) == -1)
		PyErr_Clear();
	return obj != NULL ? obj : Py_NewRef(Py_None);
#else
	return Py_NewRef(PyWeakref_GetObject(ref));
#endif
}

/* Whether no thread is left that threading._shutdown() would wait for; dict
 * is the module's. */
static inline int
py_threads_are_over(PyObject *dict)
{
#if PY_VERSION_HEX >= 0x030d0000
	PyThreadState *ts =
	    PyInterpreterState_ThreadHead(PyInterpreterState_Get());

	return ts != NULL && PyThreadState_Next(ts) == NULL;
#else
	/* Made anew in each fork, without the main thread's own. */
	PyObject *locks = PyDict_GetItemString(dict, "_shutdown_locks");

	return locks != NULL && PyAnySet_Check(locks) &&
	    PySet_GET_SIZE(locks) == 0;
#endif
}

/* What CPython says when its last flush of standard output fails. */
#if PY_VERSION_HEX >= 0x030e0000
#define PY_IN_FLUSH	"while flushing sys.stdout"
#else
#define PY_IN_FLUSH	"on flushing sys.stdout"
#endif

/* Whether CPython ends interpreters that are left at its end, and what it
 * says then. */
#if PY_VERSION_HEX >= 0x030e0000
#define PY_ENDS_INTERPRETERS	1
#define PY_LEFT_INTERPRETERS \
	"remaining subinterpreters; close them with Interpreter.close()"
#elif PY_VERSION_HEX >= 0x030d0000
#define PY_ENDS_INTERPRETERS	1
#define PY_LEFT_INTERPRETERS "remaining subinterpreters; " \
	"destroy them with _interpreters.destroy()"
#else
#define PY_ENDS_INTERPRETERS	0
#define PY_LEFT_INTERPRETERS	""
#endif

/* The exception for what CPython refuses at its end, to start threads and
 * processes; NULL where it does not. */
#if PY_VERSION_HEX >= 0x030d0000
#define PY_EXC_AT_END	PyExc_PythonFinalizationError
#elif PY_VERSION_HEX >= 0x030c0000
#define PY_EXC_AT_END	PyExc_RuntimeError
#else
#define PY_EXC_AT_END	NULL
#endif

/* Reports the pending exception to sys.unraisablehook, with the words that
 * this version of CPython has for it: about obj, or saying where. */
static inline void
py_unraisable(const char *where, PyObject *obj)
{
#if PY_VERSION_HEX >= 0x030d0000
	PyErr_FormatUnraisable("Exception ignored %s", where);
#else
	PyErr_WriteUnraisable(obj);
#endif
}

/* sys.last_exc, where there is such a thing; -1 with an exception. */
static inline int
py_set_last_exc(PyObject *exc)
{
#if PY_VERSION_HEX >= 0x030c0000
	return PySys_SetObject("last_exc", exc);
#else
	return 0;
#endif
}

/* Makes exc (stolen) the pending exception. */
static inline void
py_raise(PyObject *exc)
{
#if PY_VERSION_HEX >= 0x030c0000
	PyErr_SetRaisedException(exc);
#else
	PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(exc)), exc,
	    PyException_GetTraceback(exc));
#endif
}

#endif
