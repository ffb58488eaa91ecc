#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "conf.h"
#include "job_record.h"
#include "job_verdict.h"
#include "mem.h"
#include "module_names.h"
#include "units.h"

/* Longest name of a module that is repeated. */
#define MODULE_MAX	64

/* How the policy says it of an effect (worker/policy.c). */
#define POLICY_REFUSES	"policy restricted refuses "

/* How Python says that a limit was met. */
static const struct {
	const char	*type;
	const char	*message;	/* how it begins */
	enum verdict	 verdict;
} by_message[] = {
	{ "OSError", "[Errno 28]", VERDICT_FILES },		/* ENOSPC */
	{ "OSError", "[Errno 27]", VERDICT_FILES },		/* EFBIG */
	{ "OSError", "[Errno 122]", VERDICT_FILES },		/* EDQUOT */
	{ "RuntimeError", "can't start new thread", VERDICT_PIDS },
	{ "BlockingIOError", "[Errno 11]", VERDICT_PIDS },	/* fork(2) */
};

/* Found by the policy in the program before it ran; one that the program
 * raises has a traceback. */
static int
is_policy_error(const struct job *job)
{
	const struct job_result *r = &job->result;

	return job->spec.policy != POLICY_ISOLATED && r->exc_type != NULL &&
	    strcmp(r->exc_type, "PolicyError") == 0 &&
	    (r->traceback == NULL || r->traceback[0] == '\0');
}

/* Or by its effect. */
static int
is_refused_effect(const struct job *job)
{
	const struct job_result *r = &job->result;

	return job->spec.policy != POLICY_ISOLATED && r->exc_type != NULL &&
	    strcmp(r->exc_type, "PermissionError") == 0 &&
	    strncmp(r->exc_message, POLICY_REFUSES,
	    sizeof POLICY_REFUSES - 1) == 0;
}

static enum verdict
judge_exception(const struct job *job)
{
	const struct job_result *r = &job->result;
	size_t len = strlen(r->exc_type), tail = strlen("MemoryError"), i;

	/* numpy raises one of its own. */
	if (len >= tail && strcmp(r->exc_type + len - tail, "MemoryError") ==
	    0)
		return VERDICT_MEMORY;
	if (is_policy_error(job) || is_refused_effect(job))
		return VERDICT_DENIED;
	if (r->denied != NULL && strcmp(r->exc_type, "PermissionError") == 0)
		return VERDICT_DENIED;
	for (i = 0; i < sizeof by_message / sizeof by_message[0]; i++)
		if (strcmp(r->exc_type, by_message[i].type) == 0 &&
		    strncmp(r->exc_message, by_message[i].message,
		    strlen(by_message[i].message)) == 0)
			return by_message[i].verdict;
	return VERDICT_EXCEPTION;
}

static enum verdict
judge_signal(const struct job *job, int sig, int oom)
{
	const struct limits *lim = &job->spec.limits;

	if (sig == SIGXCPU)
		return VERDICT_CPU;
	if (sig == SIGKILL && oom)
		return VERDICT_MEMORY;
	/* As pid 1 of its namespace it does not get SIGXCPU, but SIGKILL at
	 * the hard limit a second later. */
	if (sig == SIGKILL && lim->cpu_ms != 0 &&
	    job->result.cpu_us >= lim->cpu_ms * 1000)
		return VERDICT_CPU;
	if (sig == SIGSYS)
		return VERDICT_DENIED;
	return VERDICT_SIGNAL;
}

enum verdict
job_judge(struct job *job, int status, int oom)
{
	struct job_result *r = &job->result;

	if (job->condemned)
		return job->condemned_as;
	if (job->has_done && job->done_signal != 0) {
		r->signal = job->done_signal;
		return judge_signal(job, r->signal, 0);
	}
	if (job->has_done)
		r->exit_code = job->done_exit_code;
	else if (status == -1)
		return VERDICT_LOST;
	else if (WIFSIGNALED(status)) {
		r->signal = WTERMSIG(status);
		return judge_signal(job, r->signal, oom);
	} else
		r->exit_code = WEXITSTATUS(status);
	if (r->exc_type != NULL)
		return judge_exception(job);
	return r->exit_code == 0 ? VERDICT_OK : VERDICT_EXIT;
}

static char *
say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static char *
say(const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	xvasprintf(&s, fmt, ap);
	va_end(ap);
	return s;
}

