#include "config.h"

#include <string.h>
#include <strings.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>

#include "http_access.h"
#include "http_private.h"

/*
 * evhttp hands over a request when it has all of it, so the token is looked
 * at only after the body has been kept.  Until a connection has shown a token
 * of ours it may therefore send no more than EARLY_BODY_MAX of a body, and
 * its input is looked at as it comes for the header that lifts this.
 *
 * That is no second parser: what is found here only allows a larger body,
 * which whoever knows a token may send.  Each request is still checked as it
 * was.
 */

#define EARLY_BODY_MAX	(64 * 1024)
/* Longest header line that is looked at. */
#define LINE_MAX_BYTES	2048

static int
shows_token(struct http_conn *c, struct evbuffer *in, size_t at, size_t len)
{
	static const char name[] = "Authorization:";
	char line[LINE_MAX_BYTES + 1];
	struct evbuffer_ptr from;
	size_t n = sizeof name - 1;

	if (c->early_tried || len < n || len > LINE_MAX_BYTES ||
	    evbuffer_ptr_set(in, &from, at, EVBUFFER_PTR_SET) == -1 ||
	    evbuffer_copyout_from(in, &from, line, len) != (ev_ssize_t)len)
		return 0;
	if (strncasecmp(line, name, n) != 0)
		return 0;
	/* One guess a request, as everywhere. */
	c->early_tried = 1;
	while (len > n && strchr(" \t\r", line[len - 1]) != NULL)
		len--;
	line[len] = '\0';
	n += strspn(line + n, " \t");
	return http_access_bearer(c->http->access, line + n) != NULL;
}

/* Looks at each line once, and at no byte twice for its end. */
static void
on_input(struct evbuffer *in, const struct evbuffer_cb_info *info, void *arg)
{
	struct http_conn *c = arg;
	struct evbuffer_ptr from, end;
	size_t at = info->orig_size;

	c->early_line -= info->n_deleted < c->early_line ? info->n_deleted :
	    c->early_line;
	while (info->n_added > 0 && at < evbuffer_get_length(in)) {
		evbuffer_ptr_set(in, &from, at, EVBUFFER_PTR_SET);
		end = evbuffer_search(in, "\n", 1, &from);
		if (end.pos == -1)
			return;
		if (shows_token(c, in, c->early_line, end.pos -
		    c->early_line)) {
			http_early_end(c);
			return;
		}
		at = c->early_line = end.pos + 1;
	}
}

void
http_early_begin(struct http_conn *c)
{
	if (!http_access_asks(c->http->access))
		return;
	evhttp_connection_set_max_body_size(c->ev, EARLY_BODY_MAX);
	c->early = evbuffer_add_cb(bufferevent_get_input(c->bev), on_input,
	    c);
}

void
http_early_end(struct http_conn *c)
{
	if (c->early == NULL)
		return;
	evbuffer_remove_cb_entry(bufferevent_get_input(c->bev), c->early);
	c->early = NULL;
	evhttp_connection_set_max_body_size(c->ev, c->http->body_max);
}
