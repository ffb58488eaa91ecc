#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "json.h"
#include "mem.h"
#include "packages.h"
#include "policy_name.h"
#include "result.h"
#include "sandboxes.h"
#include "tool.h"
#include "units.h"

/* A timeout above a day is no timeout but a slip. */
#define TIMEOUT_SENSIBLE_S	86400.0

static const struct tool_param params[] = {
	{ "code", TOOL_STRING, 1,
	    "The Python program.  Print what you want to see." },
	{ "timeout", TOOL_NUMBER, 0,
	    "Seconds of wall-clock time after which the program is "
	    "stopped." },
	{ "stdin", TOOL_STRING, 0,
	    "Text that input() and sys.stdin read; empty if absent." },
	{ "files", TOOL_FILES, 0,
	    "Files that the program finds in its directory, each with a "
	    "path and either text or base64." },
	{ "session_id", TOOL_STRING, 0,
	    "A session of sandbox_initialize to run in, whose variables and "
	    "files are kept; a fresh process if absent." },
	{ "dependencies", TOOL_STRINGS, 0,
	    "Packages to install for the program, such as \"networkx>=3\"; "
	    "only what list_packages does not name." },
	{ "policy", TOOL_STRING, 0,
	    "isolated (all of Python) or restricted (a calculator: a few "
	    "builtins, numeric libraries, no files)." }
};

static json_t *
describe(const struct conf *conf)
{
	char timeout[32], most[32], output[32], memory[64] = "";
	char size[32];

	duration_text(conf->limits_timeout, timeout, sizeof timeout);
	duration_text(conf->limits_timeout_max, most, sizeof most);
	size_text(conf->limits_output, output, sizeof output);
	if (conf->limits_memory > 0) {
		size_text(conf->limits_memory, size, sizeof size);
		snprintf(memory, sizeof memory, ", %s of memory", size);
	}
	return json_pack("{s:s, s:o, s:o}",
	    "title", "Run Python",
	    "description", json_textf(
	    "Runs a Python program and returns what it prints, the value of "
	    "a last expression, its pictures and the files it makes.  NumPy, "
	    "SciPy, SymPy, pandas and Matplotlib are there (list_packages "
	    "lists all).  Without session_id each call is a fresh process: "
	    "nothing is kept from call to call, so send the whole program.  Use print() for "
	    "results.  Open Matplotlib figures and files in the current "
	    "directory come back by themselves.  There is no network%s.  "
	    "Limits: %s of time (timeout asks for more, at most %s), %s of "
	    "output%s.", conf->deps_dir[0] == '\0' ? "" :
	    "; other packages are installed if dependencies names them",
	    timeout, most, output, memory),
	    "annotations", tool_annotations("Run Python", 0, 0));
}

static enum tool_outcome
refuse(struct tool_call *c, char *why)
{
	c->result = result_of_error(why);
	free(why);
	return TOOL_ANSWER;
}

/* NULL, or what is wrong with the code. */
static char *
check_code(const struct conf *conf, const char *code, size_t len)
{
	const char *nul = memchr(code, '\0', len);
	char *why = NULL;

	/* CPython 3.11 reads no further in such a line, and says nothing. */
	if (nul != NULL)
		xasprintf(&why, "The code has a NUL character, at byte %zu; "
		    "write it as \\0 in a string, or leave it out.",
		    (size_t)(nul - code));
	else if (strspn(code, " \t\r\n") == len)
		return xstrdup("The argument code is empty; put a Python "
		    "program there.");
	else if (len > conf->limits_code)
		xasprintf(&why, "The code is %zu bytes long, more than the "
		    "limit of %" PRIu64 " (limits.code); send a shorter "
		    "program, or its data as stdin.", len, conf->limits_code);
	return why;
}

/* Sets *ms; NULL, or what is wrong with the timeout. */
static char *
check_timeout(struct tool_call *c, const json_t *value, uint64_t *ms)
{
	double seconds = json_number_value(value);
	char most[32];
	char *why;

	*ms = c->conf->limits_timeout;
	if (value == NULL)
		return NULL;
	if (!(seconds > 0 && seconds <= TIMEOUT_SENSIBLE_S)) {
		duration_text(c->conf->limits_timeout_max, most,
		    sizeof most);
		xasprintf(&why, "The timeout must be a number of seconds "
		    "above 0 and up to %.0f, not %.15g; the most that is "
		    "granted is %s.", TIMEOUT_SENSIBLE_S, seconds, most);
		return why;
	}
	*ms = seconds * 1000 < 1 ? 1 : (uint64_t)(seconds * 1000);
	if (*ms > c->conf->limits_timeout_max) {
		*ms = c->conf->limits_timeout_max;
		duration_text(*ms, most, sizeof most);
		xasprintf(&c->note, "The timeout of %.15g s was lowered to "
		    "%s, the most that this server grants.", seconds, most);
	}
	return NULL;
}