static char *
reason_timeout(const struct job *job)
{
	char limit[32], most[32];

	duration_text(job->spec.limits.timeout_ms, limit, sizeof limit);
	duration_text(job->conf->limits_timeout_max, most, sizeof most);
	return say("The program was stopped at its time limit of %s; make it "
	    "do less, or ask for a longer timeout (at most %s).", limit,
	    most);
}

static char *
reason_cpu(const struct job *job)
{
	char limit[32];

	duration_text(job->spec.limits.cpu_ms, limit, sizeof limit);
	return say("The program was stopped after %s of CPU time, its limit; "
	    "make it do less.", limit);
}

static char *
reason_memory(const struct job *job)
{
	char limit[32], all[32];

	size_text(job->spec.limits.memory, limit, sizeof limit);
	size_text(job->spec.limits.memory * LIMIT_SESSION_MEMORY, all,
	    sizeof all);
	if (job->spec.session[0] != '\0')
		return say("The program needed more memory than its session "
		    "may have, %s with the variables that it would be rolled "
		    "back to (%s a process where no control group counts it; "
		    "peak %llu KiB resident); work on smaller pieces of "
		    "data, or delete variables.", all, limit,
		    (unsigned long long)job->result.peak_kib);
	return say("The program needed more memory than its limit of %s "
	    "(peak %llu KiB resident); work on smaller pieces of data.",
	    limit, (unsigned long long)job->result.peak_kib);
}

static char *
reason_output(const struct job *job)
{
	char limit[32];

	size_text(job->conf->limits_output_kill, limit, sizeof limit);
	return say("The program was stopped because it had written %llu bytes "
	    "of output, more than the limit of %s; print less.",
	    (unsigned long long)(job->capture[JOB_STDOUT].total +
	    job->capture[JOB_STDERR].total), limit);
}

static char *
reason_signal(const struct job *job)
{
	int sig = job->result.signal;
	const char *name = sigabbrev_np(sig);
	const char *hint;

	switch (sig) {
	case SIGSEGV:
	case SIGBUS:
		hint = "an invalid memory access in native code, or too deep "
		    "a recursion in C";
		break;
	case SIGABRT:
		hint = "native code called abort()";
		break;
	case SIGKILL:
		hint = "it was killed, by itself or by the system for want of "
		    "memory";
		break;
	default:
		hint = "sent by the program itself";
	}
	return say("The program died from signal %d (SIG%s): %s.", sig,
	    name != NULL ? name : "?", hint);
}

static char *
reason_files(const struct job *job)
{
	char limit[32];

	size_text(job->spec.limits.scratch, limit, sizeof limit);
	return say("The program ran out of room for files: it may hold %s in "
	    "at most %llu files; write less, or delete what is not needed "
	    "any more.", limit, (unsigned long long)job->spec.limits.files);
}

static char *
reason_pids(const struct job *job)
{
	return say("The program could start no further thread or process: it "
	    "may have %llu of them, and memory for their stacks; start "
	    "fewer.", (unsigned long long)job->spec.limits.pids);
}

static char *
reason_denied(const struct job *job)
{
	const char *call = job->result.denied;

	if (is_policy_error(job))
		return say("The program was not run: %s",
		    job->result.exc_message);
	if (is_refused_effect(job))
		return say("The policy restricted refuses what the program "
		    "did at line %llu; do without it.",
		    (unsigned long long)job->result.exc_line);
	if (call == NULL)
		return xstrdup("The program was stopped because it made a "
		    "system call that the sandbox refuses; leave that call "
		    "out.");
	return say("The sandbox refuses the system call %s (denied: %s), and "
	    "the program ended with the error that this gave; do without "
	    "it.", call, call);
}

static char *
reason_exit(const struct job *job)
{
	return say("The program ended with exit status %d.",
	    job->result.exit_code);
}

#define NO_MODULE	"No module named '"

