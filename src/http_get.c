#include "config.h"

#include "http.h"
#include "http_get.h"
#include "http_session.h"
#include "http_takes.h"
#include "mcp.h"

/* --- the stream for what belongs to no request */

static void
on_gone(struct http_stream *s, void *arg)
{
	struct http_session *home = arg;

	http_session_used(home);
	session_hold(home->root, 0);
}

static void
on_full(struct http_stream *s, int on, void *arg)
{
	struct http_session *home = arg;

	session_hold(home->root, on);
}

static void
on_stop(struct http_stream *s, void *arg)
{
	struct http_session *home = arg;

	home->listener = NULL;
	http_stream_close(s);
}

static const struct http_stream_owner owner = { on_gone, on_full, on_stop };

void
http_get_refuse(struct http_request *r, const char *why)
{
	http_set_header(r, "Allow", "GET, POST, DELETE");
	http_refuse(r, 405, why);
}

static void
open_listener(struct http_sessions *all, struct http_session *home,
    struct http_request *r)
{
	struct http_stream *old = home->listener;

	if (old != NULL && http_stream_attached(old)) {
		http_refuse(r, 409, "This session has a stream by GET "
		    "already; end it first.");
		return;
	}
	/* Who does not name an event starts anew. */
	if (old != NULL)
		http_stream_free(&home->streams, old);
	home->listener = http_session_stream(all, home, &owner, home);
	http_stream_attach(home->listener, r, 0);
}

void
http_get(struct http_sessions *all, struct http_session *home,
    struct http_request *r)
{
	const char *last = http_header(r, "Last-Event-ID");
	struct http_stream *s;
	uint64_t serial;

	if (last == NULL) {
		open_listener(all, home, r);
		return;
	}
	s = http_stream_find(&home->streams, last, &serial);
	if (s == NULL || !http_stream_waits(s, serial))
		http_get_refuse(r, "Nothing more is kept of the stream of "
		    "this Last-Event-ID.");
	else
		http_stream_attach(s, r, serial);
}
