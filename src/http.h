#ifndef ADDER_HTTP_H
#define ADDER_HTTP_H

#include <stddef.h>
#include <stdint.h>

/*
 * HTTP/1.1 on libevent's evhttp: who may ask, routes, and answers in one
 * piece or as a stream that a slow client holds back.
 */

struct conf;
struct event_base;
struct http;
struct http_request;

enum http_method { HTTP_M_GET = 1 << 0, HTTP_M_POST = 1 << 1,
    HTTP_M_DELETE = 1 << 2 };

/* No token is asked for. */
enum http_route_flag { HTTP_PUBLIC = 1 << 0 };

struct http_route {
	const char	*path;		/* compared whole */
	unsigned	 methods;	/* of enum http_method */
	unsigned	 flags;
	/* Answers, now or later: each request ends in http_reply(),
	 * http_stream_end() or http_drop(), unless its client goes first. */
	void		(*handle)(struct http_request *, void *arg);
};

/* Calls up to whoever answers later; all from the main loop. */
struct http_watcher {
	/* The client is gone, and so is the request after this call. */
	void	(*gone)(struct http_request *, void *arg);
	/* A stream's client does not read (on), which http_stream_write()
	 * finds out, or has caught up.  May be NULL. */
	void	(*full)(struct http_request *, int on, void *arg);
	/* The server ends: answer now.  May be NULL. */
	void	(*stop)(struct http_request *, void *arg);
};

/* Opens what listen.http names, maybe nothing.  NULL with *why (the
 * caller's to free).  idle is called when the last connection closes. */
struct http	*http_new(struct event_base *, const struct conf *,
		    void (*idle)(void *), void *arg, char **why);
/* The route is referenced. */
void		 http_add_route(struct http *, const struct http_route *,
		    void *arg);
void		 http_set_conf(struct http *, const struct conf *);
/* Takes no more requests, has open ones answered, closes what is idle. */
void		 http_stop(struct http *);
/* Closes at once. */
void		 http_free(struct http **);
unsigned	 http_connections(const struct http *);

/* --- a request: what came */

enum http_method http_method(const struct http_request *);
/* NULL if there is none of this name, which is compared without case. */
const char	*http_header(const struct http_request *, const char *name);
/* Bytes of the request, until it ends; not NUL-terminated. */
const char	*http_body(const struct http_request *, size_t *len);
/* What comes behind the question mark, or "". */
const char	*http_query(const struct http_request *);
/* The name of the token it came with; "" if none is asked for. */
const char	*http_principal(const struct http_request *);
/* "http client (127.0.0.1:7000)". */
const char	*http_peer(const struct http_request *);
/* Whether Content-Type is this one, parameters aside. */
int		 http_content_is(const struct http_request *,
		    const char *type);

/* --- what it is answered */

void		 http_set_header(struct http_request *, const char *name,
		    const char *value);
/* One answer and the end of the request; type NULL if there is no body. */
void		 http_reply(struct http_request *, int status,
		    const char *type, const char *body, size_t len);
/* The same with {"error": sentence} as body. */
void		 http_fail(struct http_request *, int status,
		    const char *, ...) __attribute__((format(printf, 3, 4)));
/* For those who answer later; NULL for nobody. */
void		 http_watch(struct http_request *,
		    const struct http_watcher *, void *arg);
void		 http_stream_start(struct http_request *, int status,
		    const char *type);
void		 http_stream_write(struct http_request *, const char *,
		    size_t len);
void		 http_stream_end(struct http_request *);
/* Ends the request without an answer, by closing the connection. */
void		 http_drop(struct http_request *);

#endif