/* Names the package to ask for; NULL if the exception is another one. */
static char *
reason_no_module(const struct job *job)
{
	const struct job_result *r = &job->result;
	const char *name = r->exc_message + sizeof NO_MODULE - 1, *package;
	int len;

	if (strcmp(r->exc_type, "ModuleNotFoundError") != 0 ||
	    strncmp(r->exc_message, NO_MODULE, sizeof NO_MODULE - 1) != 0)
		return NULL;
	len = strcspn(name, ".'");
	package = module_package(name, len);
	if (len == 0 || len > MODULE_MAX || name[len] == '\0')
		return NULL;
	if (job->conf->deps_dir[0] == '\0' ||
	    job->spec.policy != POLICY_ISOLATED)
		return say("The module %.*s is not installed, and cannot be "
		    "installed here; list_packages names what is there.",
		    len, name);
	return say("The module %.*s is not installed; %s "
	    "dependencies: [\"%.*s\"]%s.", len, name,
	    job->spec.session[0] != '\0' ? "start another session with "
	    "sandbox_initialize and" : "call again with", package != NULL ?
	    (int)strlen(package) : len, package != NULL ? package : name,
	    package != NULL ? "" : ", or the name of the package that has "
	    "it");
}

static char *
reason_exception(const struct job *job)
{
	const struct job_result *r = &job->result;
	const char *hint = "";
	char *reason = reason_no_module(job);

	if (reason != NULL)
		return reason;

	if (strncmp(r->exc_message, "[Errno 24]", 10) == 0)
		return say("The program opened more descriptors than the %llu "
		    "that it may have at once; close what is not needed any "
		    "more.", (unsigned long long)job->spec.limits.fds);
	if (strcmp(r->exc_type, "EOFError") == 0)
		hint = job->spec.stdin_len == 0 ?
		    "; if it reads input, give that as the argument stdin" :
		    "; it read more input than the argument stdin had";
	if (strcmp(r->exc_type, "NameError") == 0 &&
	    job->spec.policy != POLICY_ISOLATED)
		hint = "; the policy restricted has only some of the builtins";
	if (r->exc_line == 0)
		return say("The program ended with an uncaught %s%s.",
		    r->exc_type, hint);
	return say("The program ended with an uncaught %s at line %llu%s.",
	    r->exc_type, (unsigned long long)r->exc_line, hint);
}

static char *
reason_busy(const struct job *job)
{
	char wait[32];

	if (job->result.fate == SESSION_KEPT) {
		duration_text(job->conf->queue_timeout, wait, sizeof wait);
		return say("The session is busy: the program was not run, "
		    "because an earlier call in it took longer than %s, the "
		    "longest that a call may wait; wait for that answer, "
		    "then try again.", wait);
	}
	if (job->condemned)
		return say("The server is busy: the program was not run, "
		    "because %llu programs wait already, the most that may; "
		    "try again in a few seconds.",
		    (unsigned long long)job->conf->queue_max);
	duration_text(job->conf->queue_timeout, wait, sizeof wait);
	return say("The server is busy: the program was not run, because no "
	    "worker was free for %s, the longest that it may wait; try again "
	    "in a few seconds.", wait);
}

char *
job_reason(const struct job *job, enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_OK:
		return xstrdup("");
	case VERDICT_EXCEPTION:
		return reason_exception(job);
	case VERDICT_EXIT:
		return reason_exit(job);
	case VERDICT_TIMEOUT:
		return reason_timeout(job);
	case VERDICT_CPU:
		return reason_cpu(job);
	case VERDICT_MEMORY:
		return reason_memory(job);
	case VERDICT_OUTPUT:
		return reason_output(job);
	case VERDICT_SIGNAL:
		return reason_signal(job);
	case VERDICT_BUSY:
		return reason_busy(job);
	case VERDICT_FILES:
		return reason_files(job);
	case VERDICT_PIDS:
		return reason_pids(job);
	case VERDICT_DENIED:
		return reason_denied(job);
	case VERDICT_CANCELLED:
		return job->result.fate != SESSION_GONE ? xstrdup("The "
		    "program was cancelled.") : xstrdup("The program was "
		    "stopped because its session was ended.");
	case VERDICT_LOST:
		if (job->condemned && job->result.fate == SESSION_ROLLED_BACK)
			return xstrdup("The program was stopped because it "
			    "wrote into a descriptor that it had not opened, "
			    "over which its result was to come; leave such "
			    "descriptors alone.");
		if (job->result.fate == SESSION_GONE)
			return xstrdup("The process that held the session "
			    "is gone, and the result of this call with it.");
		return xstrdup("The process that ran the program vanished "
		    "and its result is lost; run it again.");
	default:
		return say("The program ended as %s.", verdict_name(verdict));
	}
}