static char *
unknown_policy(const char *name)
{
	char *why;

	xasprintf(&why, "The policy must be isolated or restricted, not "
	    "\"%.60s\".", name);
	return why;
}

/* A call may ask for less than its connection may have, never for more. */
static char *
check_policy(struct tool_call *c, const char *name)
{
	enum policy policy;

	c->spec.policy = c->policy;
	if (name == NULL)
		return NULL;
	if (policy_parse(name, &policy) == -1)
		return unknown_policy(name);
	if (policy < c->policy)
		return xstrdup("The policy isolated is not granted here; "
		    "leave the argument out, or ask for restricted.");
	c->spec.policy = policy;
	return NULL;
}

static void
set_limits(struct limits *l, const struct conf *c, uint64_t timeout_ms)
{
	l->timeout_ms = timeout_ms;
	l->cpu_ms = c->limits_cpu > 0 ? c->limits_cpu : timeout_ms + 2000;
	l->memory = c->limits_memory;
	l->output = c->limits_output;
	l->scratch = c->limits_scratch;
	l->files = c->limits_files;
	l->pids = c->limits_pids;
	l->fds = c->limits_fds;
}

char *
tool_no_packages(const struct conf *conf, enum policy policy)
{
	if (policy != POLICY_ISOLATED)
		return xstrdup("The policy restricted takes no dependencies; "
		    "leave the argument out.");
	if (conf->deps_dir[0] == '\0')
		return xstrdup("Packages cannot be installed here (deps.dir "
		    "is empty); leave dependencies out and import what "
		    "list_packages names.");
	return NULL;
}

/* NULL, or what is wrong: a session keeps the packages it was started with. */
static char *
check_session_packages(const struct sandbox *sb, const json_t *list)
{
	const char *packages = sandbox_packages(sb);
	char *text, *why;

	if (json_array_size(list) == 0 ||
	    (packages != NULL && packages_are(list, packages)))
		return NULL;
	text = packages != NULL ? packages_text(packages) :
	    xstrdup("no dependencies");
	xasprintf(&why, "A session gets its packages when it starts, and "
	    "this one was started with %.400s; leave dependencies out, or "
	    "start another one with sandbox_initialize and dependencies.",
	    text);
	free(text);
	return why;
}

/* NULL, or what is wrong.  Metadata in the code asks for packages where they
 * can be installed, and is a comment elsewhere. */
static char *
check_packages(struct tool_call *c, const char *code, size_t len)
{
	const json_t *list = json_object_get(c->args, "dependencies");
	char *why;

	if (c->spec.sandbox != NULL)
		return check_session_packages(c->spec.sandbox, list);
	if ((why = tool_no_packages(c->conf, c->spec.policy)) == NULL)
		c->spec.packages = packages_of(list, code, len, &why);
	else if (json_array_size(list) == 0) {
		free(why);
		why = NULL;
	}
	return why;
}

enum tool_outcome
tool_run_code(struct tool_call *c, const json_t *code, const json_t *timeout,
    const json_t *input)
{
	size_t len = json_string_length(code);
	uint64_t timeout_ms;
	char *why;

	why = check_code(c->conf, json_string_value(code), len);
	if (why == NULL)
		why = check_policy(c, json_string_value(json_object_get(
		    c->args, "policy")));
	if (why == NULL)
		why = tool_session(c, json_object_get(c->args, "session_id"),
		    json_object_get(c->args, "policy") != NULL);
	if (why == NULL)
		why = check_timeout(c, timeout, &timeout_ms);
	if (why == NULL)
		why = check_packages(c, json_string_value(code), len);
	if (why == NULL)
		why = tool_files(c->conf, json_object_get(c->args, "files"),
		    &c->spec.inputs, &c->spec.ninputs);
	if (why != NULL) {
		free(c->spec.packages);
		c->spec.packages = NULL;
		return refuse(c, why);
	}
	c->spec.code = xmemdupz(json_string_value(code), len);
	c->spec.code_len = len;
	if (input != NULL) {
		c->spec.stdin_len = json_string_length(input);
		c->spec.stdin_data = xmemdupz(json_string_value(input),
		    c->spec.stdin_len);
	}
	set_limits(&c->spec.limits, c->conf, timeout_ms);
	return TOOL_JOB;
}

static enum tool_outcome
run(struct tool_call *c)
{
	return tool_run_code(c, json_object_get(c->args, "code"),
	    json_object_get(c->args, "timeout"),
	    json_object_get(c->args, "stdin"));
}

const struct tool tool_run_python = {
	"run_python", params, sizeof params / sizeof params[0], describe, run,
	0, 0
};
