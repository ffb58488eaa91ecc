#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "log.h"
#include "mcp_private.h"
#include "mem.h"
#include "rpc_id_scan.h"

/* A message of up to 64 MiB holds millions of empty requests. */
#define BATCH_MAX	1000

static const struct method {
	const char	*name;
	json_t		*(*run)(struct request *);
	unsigned	 flags;		/* the eras that have it, and more */
} methods[] = {
	{ "initialize",		mcp_initialize,		ERA_LEGACY | ALONE },
	{ "server/discover",	mcp_discover,	ERA_MODERN | CACHED },
	{ "ping",		mcp_ping,		ERA_LEGACY },
	{ "logging/setLevel",	mcp_set_level,		ERA_LEGACY },
	{ "tools/list",		mcp_tools_list,
	    ERA_LEGACY | ERA_MODERN | CACHED },
	{ "tools/call",		mcp_tools_call,	ERA_LEGACY | ERA_MODERN },
	{ "resources/list",	mcp_resources_list,
	    ERA_LEGACY | ERA_MODERN | UNCACHED },
	{ "resources/templates/list", mcp_templates_list,
	    ERA_LEGACY | ERA_MODERN | CACHED },
	{ "resources/read",	mcp_resources_read,
	    ERA_LEGACY | ERA_MODERN | UNCACHED },
	{ "resources/subscribe", mcp_subscribe,	ERA_LEGACY },
	{ "resources/unsubscribe", mcp_unsubscribe, ERA_LEGACY },
	{ "subscriptions/listen", mcp_listen,	ERA_MODERN },
	{ "prompts/list",	mcp_prompts_list,
	    ERA_LEGACY | ERA_MODERN | CACHED },
	{ "prompts/get",	mcp_prompts_get,
	    ERA_LEGACY | ERA_MODERN },
	{ "completion/complete", mcp_complete,	ERA_LEGACY | ERA_MODERN },
	{ "adder/status",	mcp_status_method,
	    ERA_LEGACY | ERA_MODERN },
	{ "adder/doctor",	mcp_doctor,	ERA_LEGACY | ERA_MODERN }
};

json_t *
mcp_fail(struct request *r, enum rpc_code code, json_t *data,
    const char *fmt, ...)
{
	va_list ap;
	char *why;

	va_start(ap, fmt);
	xvasprintf(&why, fmt, ap);
	va_end(ap);
	/* The modern era has no code of its own for it. */
	if (r->era == ERA_MODERN && code == RPC_UNKNOWN_RESOURCE)
		code = RPC_INVALID_PARAMS;
	r->error = rpc_error(r->id, code, why, data);
	free(why);
	return NULL;
}

json_t *
mcp_wrong(struct request *r, const json_t *object, const char *member,
    const char *expected)
{
	char seen[JSON_SEEN_BYTES];

	return mcp_fail(r, RPC_INVALID_PARAMS, NULL, "The %s %s must be %s, "
	    "but is %s.", object == r->params ? "parameter" : "member",
	    member, expected, json_seen(json_object_get(object, member),
	    seen));
}

static const struct method *
find_method(const char *name, enum mcp_era era)
{
	size_t i;

	for (i = 0; i < sizeof methods / sizeof methods[0]; i++)
		if ((methods[i].flags & era) != 0 &&
		    strcmp(methods[i].name, name) == 0)
			return &methods[i];
	return NULL;
}

static json_t *
call_method(const struct method *method, struct request *r)
{
	const struct mcp_fixtures *fixtures = r->session->mcp->fixtures;
	json_t *result = NULL;

	if (fixtures == NULL)
		return method->run(r);
	if (!fixtures->run(r, &result))
		result = method->run(r);
	if (result != NULL)
		fixtures->add(r, result);
	return result;
}

static json_t *
run_method(struct request *r)
{
	const struct method *method = find_method(r->method, r->era);
	json_t *result;

	if (era_check(r) == -1)
		return NULL;
	if (method == NULL) {
		if (r->era == ERA_MODERN)
			exchange_status(r->exchange, 404);
		return mcp_fail(r, RPC_UNKNOWN_METHOD, NULL,
		    "There is no method \"%.100s\".", r->method);
	}
	if (call_find(r->session, r->id) != NULL)
		return mcp_fail(r, RPC_INVALID_REQUEST, NULL,
		    "The id belongs to a request that still runs.");
	if (r->exchange->batch != NULL && (method->flags & ALONE) != 0)
		return mcp_fail(r, RPC_INVALID_REQUEST, NULL,
		    "The method %s must not be in a batch.", r->method);
	result = call_method(method, r);
	return result == NULL ? NULL :
	    era_finish(r->era, method->flags, result);
}

