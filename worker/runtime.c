#include "config.h"

#include "pycompat.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "afterfork.h"
#include "clock.h"
#include "collect.h"
#include "fdutil.h"
#include "inputs.h"
#include "interp.h"
#include "late_flush.h"
#include "log.h"
#include "mem.h"
#include "policy.h"
#include "prefault.h"
#include "pyend.h"
#include "pyerror.h"
#include "pyjob.h"
#include "pymain.h"
#include "pystdio.h"
#include "runtime.h"
#include "runtime_private.h"
#include "sandbox.h"
#include "sandbox_rlimit.h"
#include "sandbox_trap.h"
#include "scale.h"
#include "source.h"
#include "stdin_feed.h"
#include "syscall_filter.h"
#include "workerio.h"
#include "zygote_fds.h"
#include "zygote_jail.h"

/* Room for a program in a file system that workers share, in bytes. */
#define PROGRAM_RESERVE	(64 * 1024)
/* Exit status of a worker that could not be prepared or got no sane job. */
#define STATUS_INTERNAL	124

static char	program[SANDBOX_PATH_MAX + sizeof PROGRAM_NAME + 1];
static int	program_fd = -1;	/* of the file there, */
static int	reserved;	/* which has room that it does not need */
static int	is_settled;	/* what all share was made in the zygote */

int
runtime_init(void)
{
	if (afterfork_init() == -1 || pystdio_init() == -1 ||
	    late_flush_init() == -1 || pymain_init() == -1 ||
	    pyjob_init() == -1 || pyend_init() == -1 ||
	    runtime_rehearse_init() == -1)
		return -1;
	return policy_init();
}

/* Before a job has been read: nothing but the log hears of it. */
void
runtime_leave(const char *what)
{
	char *why = interp_take_error();

	log_warnx("worker cannot be prepared: %s: %s", what, why);
	_exit(STATUS_INTERNAL);
}

/*
 * Makes the file of the program to come, and keeps it open: to find it by
 * its name takes longer than to write it.  Where all workers share one file
 * system, it also takes the room that most programs need: another job may
 * have used up the rest by the time that this one starts.
 */
static int
reserve_program(int shared)
{
	program_fd = open(program, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    0600);
	if (program_fd == -1)
		return -1;
	reserved = shared &&
	    fallocate(program_fd, 0, 0, PROGRAM_RESERVE) == 0;
	return 0;
}

static int
write_program(struct slice text)
{
	struct stat st;
	int rv;

	/* A file that came with the job may have taken its place. */
	if (fstat(program_fd, &st) == -1 || st.st_nlink == 0) {
		fd_close(&program_fd);
		program_fd = open(program, O_WRONLY | O_TRUNC | O_CLOEXEC);
	}
	rv = fd_write_all(program_fd, text.data, text.len);
	if (rv == 0 && reserved)
		rv = ftruncate(program_fd, text.len);
	fd_close(&program_fd);
	return rv;
}

/* What depends on where the program's files are. */
static int
make_main(const char *scratch)
{
	PyObject *res = interp_call("job", "prepare", "(s)", scratch);

	if (res != NULL) {
		Py_DECREF(res);
		res = interp_call("figures", "begin", "(s)", scratch);
	}
	Py_XDECREF(res);
	snprintf(program, sizeof program, "%s/" PROGRAM_NAME, scratch);
	return res == NULL || pymain_make(program) == NULL ? -1 : 0;
}

/* Runs what every job runs: in the zygote for what it builds, in a worker
 * for the pages that it touches. */
static void
run_trial(void)
{
	pyjob_trial(program);
	pyend_trial();
}

/* Standard streams of a worker's kind at descriptors 0 to 2. */
static int
open_pipes(void)
{
	int pair[2], i;

	for (i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
		if (pipe2(pair, O_CLOEXEC) == -1 ||
		    dup2(pair[i != STDIN_FILENO], i) == -1)
			return -1;
		close(pair[0]);
		close(pair[1]);
	}
	return 0;
}

static int
make_all(const char *scratch)
{
	if (pystdio_make() == -1)
		return -1;
	if (scratch != NULL && make_main(scratch) == -1)
		return -1;
	is_settled = scratch != NULL;
	run_trial();
	return 0;
}

