#include "config.h"

#include "pycompat.h"

#include <fcntl.h>
#include <unistd.h>

#include "interp.h"
#include "log.h"
#include "prefault.h"
#include "pyend.h"
#include "pyjob.h"
#include "runtime.h"
#include "runtime_private.h"

static PyObject	*programs;	/* list of (bytes, whether it is short) */

int
runtime_rehearse_init(void)
{
	programs = interp_call("rehearsal", "programs", "()");
	return programs != NULL && PyList_Check(programs) ? 0 : -1;
}

/* As in a worker that waits, whose output nobody reads. */
static void
prepare(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC), i;

	for (i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		dup2(fd, i);
	runtime_rehearse_prepare();
}

/* The process is not the owner of a job link, so that no frame is sent. */
static int
rehearse(unsigned i)
{
	PyObject *program = PyList_GET_ITEM(programs, i);
	PyObject *text = PyTuple_GET_ITEM(program, 0);
	int is_short = PyTuple_GET_ITEM(program, 1) == Py_True;
	struct pyjob job = { .path = runtime_program_path() };

	job.source.data = PyBytes_AS_STRING(text);
	job.source.len = PyBytes_GET_SIZE(text);
	pyjob_run(&job);
	pyend_run(&job);
	if (job.status != 0)
		return -1;
	return is_short ? PREFAULT_ALL : PREFAULT_WRITTEN;
}

void
runtime_rehearse(void)
{
	unsigned n = PyList_GET_SIZE(programs);
	struct prefault_counts c;

	if (prefault_record(n, prepare, rehearse, &c) == -1) {
		log_warn("no rehearsals, so that first uses of a library are "
		    "slower (pool.prefault)");
		return;
	}
	log_debug("%u programs rehearsed: %u pages written, %u runs of pages "
	    "read, %u ranges; %u failed", n, c.written, c.read, c.ranges,
	    c.failed);
}
