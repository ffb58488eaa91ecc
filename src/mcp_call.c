#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <event2/event.h>

#include "clock.h"
#include "conf.h"
#include "dispatcher.h"
#include "json.h"
#include "log.h"
#include "mcp_private.h"
#include "mem.h"
#include "result.h"
#include "run_store.h"
#include "tool.h"

/* How often a tool that waits is tried again. */
#define AGAIN_US	50000

static void	on_started(struct job *, void *);
static void	on_output(struct job *, enum job_stream, const char *, size_t,
		    void *);
static void	on_done(struct job *, const struct job_result *, void *);
static void	on_waits(struct job *, const char *, void *);

static const struct job_observer observer = {
	on_started, on_output, on_done, NULL, on_waits
};

/* The id with its type: "1" and 1 are two ids. */
struct call *
call_find(struct session *s, const json_t *id)
{
	struct session *other;
	struct call *c;

	TAILQ_FOREACH(c, &s->calls, entry)
		if (json_equal(c->id, id))
			return c;
	if (s->parent == NULL || !s->shared_ids)
		return NULL;
	TAILQ_FOREACH(other, &s->parent->children, sibling)
		TAILQ_FOREACH(c, &other->calls, entry)
			if (other->shared_ids && json_equal(c->id, id))
				return c;
	return NULL;
}

static unsigned
calls_of(const struct session *s)
{
	const struct session *other;
	unsigned n = s->ncalls;

	if (s->parent == NULL || !s->shared_ids)
		return n;
	n = 0;
	TAILQ_FOREACH(other, &s->parent->children, sibling)
		n += other->ncalls;
	return n;
}

int
call_full(const struct session *s)
{
	return calls_of(s) >= s->mcp->conf->client_calls_max;
}

/* What this request asks for, or else what the session does. */
static enum mcp_level
wish_of(struct request *r)
{
	const char *name = json_string_value(json_object_get(json_object_get(
	    r->params, "_meta"), "io.modelcontextprotocol/logLevel"));

	if (name != NULL)
		return level_parse(name);
	return r->era == ERA_MODERN ? LEVELS :
	    session_root(r->session)->log_level;
}

struct call *
call_new(struct request *r)
{
	struct session *s = r->session;
	struct call *c = xcalloc(1, sizeof *c);

	c->session = s;
	c->exchange = r->exchange;
	c->era = r->era;
	c->id = json_incref(r->id);
	c->progress = progress_new(s, json_object_get(json_object_get(
	    r->params, "_meta"), "progressToken"));
	c->log_level = wish_of(r);
	c->live = live_new(s, c->id, c->log_level);
	/* For programs such as adderctl, which have no context to fill. */
	c->whole = json_is_true(json_object_get(json_object_get(r->params,
	    "_meta"), "adder/whole"));
	TAILQ_INSERT_TAIL(&s->calls, c, entry);
	s->ncalls++;
	return c;
}

/* Ends what the call runs; nothing is sent for it from here on. */
static struct exchange *
call_free(struct call *c)
{
	struct exchange *x = c->exchange;

	TAILQ_REMOVE(&c->session->calls, c, entry);
	c->session->ncalls--;
	if (c->job != NULL)
		dispatcher_cancel(c->session->mcp->dispatcher, c->job);
	if (c->ev_again != NULL)
		event_free(c->ev_again);
	progress_free(&c->progress);
	live_free(&c->live);
	listen_free(c->session->mcp, &c->listen);
	json_decref(c->args);
	json_decref(c->id);
	free(c->note);
	free(c);
	return x;
}

void
call_cancel(struct call *c)
{
	exchange_drop(call_free(c));
}

void
call_answer(struct call *c, json_t *answer)
{
	exchange_answer(call_free(c), answer);
}

void
call_pause(struct call *c, int on)
{
	if (c->job != NULL)
		dispatcher_pause(c->session->mcp->dispatcher, c->job, on);
}

static void
on_started(struct job *job, void *arg)
{
	struct call *c = arg;

	if (c->progress != NULL)
		progress_started(c->progress);
}

static void
on_waits(struct job *job, const char *what, void *arg)
{
	struct call *c = arg;

	if (c->progress != NULL)
		progress_waits(c->progress, what);
}

static void
on_output(struct job *job, enum job_stream stream, const char *data,
    size_t len, void *arg)
{
	struct call *c = arg;

	if (c->progress != NULL)
		progress_output(c->progress, data, len);
	if (c->live != NULL)
		live_output(c->live, stream, data, len);
}

