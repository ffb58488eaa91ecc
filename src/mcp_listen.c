#include "config.h"

#include <stdlib.h>

#include "json.h"
#include "mcp_private.h"
#include "mem.h"

/*
 * subscriptions/listen of the modern era: a request that stays open, and is
 * answered by notifications of what it named until its client cancels it or
 * the server ends (MCP 2026-07-28, "Subscriptions").
 */

/* No file can have a longer name, even with each byte of it encoded. */
#define URI_MAX		16384
#define SUBSCRIPTION	"io.modelcontextprotocol/subscriptionId"

struct listen {
	json_t		*meta;		/* what each notification has */
	unsigned	 wants;		/* of enum mcp_change */
	unsigned	 changed;	/* and not told yet */
	json_t		*watched;
};

static const struct {
	enum mcp_change	 what;
	const char	*member;
} wishes[] = {
	{ CHANGED_TOOLS, "toolsListChanged" },
	{ CHANGED_PROMPTS, "promptsListChanged" },
	{ CHANGED_RESOURCES, "resourcesListChanged" }
};

void
listen_free(struct mcp *m, struct listen **lp)
{
	struct listen *l = *lp;

	if (l == NULL)
		return;
	*lp = NULL;
	m->nwatched -= json_object_size(l->watched);
	json_decref(l->watched);
	json_decref(l->meta);
	free(l);
}

void
listen_mark(struct call *c, unsigned what)
{
	c->listen->changed |= what & c->listen->wants;
}

void
listen_mark_uri(struct call *c, const char *uri)
{
	if (json_object_get(c->listen->watched, uri) != NULL)
		json_object_set_new(c->listen->watched, uri, json_true());
}

void
listen_tell(struct call *c)
{
	changed_send(c->session, &c->listen->changed, c->listen->watched,
	    c->listen->meta);
}

void
listen_end(struct call *c)
{
	json_t *result = json_pack("{s:o}", "_meta",
	    json_deep_copy(c->listen->meta));

	call_answer(c, rpc_result(c->id, era_finish(c->era, 0, result)));
}

/* Our prompts never change. */
static unsigned
offered(const struct mcp *m)
{
	return CHANGED_TOOLS | CHANGED_RESOURCES |
	    (m->fixtures != NULL ? CHANGED_PROMPTS : 0);
}

static unsigned
wants_of(const json_t *filter)
{
	unsigned wants = 0;
	size_t i;

	for (i = 0; i < sizeof wishes / sizeof wishes[0]; i++)
		if (json_is_true(json_object_get(filter, wishes[i].member)))
			wants |= wishes[i].what;
	return wants;
}

/* NULL after mcp_fail(). */
static json_t *
watched_of(struct request *r, const json_t *filter)
{
	const json_t *list = json_member(filter, "resourceSubscriptions");
	json_t *watched, *uri;
	size_t i;

	if (list != NULL && !json_is_array(list))
		return mcp_wrong(r, filter, "resourceSubscriptions",
		    "an array of strings");
	if (json_array_size(list) > WATCHED_MAX)
		return mcp_fail(r, RPC_INVALID_PARAMS, NULL, "The member "
		    "resourceSubscriptions has %zu items; at most %d may be "
		    "subscribed to.", json_array_size(list), WATCHED_MAX);
	watched = json_object();
	json_array_foreach(list, i, uri) {
		if (!json_is_string(uri) ||
		    json_string_length(uri) > URI_MAX) {
			json_decref(watched);
			return mcp_fail(r, RPC_INVALID_PARAMS, NULL, "The "
			    "member resourceSubscriptions must have only "
			    "strings of at most %d bytes.", URI_MAX);
		}
		json_object_set_new(watched, json_string_value(uri),
		    json_false());
	}
	return watched;
}

/* The first message of the stream: what it will have. */
static void
acknowledge(struct call *c)
{
	const struct listen *l = c->listen;
	json_t *honoured = json_object(), *uris = json_array();
	const char *uri;
	json_t *value;
	size_t i;

	for (i = 0; i < sizeof wishes / sizeof wishes[0]; i++)
		if ((l->wants & wishes[i].what) != 0)
			json_object_set_new(honoured, wishes[i].member,
			    json_true());
	json_object_foreach(l->watched, uri, value)
		json_array_append_new(uris, json_string(uri));
	if (json_array_size(uris) > 0)
		json_object_set(honoured, "resourceSubscriptions", uris);
	json_decref(uris);
	session_send(c->session, rpc_notification(
	    "notifications/subscriptions/acknowledged", json_pack(
	    "{s:o, s:O}", "notifications", honoured, "_meta", l->meta)));
}

json_t *
mcp_listen(struct request *r)
{
	const struct mcp_headers *h = r->session->headers;
	json_t *filter = json_object_get(r->params, "notifications");
	json_t *watched;
	struct listen *l;
	struct call *c;

	if (!json_is_object(filter))
		return mcp_wrong(r, r->params, "notifications", "an object");
	if (h != NULL && !h->streams) {
		exchange_status(r->exchange, 406);
		return mcp_fail(r, RPC_INVALID_REQUEST, NULL, "What a "
		    "subscription has to say comes as events: Accept must "
		    "list text/event-stream.");
	}
	if (call_full(r->session))
		return mcp_fail(r, RPC_INVALID_REQUEST, NULL, "This "
		    "connection has as many requests waiting as it may "
		    "(clients.calls_max).");
	if ((watched = watched_of(r, filter)) == NULL)
		return NULL;
	l = xcalloc(1, sizeof *l);
	l->meta = json_pack("{s:O}", SUBSCRIPTION, r->id);
	l->wants = wants_of(filter) & offered(r->session->mcp);
	l->watched = watched;
	r->session->mcp->nwatched += json_object_size(watched);
	c = call_new(r);
	/* It has nothing to report of itself. */
	progress_free(&c->progress);
	live_free(&c->live);
	c->log_level = LEVELS;
	c->listen = l;
	acknowledge(c);
	return NULL;
}
