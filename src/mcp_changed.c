#include "config.h"

#include <string.h>
#include <sys/time.h>

#include <event2/event.h>

#include "clock.h"
#include "json.h"
#include "mcp_private.h"
#include "run_store.h"

/*
 * Lists and resources that change.  A peer with a handshake hears of every
 * list, and of the resources that it subscribed to; in the modern era it
 * hears of what its subscriptions/listen names.  Whoever is to be told is
 * marked, and all that are marked are told together, once in TELL_GAP_US.
 */
#define TELL_GAP_US	250000

static const struct {
	enum mcp_change	 what;
	const char	*method;
} lists[] = {
	{ CHANGED_TOOLS, "notifications/tools/list_changed" },
	{ CHANGED_PROMPTS, "notifications/prompts/list_changed" },
	{ CHANGED_RESOURCES, "notifications/resources/list_changed" }
};

static void
send_one(struct session *s, const char *method, const char *uri,
    json_t *meta)
{
	json_t *params = json_object();

	if (uri != NULL)
		json_object_set_new(params, "uri", json_string(uri));
	if (meta != NULL)
		json_object_set_new(params, "_meta", json_deep_copy(meta));
	session_send(s, rpc_notification(method, params));
}

void
changed_send(struct session *s, unsigned *what, json_t *watched,
    json_t *meta)
{
	const char *uri;
	json_t *changed;
	void *next;
	size_t i;

	for (i = 0; i < sizeof lists / sizeof lists[0]; i++)
		if ((*what & lists[i].what) != 0)
			send_one(s, lists[i].method, NULL, meta);
	*what = 0;
	json_object_foreach_safe(watched, next, uri, changed) {
		if (!json_is_true(changed))
			continue;
		send_one(s, "notifications/resources/updated", uri, meta);
		json_object_set_new(watched, uri, json_false());
	}
}

/* A peer that does not read is told when it has caught up. */
static void
tell_calls(struct session *s)
{
	struct call *c;

	if (s->held)
		return;
	TAILQ_FOREACH(c, &s->calls, entry)
		if (c->listen != NULL)
			listen_tell(c);
}

static void
on_changed(evutil_socket_t fd, short what, void *arg)
{
	struct mcp *m = arg;
	struct session *s, *below;

	m->changed_us = clock_us();
	TAILQ_FOREACH(s, &m->sessions, sibling) {
		if (!s->held && s->initialized)
			changed_send(s, &s->changed, s->watched, NULL);
		tell_calls(s);
		TAILQ_FOREACH(below, &s->children, sibling)
			tell_calls(below);
	}
}

void
changed_init(struct mcp *m)
{
	m->ev_changed = event_new(m->base, -1, 0, on_changed, m);
}

void
changed_free(struct mcp *m)
{
	event_free(m->ev_changed);
}

void
changed_tell(struct mcp *m)
{
	uint64_t since = clock_us() - m->changed_us;
	struct timeval wait = { 0, since >= TELL_GAP_US ? 0 :
	    TELL_GAP_US - since };

	if (!event_pending(m->ev_changed, EV_TIMEOUT, NULL))
		event_add(m->ev_changed, &wait);
}

static void
mark_calls(struct session *s, unsigned what)
{
	struct call *c;

	TAILQ_FOREACH(c, &s->calls, entry)
		if (c->listen != NULL)
			listen_mark(c, what);
}

void
mcp_changed(struct mcp *m, unsigned what, const void *owner)
{
	struct session *s, *below;

	TAILQ_FOREACH(s, &m->sessions, sibling) {
		if (owner != NULL && owner != s)
			continue;
		if (s->initialized)
			s->changed |= what;
		mark_calls(s, what);
		TAILQ_FOREACH(below, &s->children, sibling)
			mark_calls(below, what);
	}
	changed_tell(m);
}

void
mcp_resources_changed(struct mcp *m, const void *owner)
{
	mcp_changed(m, CHANGED_RESOURCES, owner);
}

static void
mark_uri(struct session *s, const char *uri)
{
	struct call *c;

	if (json_object_get(s->watched, uri) != NULL)
		json_object_set_new(s->watched, uri, json_true());
	TAILQ_FOREACH(c, &s->calls, entry)
		if (c->listen != NULL)
			listen_mark_uri(c, uri);
}

void
mcp_resource_updated(struct mcp *m, const char *uri)
{
	struct session *s, *below;

	if (m->nwatched == 0)
		return;
	TAILQ_FOREACH(s, &m->sessions, sibling) {
		mark_uri(s, uri);
		TAILQ_FOREACH(below, &s->children, sibling)
			mark_uri(below, uri);
	}
	changed_tell(m);
}

void
changed_forget(struct session *s)
{
	s->mcp->nwatched -= json_object_size(s->watched);
	json_decref(s->watched);
	s->watched = NULL;
}

json_t *
mcp_subscribe(struct request *r)
{
	struct session *s = session_root(r->session);
	json_t *uri = json_object_get(r->params, "uri");
	const char *text = json_string_value(uri);

	if (text == NULL)
		return mcp_wrong(r, r->params, "uri", "a string");
	if (run_store_find(s->mcp->store, text) == NULL)
		return mcp_fail(r, RPC_UNKNOWN_RESOURCE,
		    json_pack("{s:O}", "uri", uri), "There is no such "
		    "resource, or not any more.");
	if (s->watched == NULL)
		s->watched = json_object();
	if (json_object_get(s->watched, text) != NULL)
		return json_object();
	if (json_object_size(s->watched) >= WATCHED_MAX)
		return mcp_fail(r, RPC_INVALID_PARAMS, NULL, "A session may "
		    "subscribe to %d resources and has done so; unsubscribe "
		    "from one first.", WATCHED_MAX);
	json_object_set_new(s->watched, text, json_false());
	s->mcp->nwatched++;
	return json_object();
}

json_t *
mcp_unsubscribe(struct request *r)
{
	struct session *s = session_root(r->session);
	const char *uri = json_string_value(json_object_get(r->params,
	    "uri"));

	if (uri == NULL)
		return mcp_wrong(r, r->params, "uri", "a string");
	if (json_object_get(s->watched, uri) != NULL) {
		json_object_del(s->watched, uri);
		s->mcp->nwatched--;
	}
	return json_object();
}
