#include "config.h"

#include "pycompat.h"

#include <errno.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "afterfork.h"
#include "interp.h"

/* State of the Mersenne Twister in NumPy's C code (mt19937.h). */
struct mt19937 {
	uint32_t	key[624];
	int		pos;
};

static PyObject		*hooks;		/* list, in order */
static PyObject		*generators;	/* list of random.Random */
static PyObject		*seed;		/* _random.Random.seed */
static PyObject		*main_thread;	/* NULL without threading */
static struct mt19937	*numpy_state;	/* NULL if it is not known */
static pid_t		 thread_id;	/* that main_thread has */

static PyObject *
find_seed(void)
{
	PyObject *mod = PyImport_ImportModule("_random"), *type, *fn;

	type = mod == NULL ? NULL : PyObject_GetAttrString(mod, "Random");
	fn = type == NULL ? NULL : PyObject_GetAttrString(type, "seed");
	Py_XDECREF(type);
	Py_XDECREF(mod);
	return fn;
}

static void
find_main_thread(void)
{
	PyObject *mod = PyDict_GetItemString(PyImport_GetModuleDict(),
	    "threading");

	if (mod != NULL)
		main_thread = PyObject_GetAttrString(mod, "_main_thread");
	PyErr_Clear();
}

static int
find_numpy_state(void)
{
	PyObject *address = interp_call("afterfork", "numpy_state", "()");

	if (address == NULL)
		return -1;
	numpy_state = PyLong_AsVoidPtr(address);
	Py_DECREF(address);
	return PyErr_Occurred() ? -1 : 0;
}

int
afterfork_init(void)
{
	if (find_numpy_state() == -1)
		return -1;
	hooks = interp_call("afterfork", "hooks", "()");
	generators = interp_call("afterfork", "generators", "()");
	seed = find_seed();
	return hooks == NULL || !PyList_Check(hooks) || generators == NULL ||
	    !PyList_Check(generators) || seed == NULL ? -1 : 0;
}

static int
set_thread_id(pid_t tid)
{
	PyObject *value;
	int rv;

	thread_id = tid;
	PyThreadState_Get()->native_thread_id = (unsigned long)tid;
	if (main_thread == NULL)
		return 0;
	value = PyLong_FromLong(tid);
	rv = value == NULL ? -1 :
	    PyObject_SetAttrString(main_thread, "_native_id", value);
	Py_XDECREF(value);
	return rv;
}

int
afterfork_settle(pid_t tid)
{
	/* As a fork would: the first takes locks that the second makes
	 * anew. */
	PyOS_BeforeFork();
	PyOS_AfterFork_Child();
	find_main_thread();
	return tid == 0 ? 0 : set_thread_id(tid);
}

/* A state of random bytes is as good as a seeded one. */
static int
seed_numpy(void)
{
	size_t done = 0;
	ssize_t n;

	if (numpy_state == NULL)
		return 0;
	while (done < sizeof numpy_state->key) {
		n = getrandom((char *)numpy_state->key + done,
		    sizeof numpy_state->key - done, 0);
		if (n == -1 && errno != EINTR) {
			PyErr_SetFromErrno(PyExc_OSError);
			return -1;
		}
		done += n > 0 ? n : 0;
	}
	numpy_state->pos = 624;
	return 0;
}

static int
seed_all(void)
{
	PyObject *res;
	Py_ssize_t i;

	for (i = 0; i < PyList_GET_SIZE(generators); i++) {
		res = PyObject_CallOneArg(seed,
		    PyList_GET_ITEM(generators, i));
		if (res == NULL)
			return -1;
		Py_DECREF(res);
	}
	return seed_numpy();
}

static void
call_hooks(void)
{
	PyObject *hook, *res;
	Py_ssize_t i;

	for (i = 0; i < PyList_GET_SIZE(hooks); i++) {
		hook = PyList_GET_ITEM(hooks, i);
		res = PyObject_CallNoArgs(hook);
		if (res == NULL)
			PyErr_WriteUnraisable(hook);
		Py_XDECREF(res);
	}
}

int
afterfork_worker(void)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	if (tid != thread_id && set_thread_id(tid) == -1)
		return -1;
	call_hooks();
	return seed_all();
}
