#include "config.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>

#include <jansson.h>

#include "http_private.h"
#include "json.h"
#include "log.h"
#include "mem.h"

/* Unsent bytes above which a stream is held back. */
#define OUTPUT_HIGH	(1024 * 1024)

static const struct {
	int		 status;
	const char	*reason;
} reasons[] = {
	{ 200, "OK" }, { 202, "Accepted" }, { 204, "No Content" },
	{ 400, "Bad Request" }, { 401, "Unauthorized" },
	{ 403, "Forbidden" }, { 404, "Not Found" },
	{ 405, "Method Not Allowed" }, { 406, "Not Acceptable" },
	{ 409, "Conflict" }, { 413, "Content Too Large" },
	{ 415, "Unsupported Media Type" }, { 429, "Too Many Requests" },
	{ 500, "Internal Server Error" }, { 503, "Service Unavailable" }
};

static const char *
reason_of(int status)
{
	size_t i;

	for (i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Status";
}

struct http_request *
http_request_new(struct http_conn *c, struct evhttp_request *ev)
{
	struct http_request *r = xcalloc(1, sizeof *r);

	r->conn = c;
	r->ev = ev;
	c->request = r;
	return r;
}

void
http_request_free(struct http_request *r)
{
	if (r->conn != NULL)
		r->conn->request = NULL;
	free(r->principal);
	free(r);
}

void
http_request_gone(struct http_request *r)
{
	/* evhttp lets go of a request whose connection failed. */
	if (evhttp_request_get_connection(r->ev) == NULL)
		evhttp_request_free(r->ev);
	if (r->watcher != NULL)
		r->watcher->gone(r, r->arg);
	http_request_free(r);
}

enum http_method
http_method(const struct http_request *r)
{
	switch (evhttp_request_get_command(r->ev)) {
	case EVHTTP_REQ_POST:
		return HTTP_M_POST;
	case EVHTTP_REQ_DELETE:
		return HTTP_M_DELETE;
	default:
		return HTTP_M_GET;
	}
}

const char *
http_header(const struct http_request *r, const char *name)
{
	return evhttp_find_header(evhttp_request_get_input_headers(r->ev),
	    name);
}

const char *
http_body(const struct http_request *r, size_t *len)
{
	struct evbuffer *in = evhttp_request_get_input_buffer(r->ev);

	*len = evbuffer_get_length(in);
	return *len == 0 ? "" : (const char *)evbuffer_pullup(in, -1);
}

const char *
http_query(const struct http_request *r)
{
	const char *query = evhttp_uri_get_query(
	    evhttp_request_get_evhttp_uri(r->ev));

	return query == NULL ? "" : query;
}

const char *
http_principal(const struct http_request *r)
{
	return r->principal;
}

const char *
http_peer(const struct http_request *r)
{
	return r->conn->name;
}

int
http_content_is(const struct http_request *r, const char *type)
{
	const char *value = http_header(r, "Content-Type");
	size_t len = strlen(type);

	return value != NULL && strncasecmp(value, type, len) == 0 &&
	    strchr("; \t", value[len]) != NULL;
}

void
http_set_header(struct http_request *r, const char *name, const char *value)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(r->ev);

	evhttp_remove_header(headers, name);
	evhttp_add_header(headers, name, value);
}

static void
on_complete(struct evhttp_request *ev, void *arg)
{
	http_conn_idle(arg);
}

static void
prepare(struct http_request *r, const char *type)
{
	if (type != NULL)
		http_set_header(r, "Content-Type", type);
	http_set_header(r, "X-Content-Type-Options", "nosniff");
	if (r->conn->http->stopping)
		http_set_header(r, "Connection", "close");
	evhttp_request_set_on_complete_cb(r->ev, on_complete, r->conn);
}

void
http_reply(struct http_request *r, int status, const char *type,
    const char *body, size_t len)
{
	struct evbuffer *out = evbuffer_new();
	struct evhttp_request *ev = r->ev;

	if (out == NULL || (len > 0 && evbuffer_add(out, body, len) == -1))
		fatalx("no memory for an answer");
	prepare(r, type);
	http_request_free(r);
	evhttp_send_reply(ev, status, reason_of(status), out);
	evbuffer_free(out);
}

void
http_fail(struct http_request *r, int status, const char *fmt, ...)
{
	char *why, *line;
	json_t *body;
	va_list ap;
	size_t len;

	va_start(ap, fmt);
	len = xvasprintf(&why, fmt, ap);
	va_end(ap);
	body = json_pack("{s:o}", "error", json_text(why, len));
	line = json_line(body, &len);
	http_reply(r, status, "application/json", line, len);
	free(line);
	json_decref(body);
	free(why);
}

void
http_watch(struct http_request *r, const struct http_watcher *watcher,
    void *arg)
{
	r->watcher = watcher;
	r->arg = arg;
}

static void
set_full(struct http_request *r, int on)
{
	if (r->full == on)
		return;
	r->full = on;
	if (r->watcher != NULL && r->watcher->full != NULL)
		r->watcher->full(r, on, r->arg);
}

/* evhttp has written all that it had. */
static void
on_drained(struct evhttp_connection *ev, void *arg)
{
	struct http_conn *c = arg;

	if (c->request != NULL)
		set_full(c->request, 0);
}

void
http_stream_start(struct http_request *r, int status, const char *type)
{
	http_set_header(r, "Cache-Control", "no-cache, no-transform");
	http_set_header(r, "X-Accel-Buffering", "no");
	prepare(r, type);
	r->streaming = 1;
	evhttp_send_reply_start(r->ev, status, reason_of(status));
}

void
http_stream_write(struct http_request *r, const char *data, size_t len)
{
	struct evbuffer *out = evbuffer_new();

	if (out == NULL || evbuffer_add(out, data, len) == -1)
		fatalx("no memory for an answer");
	evhttp_send_reply_chunk_with_cb(r->ev, out, on_drained, r->conn);
	evbuffer_free(out);
	if (evbuffer_get_length(bufferevent_get_output(r->conn->bev)) >
	    OUTPUT_HIGH)
		set_full(r, 1);
}

void
http_stream_end(struct http_request *r)
{
	struct evhttp_request *ev = r->ev;

	http_request_free(r);
	evhttp_send_reply_end(ev);
}

void
http_drop(struct http_request *r)
{
	struct http_conn *c = r->conn;

	r->watcher = NULL;
	if (r->handling)
		r->dropped = 1;
	else
		http_conn_close(c);
}
