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
/* The same with an id that the client may name later; NULL for none. */
void	http_sse_event(struct http_request *, const char *id,
	    const char *name, const char *data, size_t len);
/* An event without data: has the client remember the id, and come back after
 * so long if the stream breaks. */
void	http_sse_prime(struct http_request *, const char *id,
	    unsigned retry_ms);

#endif
