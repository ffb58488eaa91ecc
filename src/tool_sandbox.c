#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "conf.h"
#include "json.h"
#include "mem.h"
#include "packages.h"
#include "result.h"
#include "sandboxes.h"
#include "tool.h"
#include "units.h"

/* Sessions that keep variables between calls of run_python. */

#define TTL_SENSIBLE_S	2592000.0

static const struct tool_param initialize_params[] = {
	{ "ttl", TOOL_NUMBER, 0,
	    "Seconds after which the session ends if nothing is run in "
	    "it." },
	{ "dependencies", TOOL_STRINGS, 0,
	    "Packages to install for the session, such as "
	    "\"networkx>=3\"; only what list_packages does not name." }
};

static const struct tool_param handle_params[] = {
	{ "session_id", TOOL_STRING, 1,
	    "The session, as sandbox_initialize or sandbox_fork named it." }
};

#define NPARAMS(p)	(sizeof(p) / sizeof((p)[0]))

/* A sentence, or nothing without a limit. */
static void
describe_memory(const struct conf *conf, char *buf, size_t len)
{
	char all[32];

	*buf = '\0';
	if (conf->limits_memory == 0)
		return;
	size_text(conf->limits_memory * LIMIT_SESSION_MEMORY, all,
	    sizeof all);
	snprintf(buf, len, "  A session may have %s of memory in all; what a "
	    "call changes of its variables counts twice until the call has "
	    "ended.", all);
}

static json_t *
describe_initialize(const struct conf *conf)
{
	char ttl[32], most[32], age[32], memory[256];

	describe_memory(conf, memory, sizeof memory);
	duration_text(conf->sessions_ttl, ttl, sizeof ttl);
	duration_text(conf->sessions_ttl_max, most, sizeof most);
	duration_text(conf->sessions_max_age, age, sizeof age);
	return json_pack("{s:s, s:o, s:o}",
	    "title", "Start a session",
	    "description", json_textf(
	    "Starts a session and returns its session_id.  run_python with "
	    "that session_id keeps variables, functions, imports, open files "
	    "and random state from call to call, and a directory of files.  "
	    "A call that is stopped by its time or memory limit, crashes or "
	    "is cancelled does not lose the session: variables are rolled "
	    "back to what they were before it.  Files, and positions in open "
	    "files, are not rolled back.  An exception keeps what was done "
	    "up to it.  Each answer says session: kept, rolled_back or lost. "
	    " Processes that a call starts end with it.  The session ends "
	    "after %s without a call (ttl asks for more, at most %s), after "
	    "%s in any case, and with this server.%s%s", ttl, most, age,
	    memory, conf->deps_dir[0] == '\0' ? "" : "  Packages that "
	    "dependencies names are installed first and are there in every "
	    "call."),
	    "annotations", tool_annotations("Start a session", 0, 0));
}

static json_t *
describe_stop(const struct conf *conf)
{
	return json_pack("{s:s, s:s, s:o}",
	    "title", "End a session",
	    "description", "Ends a session with its variables and files.  A "
	    "call that runs in it is stopped.",
	    "annotations", tool_annotations("End a session", 0, 1));
}

static json_t *
describe_fork(const struct conf *conf)
{
	return json_pack("{s:s, s:s, s:o}",
	    "title", "Fork a session",
	    "description", "Starts another session that has the variables "
	    "which this one has now, and returns its session_id.  From then "
	    "on the variables of the two are independent; the directory of "
	    "files and the memory limit are shared, and of the two one call "
	    "runs at a time.",
	    "annotations", tool_annotations("Fork a session", 0, 0));
}

static enum tool_outcome
refuse(struct tool_call *c, char *why)
{
	c->result = result_of_error(why);
	free(why);
	return TOOL_ANSWER;
}

static enum tool_outcome
answer_handle(struct tool_call *c, const char *handle, uint64_t ttl)
{
	c->result = result_of_session(handle, ttl, c->note);
	return TOOL_ANSWER;
}

/* NULL, or what is wrong with the packages. */
static char *
check_packages(struct tool_call *c)
{
	const json_t *list = json_object_get(c->args, "dependencies");
	char *why = NULL;

	if (json_array_size(list) == 0)
		return NULL;
	if ((why = tool_no_packages(c->conf, c->policy)) != NULL)
		return why;
	c->spec.packages = packages_of(list, "", 0, &why);
	return why;
}

