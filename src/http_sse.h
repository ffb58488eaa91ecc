#ifndef ADDER_HTTP_SSE_H
#define ADDER_HTTP_SSE_H

#include <stddef.h>

struct http_request;

/*
 * Server-sent events (HTML, section 9.2) on a stream of http.h, which
 * http_stream_end() ends.  While nothing is sent, comments keep proxies and
 * clients from giving up.
 */
void	http_sse_start(struct http_request *);
/* name: NULL for "message"; data is one line. */
void	http_sse_send(struct http_request *, const char *name,
	    const char *data, size_t len);

#endif
