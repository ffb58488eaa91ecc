#include "config.h"

#include "pycompat.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clock.h"
#include "collect.h"
#include "fdutil.h"
#include "inputs.h"
#include "late_flush.h"
#include "leader.h"
#include "log.h"
#include "mem.h"
#include "policy.h"
#include "proto.h"
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
#include "workerio.h"

static const struct workerio_before before_call = { inputs_place, NULL };

/*
 * Each call's program has a file of its own, main-N.py, so that tracebacks
 * through functions of earlier calls show their lines.  So many are left.
 */
#define FILES_KEPT	32

static char *
program_path(const struct sandbox *s, uint64_t call)
{
	char *path;

	xasprintf(&path, "%s/main-%llu.py", s->scratch,
	    (unsigned long long)call);
	return path;
}

/* Where there is no room for it, the program is run all the same: it may be
 * about to make some.  Only lines in tracebacks are missing then. */
static void
write_program(const struct sandbox *s, uint64_t call, const struct pyjob *job)
{
	char *old;
	int fd, rv;

	if (call > FILES_KEPT) {
		old = program_path(s, call - FILES_KEPT);
		unlink(old);
		free(old);
	}
	unlink(job->path);
	fd = open(job->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd == -1)
		return;
	rv = fd_write_all(fd, job->source.data, job->source.len);
	if (rv == -1)
		unlink(job->path);
	close(fd);
}

/* 0, or the exit status of a job that was refused. */
static int
prepare_program(const struct sandbox *s, const struct msg_JOB *msg,
    uint64_t call, const struct pyjob *job)
{
	const char *trouble = inputs_trouble();
	char *why;

	policy_arm(0);
	if (msg->policy != POLICY_ISOLATED && runtime_restrict(job, &why) ==
	    -1)
		return runtime_refuse("PolicyError", why);
	if (trouble != NULL)
		return runtime_refuse("OSError", trouble);
	write_program(s, call, job);
	if (stdin_feed_give(msg->stdin_data) == -1)
		return runtime_refuse("OSError", "standard input is larger "
		    "than limits.scratch allows.");
	return 0;
}

static void
run_job(const struct sandbox *s, const struct msg_JOB *msg, uint64_t call)
{
	struct pyjob job = { .session = 1 };
	char *text = xmemdupz(msg->code.data, msg->code.len);
	char *path = program_path(s, call);
	struct rusage ru;
	uint64_t cpu_start = runtime_cpu_us(&ru), left = 0;

	source_strip_fence(text, msg->code.len);
	job.source = slice_of(text);
	job.source.len = msg->code.len;
	job.path = path;
	job.status = prepare_program(s, msg, call, &job);
	if (job.status == 0) {
		sandbox_trap_forget();
		collect_init(s->scratch, path);
		collect_bounds(msg->files_max, msg->files_bytes);
		pymain_set_file(path);
		pyerror_keep_reserve();
		pyjob_run(&job);
		/* A child that the program has forked ends with it. */
		if (!workerio_is_owner()) {
			pyend_run(&job);
			runtime_leave_as(&job);
		}
		pyend_pause();
		policy_arm(0);
		left = collect_send();
	}
	runtime_send_done(&job, cpu_start, left);
	free(path);
	free(text);
}

/* One call, in the process that keeps what it does. */
static void
session_call(uint64_t call, int in_place, void *arg)
{
	const struct sandbox *s = arg;
	struct msg_JOB job;
	char *buf;

	workerio_init();
	/* What lies there now is from calls before. */
	collect_init(s->scratch, s->scratch);
	collect_remember();
	inputs_init(s->scratch);
	if (workerio_read_job(&job, &buf, &before_call) == -1) {
		if (in_place)
			return;
		_exit(0);
	}
	if (rlimit_cpu_from_now(job.limits.cpu_ms) == -1 ||
	    stdin_feed_prepare() == -1 || pystdio_renew_stdin() == -1)
		runtime_leave("next call of a session");
	if (job.live)
		pystdio_live();
	scale_begin(job.image_side, job.image_bytes);
	late_flush_arm(job.limits.timeout_ms);
	run_job(s, &job, call);
	free(buf);
}

void
runtime_session(const struct sandbox *s, uint64_t fork_us)
{
	struct msg_PARKED parked;

	log_init("adder-session", log_get_level());
	parked.confine_us = clock_us();
	if (sandbox_enter(s) == -1)
		_exit(WORKER_EXIT_SANDBOX);
	parked.confine_us = clock_us() - parked.confine_us;
	workerio_init();
	runtime_prepare(s);
	parked.prepare_us = clock_us() - fork_us;
	leader_serve(s, &parked, session_call, (void *)s);
}
