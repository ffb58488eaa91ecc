#include "config.h"

#include "pycompat.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "interp.h"
#include "late_flush.h"

/* Real-time signals have no name in signal.Signals but the first and last:
 * nothing that goes through all names meets this one. */
#define LATE_SIGNAL	(SIGRTMIN + 5)
/* Where glibc has no name for it yet. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id	_sigev_un._tid
#endif
/* How long before the end: an eighth of the time within these bounds, for
 * the server's clock started a little before ours. */
#define MARGIN_MIN_MS	5
#define MARGIN_MAX_MS	100

static PyObject	*handler;	/* what answers LATE_SIGNAL */
static PyObject	*real_getsignal;

/* A program that lists the handlers must not find one that is not its own. */
static PyObject *
hiding_getsignal(PyObject *module, PyObject *signum)
{
	PyObject *found = PyObject_CallOneArg(real_getsignal, signum);

	if (found != handler)
		return found;
	Py_DECREF(found);
	return PyLong_FromVoidPtr((void *)SIG_DFL);
}

static PyMethodDef hiding_def = { "getsignal", hiding_getsignal, METH_O,
    "getsignal($module, signalnum, /)\n--\n\n"
    "Return the current action for the given signal." };

static int
hide_handler(void)
{
	PyObject *module = PyImport_ImportModule("_signal");
	PyObject *name = PyUnicode_FromString("_signal");
	PyObject *hiding = NULL;
	int rv = -1;

	if (module != NULL && name != NULL) {
		real_getsignal = PyObject_GetAttrString(module, "getsignal");
		hiding = PyCFunction_NewEx(&hiding_def, module, name);
	}
	if (real_getsignal != NULL && hiding != NULL)
		rv = PyObject_SetAttrString(module, "getsignal", hiding);
	Py_XDECREF(hiding);
	Py_XDECREF(name);
	Py_XDECREF(module);
	return rv;
}

int
late_flush_init(void)
{
	handler = interp_call("job", "flush_late_on", "(i)", LATE_SIGNAL);
	return handler == NULL ? -1 : hide_handler();
}

static uint64_t
margin(uint64_t timeout_ms)
{
	uint64_t m = timeout_ms / 8;

	if (m < MARGIN_MIN_MS)
		return MARGIN_MIN_MS;
	return m > MARGIN_MAX_MS ? MARGIN_MAX_MS : m;
}

void
late_flush_arm(uint64_t timeout_ms)
{
	struct itimerspec when = { { 0, 0 }, { 0, 0 } };
	struct sigevent ev;
	timer_t timer;
	uint64_t ms;

	if (timeout_ms <= MARGIN_MIN_MS)
		return;
	ms = timeout_ms - margin(timeout_ms);
	when.it_value.tv_sec = ms / 1000;
	when.it_value.tv_nsec = ms % 1000 * 1000000;
	/* To the main thread, which runs Python's handlers and may be the
	 * one that sleeps: timer_create(2), SIGEV_THREAD_ID. */
	memset(&ev, 0, sizeof ev);
	ev.sigev_notify = SIGEV_THREAD_ID;
	ev.sigev_signo = LATE_SIGNAL;
	ev.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &ev, &timer) == 0)
		timer_settime(timer, 0, &when, NULL);
}