static void
on_done(struct job *job, const struct job_result *r, void *arg)
{
	struct call *c = arg;
	struct session *s = c->session;
	struct result_options options;
	json_t *result;

	c->job = NULL;
	run_store_own(s->mcp->store, r->run_id, session_root(s));
	resources_options(s, c->whole, &options);
	result = r->opened[0] != '\0' ? result_of_session(r->opened,
	    r->opened_ttl_ms, c->note) : result_of_job(r, c->note, &options);
	log_debug("%s: run %s ended: %s, %" PRIu64 " us", s->name, r->run_id,
	    verdict_name(r->verdict), r->wall_us);
	if (c->live != NULL)
		live_finish(c->live);
	if (c->log_level < LEVELS)
		notify_log(s, c->log_level, r->verdict == VERDICT_OK ?
		    LEVEL_INFO : LEVEL_WARNING, "adder", json_deep_copy(
		    json_object_get(json_object_get(result, "_meta"),
		    "adder/receipt")));
	call_answer(c, rpc_result(c->id, era_finish(c->era, 0, result)));
}

static void
on_again(evutil_socket_t fd, short what, void *arg)
{
	struct call *c = arg;
	struct mcp *m = c->session->mcp;
	char holder[HOLDER_BYTES];
	struct tool_call t = { .conf = m->conf, .dispatcher = m->dispatcher,
	    .store = m->store, .args = c->args, .policy = c->session->policy,
	    .sandboxes = dispatcher_sandboxes(m->dispatcher),
	    .owner = holder };

	session_holder(c->session, holder);
	if (c->tool->call(&t) != TOOL_ANSWER) {
		if (clock_us() < c->give_up_us)
			return;
		t.result = result_of_error("Python is still starting; try "
		    "again in a few seconds.");
	}
	free(t.note);
	call_answer(c, rpc_result(c->id, era_finish(c->era, 0, t.result)));
}

static void
call_wait(struct call *c, const struct tool *tool, json_t *args)
{
	static const struct timeval interval = { 0, AGAIN_US };

	c->tool = tool;
	c->args = json_incref(args);
	/* As long as a job may wait for a worker. */
	c->give_up_us = clock_us() +
	    c->session->mcp->conf->queue_timeout * 1000;
	c->ev_again = event_new(c->session->mcp->base, -1, EV_PERSIST,
	    on_again, c);
	event_add(c->ev_again, &interval);
}

static void
call_run(struct call *c, struct tool_call *t)
{
	struct session *s = c->session;

	c->note = t->note;
	t->spec.live = c->progress != NULL || c->live != NULL;
	/* Whose turn it is goes by connection, or by session. */
	t->spec.principal = session_root(s);
	t->spec.keep = 1;
	snprintf(t->spec.owner, sizeof t->spec.owner, "%s",
	    session_root(s)->owner);
	c->job = dispatcher_submit(s->mcp->dispatcher, &t->spec, &observer,
	    c);
	if (s->held)
		call_pause(c, 1);
}

static json_t *
start(struct request *r, const struct tool *tool, json_t *args)
{
	struct mcp *m = r->session->mcp;
	char holder[HOLDER_BYTES];
	struct tool_call t = { .conf = m->conf, .dispatcher = m->dispatcher,
	    .store = m->store, .args = args, .policy = r->session->policy,
	    .sandboxes = dispatcher_sandboxes(m->dispatcher),
	    .owner = holder };

	session_holder(r->session, holder);
	switch (tool->call(&t)) {
	case TOOL_JOB:
		call_run(call_new(r), &t);
		return NULL;
	case TOOL_WAIT:
		call_wait(call_new(r), tool, args);
		return NULL;
	case TOOL_ANSWER:
		free(t.note);
		break;
	}
	return t.result;
}

static json_t *
refuse_busy(uint64_t max)
{
	json_t *result;
	char *why;

	xasprintf(&why, "This connection has %" PRIu64 " calls waiting or "
	    "running, the most that it may have (clients.calls_max); wait "
	    "for an answer before the next call.", max);
	result = result_of_refusal(VERDICT_BUSY, why);
	free(why);
	return result;
}

json_t *
mcp_tools_call(struct request *r)
{
	const struct conf *conf = r->session->mcp->conf;
	const char *name = json_string_value(json_object_get(r->params,
	    "name"));
	json_t *args = json_member(r->params, "arguments"), *given, *result;
	const struct tool *tool;
	char *why;

	if (name == NULL)
		return mcp_wrong(r, r->params, "name", "a string");
	if (args != NULL && !json_is_object(args))
		return mcp_wrong(r, r->params, "arguments", "an object");
	if ((tool = tool_find(conf, name)) == NULL)
		return mcp_fail(r, RPC_INVALID_PARAMS, NULL,
		    "There is no tool \"%.100s\"; tools/list names those "
		    "that there are.", name);
	if (call_full(r->session))
		return refuse_busy(conf->client_calls_max);
	given = tool_compat_args(conf, tool, args);
	args = tool_check(tool, given, &why);
	json_decref(given);
	if (args == NULL) {
		/* For the model to read, so a result and no error. */
		result = result_of_error(why);
		free(why);
		return result;
	}
	result = start(r, tool, args);
	json_decref(args);
	return result;
}
