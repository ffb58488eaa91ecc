#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "http_private.h"
#include "json.h"
#include "mem.h"

/*
 * What evhttp refuses by itself, such as a body that is too large, it answers
 * with a page of HTML, and libevent 2.1 has no call to change that.  So the
 * page is replaced in the output, before the loop comes to write any of it,
 * by JSON like every other refusal.
 */

#define PAGE_MAX	4096

static const char *
reason(const struct http_conn *c, int status, char *buf, size_t len)
{
	switch (status) {
	case 400:
		return "This is no HTTP request that can be read, or its "
		    "headers are longer than 32 KiB.";
	case 413:
		if (c->early != NULL)
			return "The body is larger than 64 KiB, the most "
			    "that is taken without a token; send the header "
			    "Authorization with one.";
		snprintf(buf, len, "The body is larger than %llu bytes, the "
		    "most that is taken (message.max); send less.",
		    (unsigned long long)c->http->body_max);
		return buf;
	case 417:
		return "The header Expect asks for what is not known here.";
	default:
		return "The method of the request is not known here.";
	}
}

/* What takes the place of the page: its status line, and JSON. */
static void
make(const struct http_conn *c, const char *page, struct evbuffer *out)
{
	int status = atoi(page + strlen("HTTP/1.1 "));
	char text[256];
	json_t *body;
	size_t len;
	char *line;

	body = json_pack("{s:s}", "error", reason(c, status, text,
	    sizeof text));
	line = json_line(body, &len);
	evbuffer_add_printf(out, "%.*s\r\nContent-Type: application/json\r\n"
	    "Content-Length: %zu\r\nX-Content-Type-Options: nosniff\r\n"
	    "Connection: close\r\n\r\n", (int)strcspn(page, "\r\n"), page,
	    len);
	evbuffer_add(out, line, len);
	free(line);
	json_decref(body);
}

static void
replace(struct http_conn *c)
{
	struct evbuffer *out = bufferevent_get_output(c->bev);
	char page[PAGE_MAX + 1];
	ev_ssize_t n = evbuffer_copyout(out, page, PAGE_MAX);

	if (n <= 0 || n == PAGE_MAX)
		return;
	page[n] = '\0';
	/* "100 Continue" is for evhttp to say. */
	if (strncmp(page, "HTTP/1.", 7) != 0 || (page[9] != '4' &&
	    page[9] != '5') || strstr(page, "<HTML>") == NULL)
		return;
	/* A bufferevent holds the front of its output. */
	evbuffer_unfreeze(out, 1);
	evbuffer_drain(out, n);
	evbuffer_freeze(out, 1);
	make(c, page, out);
}

static void
on_pages(evutil_socket_t fd, short what, void *arg)
{
	struct http *h = arg;
	struct http_conn *c;

	TAILQ_FOREACH(c, &h->idle, entry)
		if (c->has_page) {
			c->has_page = 0;
			replace(c);
		}
}

/* Something is to be written that is not for a request of ours. */
static void
on_output(struct evbuffer *out, const struct evbuffer_cb_info *info,
    void *arg)
{
	struct http_conn *c = arg;

	if (c->is_busy || c->has_page || info->n_added == 0 ||
	    info->orig_size > 0)
		return;
	c->has_page = 1;
	event_active(c->http->ev_pages, 0, 0);
}

void
http_page_init(struct http *h)
{
	h->ev_pages = event_new(h->base, -1, 0, on_pages, h);
}

void
http_page_watch(struct http_conn *c)
{
	evbuffer_add_cb(bufferevent_get_output(c->bev), on_output, c);
}
