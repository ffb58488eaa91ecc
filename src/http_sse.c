#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "http_private.h"
#include "http_sse.h"
#include "mem.h"

void
http_sse_start(struct http_request *r)
{
	r->sse = 1;
	http_stream_start(r, 200, "text/event-stream");
	/* So that the headers are seen as more than the start of a page. */
	http_stream_write(r, ": adder\n\n", 9);
}

void
http_sse_event(struct http_request *r, const char *id, const char *name,
    const char *data, size_t len)
{
	char *text;
	int n;

	r->quiet = 0;
	n = xasprintf(&text, "%s%s%sevent: %s\ndata: %.*s\n\n",
	    id != NULL ? "id: " : "", id != NULL ? id : "",
	    id != NULL ? "\n" : "", name != NULL ? name : "message",
	    (int)len, data);
	http_stream_write(r, text, n);
	free(text);
}

void
http_sse_send(struct http_request *r, const char *name, const char *data,
    size_t len)
{
	http_sse_event(r, NULL, name, data, len);
}

void
http_sse_prime(struct http_request *r, const char *id, unsigned retry_ms)
{
	char text[96];
	int n = snprintf(text, sizeof text, "retry: %u\nid: %s\ndata: \n\n",
	    retry_ms, id);

	http_stream_write(r, text, n);
}

void
http_sse_beat(struct http_request *r)
{
	/* Not right after an event, and not on top of what nobody reads. */
	if (r->sse && !r->full && r->quiet)
		http_stream_write(r, ": keepalive\n\n", 13);
	r->quiet = 1;
}