int
runtime_settle(pid_t tid, const char *scratch)
{
	int kept[3], i, rv = -1;

	if (afterfork_settle(tid) == -1)
		return -1;
	for (i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		kept[i] = fcntl(i, F_DUPFD_CLOEXEC, ZYGOTE_FD_RESERVED);
	if (open_pipes() == -1)
		PyErr_SetFromErrno(PyExc_OSError);
	else
		rv = make_all(scratch);
	for (i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
		dup2(kept[i], i);
		close(kept[i]);
	}
	return rv;
}

void
runtime_prepare(const struct sandbox *s)
{
	if (afterfork_worker() == -1)
		runtime_leave("random numbers");
	if (!is_settled && make_main(s->scratch) == -1)
		runtime_leave("__main__");
	if (reserve_program(!(s->jail->layers & JAIL_BIT(JAIL_MOUNT))) == -1)
		runtime_leave("file of the program");
	if (stdin_feed_prepare() == -1)
		runtime_leave("standard input");
	/* A session is there for long, and should be small. */
	if (s->session) {
		fd_close(&program_fd);
		return;
	}
	pyerror_keep_reserve();
	scale_begin(0, 0);
	run_trial();
	/* There is nothing yet to collect: this only warms the way. */
	collect_init(s->scratch, program);
	collect_send();
	if (s->jail->layers & JAIL_BIT(JAIL_MOUNT))
		collect_expect_nothing();
}

const char *
runtime_program_path(void)
{
	return program;
}

void
runtime_rehearse_prepare(void)
{
	if (afterfork_worker() == -1 ||
	    (!is_settled && make_main("/nonexistent") == -1))
		runtime_leave("a rehearsal");
	pyerror_keep_reserve();
	run_trial();
}

void
runtime_ended(int sig)
{
	workerio_signalled(sig);
	_exit(128 + sig);
}

/* User and system time of this process.  Its CPU clock would be coarser:
 * under RLIMIT_CPU the kernel moves that only at ticks. */
uint64_t
runtime_cpu_us(struct rusage *ru)
{
	if (getrusage(RUSAGE_SELF, ru) == -1)
		return 0;
	return (ru->ru_utime.tv_sec + ru->ru_stime.tv_sec) * 1000000ULL +
	    ru->ru_utime.tv_usec + ru->ru_stime.tv_usec;
}

void
runtime_send_done(const struct pyjob *job, uint64_t cpu_start,
    uint64_t files_left)
{
	struct msg_DONE m = { .exit_code = job->status,
	    .exited = job->exited, .files_left = files_left };
	struct rusage ru = { 0 };
	int refused = sandbox_trap_last();

	if (refused != -1)
		m.denied = slice_of(syscall_name(refused));
	m.cpu_us = runtime_cpu_us(&ru) - cpu_start;
	m.peak_kib = ru.ru_maxrss;
	workerio_DONE(&m);
}

/* Ends a job that did not get as far as Python. */
int
runtime_refuse(const char *type, const char *message)
{
	struct msg_EXCEPTION m = { .line = 0 };

	m.type = slice_of(type);
	m.message = slice_of(message);
	m.traceback = slice_of("");
	workerio_EXCEPTION(&m);
	return 1;
}

/* Leaves as the program ended: plain CPython dies of SIGINT after an
 * uncaught KeyboardInterrupt, and a forked child of the program may have a
 * parent that looks at how it ended. */
void
runtime_leave_as(const struct pyjob *job)
{
	if (job->interrupted) {
		signal(SIGINT, SIG_DFL);
		kill(getpid(), SIGINT);
	}
	_exit(job->status);
}

int
runtime_restrict(const struct pyjob *job, char **why)
{
	PyObject *mod = PyImport_AddModule("__main__");

	return policy_restrict(PyModule_GetDict(mod), job->source, why);
}

static void
run_job(const struct msg_JOB *msg, const char *scratch, struct pyjob *job)
{
	struct rusage ru;
	uint64_t cpu_start = runtime_cpu_us(&ru);
	char *text = xmemdupz(msg->code.data, msg->code.len), *why;
	const char *trouble = inputs_trouble();
	uint64_t left = 0;

	source_strip_fence(text, msg->code.len);
	job->source.data = text;
	job->source.len = msg->code.len;
	if (msg->policy != POLICY_ISOLATED && runtime_restrict(job, &why) ==
	    -1)
		job->status = runtime_refuse("PolicyError", why);
	else if (trouble != NULL)
		job->status = runtime_refuse("OSError", trouble);
	else if (write_program(job->source) == -1)
		job->status = runtime_refuse("OSError", "the code cannot be "
		    "written to the scratch directory; is limits.scratch smaller "
		    "than the code?");
	else if (stdin_feed_give(msg->stdin_data) == -1)
		job->status = runtime_refuse("OSError", "standard input is "
		    "larger than limits.scratch allows.");
	else {
		sandbox_trap_forget();
		collect_init(scratch, program);
		collect_bounds(msg->files_max, msg->files_bytes);
		pyjob_run(job);
		pyend_run(job);
		left = collect_send();
	}
	runtime_send_done(job, cpu_start, left);
}

/* adderd has nothing better to do: see prefault.h. */
static void
prefault(const struct msg_PREFAULT *m)
{
	struct msg_PREFAULTED done;

	done.copied = prefault_step(m->pages, workerio_has_input);
	done.more = prefault_has_more();
	/* The caches hold what was copied: a job will want its own there. */
	if (!done.more && !workerio_has_input())
		run_trial();
	workerio_PREFAULTED(&done);
}

static const struct workerio_before before_job = { inputs_place, prefault };

void
runtime_main(const struct sandbox *s, uint64_t fork_us)
{
	struct msg_PARKED parked;
	struct pyjob py = { .path = program };
	struct msg_JOB job;
	char *buf;

	log_init("adder-worker", log_get_level());
	parked.confine_us = clock_us();
	if (sandbox_enter(s) == -1)
		_exit(WORKER_EXIT_SANDBOX);
	parked.confine_us = clock_us() - parked.confine_us;
	workerio_init();
	runtime_prepare(s);
	inputs_init(s->scratch);
	parked.prepare_us = clock_us() - fork_us;
	if (workerio_PARKED(&parked) == -1 ||
	    workerio_read_job(&job, &buf, &before_job) == -1)
		_exit(0);
	if (rlimit_lower(&s->limits, &job.limits, s->base_as) == -1)
		runtime_leave("limits of the job");
	if (job.live)
		pystdio_live();
	scale_begin(job.image_side, job.image_bytes);
	late_flush_arm(job.limits.timeout_ms);
	run_job(&job, s->scratch, &py);
	workerio_wait_end();
	runtime_leave_as(&py);
}