/* They have to be installed, or at least imported, first. */
static enum tool_outcome
initialize_later(struct tool_call *c, uint64_t ttl)
{
	char *why;

	if (!sandboxes_have_room(c->sandboxes, &why)) {
		free(c->spec.packages);
		c->spec.packages = NULL;
		return refuse(c, why);
	}
	c->spec.opens = xcalloc(1, sizeof *c->spec.opens);
	c->spec.opens->ttl_ms = ttl;
	snprintf(c->spec.opens->owner, sizeof c->spec.opens->owner, "%s",
	    c->owner);
	c->spec.policy = c->policy;
	return TOOL_JOB;
}

static void
note_lower_ttl(struct tool_call *c, double seconds, uint64_t ttl)
{
	uint64_t granted = sandboxes_ttl(c->sandboxes, ttl);
	char text[32];

	if (granted >= ttl)
		return;
	duration_text(granted, text, sizeof text);
	xasprintf(&c->note, "The ttl of %.15g s was lowered to %s, the most "
	    "that this server grants.", seconds, text);
}

static enum tool_outcome
initialize(struct tool_call *c)
{
	const json_t *value = json_object_get(c->args, "ttl");
	double seconds = json_number_value(value);
	const char *handle;
	uint64_t ttl = 0;
	char most[32], *why;

	if (value != NULL && !(seconds >= 1 && seconds <= TTL_SENSIBLE_S)) {
		duration_text(c->conf->sessions_ttl_max, most, sizeof most);
		xasprintf(&why, "The ttl must be a number of seconds from 1 "
		    "to %.0f, not %.15g; the most that is granted is %s.",
		    TTL_SENSIBLE_S, seconds, most);
		return refuse(c, why);
	}
	if ((why = check_packages(c)) != NULL)
		return refuse(c, why);
	if (c->spec.packages == NULL && !sandboxes_known(c->sandboxes))
		return TOOL_WAIT;
	if (value != NULL) {
		ttl = seconds * 1000;
		note_lower_ttl(c, seconds, ttl);
	}
	if (c->spec.packages != NULL)
		return initialize_later(c, ttl);
	handle = sandboxes_open(c->sandboxes, c->owner, c->policy, &ttl,
	    &why);
	return handle == NULL ? refuse(c, why) : answer_handle(c, handle,
	    ttl);
}

static struct sandbox *
find(struct tool_call *c, char **why)
{
	return sandboxes_find(c->sandboxes, json_string_value(
	    json_object_get(c->args, "session_id")), c->owner, why);
}

static enum tool_outcome
stop(struct tool_call *c)
{
	struct sandbox *sb;
	char *why;

	if ((sb = find(c, &why)) == NULL)
		return refuse(c, why);
	sandboxes_stop(c->sandboxes, sb);
	c->result = result_of_text("The session is ended.");
	return TOOL_ANSWER;
}

static enum tool_outcome
fork_session(struct tool_call *c)
{
	struct sandbox *sb;
	char *why;

	if ((sb = find(c, &why)) == NULL ||
	    !sandboxes_may_branch(c->sandboxes, sb, &why))
		return refuse(c, why);
	/* Answered when it is there. */
	c->spec.opens = xcalloc(1, sizeof *c->spec.opens);
	c->spec.opens->from = sb;
	c->spec.policy = c->policy;
	return TOOL_JOB;
}

char *
tool_session(struct tool_call *c, const json_t *id, int policy_named)
{
	struct sandbox *sb;
	char *why = NULL;

	if (id == NULL)
		return NULL;
	sb = sandboxes_find(c->sandboxes, json_string_value(id), c->owner,
	    &why);
	if (sb == NULL)
		return why;
	if (policy_named && c->spec.policy != sandbox_policy(sb))
		return xstrdup("A session has one policy for all its calls, "
		    "that of its connection; leave the argument policy out, "
		    "or run the program without session_id.");
	c->spec.policy = sandbox_policy(sb);
	c->spec.sandbox = sb;
	snprintf(c->spec.session, sizeof c->spec.session, "%s",
	    sandbox_handle(sb));
	return NULL;
}

const struct tool tool_sandbox_initialize = {
	"sandbox_initialize", initialize_params, NPARAMS(initialize_params),
	describe_initialize, initialize, 0, 1
};

const struct tool tool_sandbox_stop = {
	"sandbox_stop", handle_params, NPARAMS(handle_params), describe_stop,
	stop, 0, 1
};

const struct tool tool_sandbox_fork = {
	"sandbox_fork", handle_params, NPARAMS(handle_params), describe_fork,
	fork_session, 0, 1
};
