#include "config.h"

#include "pycompat.h"

#include "interps.h"

/* One that is not the first, or NULL. */
static PyInterpreterState *
find_other(void)
{
	PyInterpreterState *at = PyInterpreterState_Head();

	return at == PyInterpreterState_Main() ?
	    PyInterpreterState_Next(at) : at;
}

/* With no thread state attached, before and after. */
static void
end_one(PyInterpreterState *interp)
{
	PyThreadState *ts = PyInterpreterState_ThreadHead(interp);

	/* What it was doing last is no state to end it from. */
	if (ts != NULL) {
		PyThreadState_Swap(ts);
		PyThreadState_Clear(ts);
		PyThreadState_Swap(NULL);
		PyThreadState_Delete(ts);
	}
	ts = PyThreadState_New(interp);
	PyThreadState_Swap(ts);
	Py_EndInterpreter(ts);
}

void
interps_end(void)
{
	PyInterpreterState *other = PY_ENDS_INTERPRETERS ? find_other() :
	    NULL;
	PyThreadState *own;

	if (other == NULL)
		return;
	/* The module of warnings is gone by then. */
	PySys_WriteStderr("<sys>:0: RuntimeWarning: %s\n",
	    PY_LEFT_INTERPRETERS);
	own = PyThreadState_Swap(NULL);
	for (; other != NULL; other = find_other())
		end_one(other);
	PyThreadState_Swap(own);
}