static void
request(struct exchange *x, const struct rpc_message *m)
{
	struct request r = { era_of(m->params), x->session, x, m->id, m->method,
	    m->params, NULL };
	json_t *none = NULL, *result;

	if (r.params == NULL)
		r.params = none = json_object();
	exchange_open(x);
	result = run_method(&r);
	if (result != NULL)
		exchange_answer(x, rpc_result(r.id, result));
	else if (r.error != NULL)
		exchange_answer(x, r.error);
	json_decref(none);
}

/* Notifications are never answered, not even wrong ones. */
static void
notification(struct session *s, const struct rpc_message *m)
{
	struct call *c;

	if (strcmp(m->method, "notifications/cancelled") != 0)
		return;
	c = call_find(s, json_object_get(m->params, "requestId"));
	if (c == NULL)
		return;
	log_debug("%s cancelled a call", s->name);
	call_cancel(c);
}

/* Over HTTP even what is not answered may be refused. */
static int
refuse_version(struct exchange *x)
{
	const char *why = era_trouble(x->session);

	if (why == NULL)
		return 0;
	exchange_open(x);
	exchange_status(x, 400);
	exchange_answer(x, rpc_error(NULL, RPC_INVALID_REQUEST, why, NULL));
	return 1;
}

static void
handle(struct exchange *x, const json_t *value)
{
	struct rpc_message m;

	rpc_classify(value, &m);
	switch (m.kind) {
	case RPC_REQUEST:
		request(x, &m);
		break;
	case RPC_NOTIFICATION:
		if (refuse_version(x))
			break;
		notification(x->session, &m);
		break;
	case RPC_RESPONSE:
		/* We never ask the peer anything, but for fixtures. */
		if (!refuse_version(x) &&
		    x->session->mcp->fixtures != NULL)
			x->session->mcp->fixtures->answered(x->session,
			    value);
		break;
	case RPC_INVALID:
		exchange_open(x);
		exchange_status(x, 400);
		exchange_answer(x, rpc_error(m.id, RPC_INVALID_REQUEST,
		    m.why, NULL));
		break;
	}
}

/* NULL if the array may be served as a batch. */
static const char *
batch_trouble(struct session *session, const json_t *value)
{
	const struct session *s = session_root(session);
	const json_t *item;
	size_t i;

	json_array_foreach(value, i, item)
		if (era_of(json_object_get(item, "params")) == ERA_MODERN)
			return "A message of version 2026-07-28 must not "
			    "be in a batch.";
	if (!s->initialized || s->version != MCP_2025_03_26)
		return "Batches belong to protocol version 2025-03-26 only; "
		    "send each message by itself.";
	if (json_array_size(value) == 0)
		return "A batch must not be empty.";
	if (json_array_size(value) > BATCH_MAX)
		return "A batch must not have more than 1000 messages.";
	return NULL;
}

static void
receive_batch(struct session *s, const json_t *value)
{
	const char *why = batch_trouble(s, value);
	struct exchange *x;
	json_t *item;
	size_t i;

	if (why != NULL) {
		s->status = 400;
		session_send(s, rpc_error(NULL, RPC_INVALID_REQUEST, why,
		    NULL));
		return;
	}
	x = exchange_new(s, 1);
	json_array_foreach(value, i, item)
		handle(x, item);
	exchange_drop(x);
}

void
session_receive(struct session *s, const char *text, size_t len)
{
	struct rpc_fault fault;
	struct exchange *x;
	json_t *value;

	value = rpc_parse(text, len, &fault);
	if (value == NULL) {
		s->status = 400;
		session_send(s, rpc_error(fault.id, fault.code, fault.why,
		    NULL));
		json_decref(fault.id);
		return;
	}
	if (json_is_array(value))
		receive_batch(s, value);
	else {
		x = exchange_new(s, 0);
		handle(x, value);
		exchange_drop(x);
	}
	json_decref(value);
}

void
session_receive_http(struct session *s, const char *text, size_t len,
    const struct mcp_headers *headers)
{
	s->headers = headers;
	session_receive(s, text, len);
	s->headers = NULL;
}

void
session_overlong(struct session *s, uint64_t len, size_t max,
    const struct rpc_id_scan *scan)
{
	json_t *id = rpc_id_scanned(scan);
	char why[160];

	snprintf(why, sizeof why, "The message has %" PRIu64 " bytes, more "
	    "than the limit of %zu (message.max), and was skipped; send a "
	    "shorter one.", len, max);
	session_send(s, rpc_error(id, RPC_INVALID_REQUEST, why, NULL));
	json_decref(id);
}
