#ifndef ADDER_HTTP_PRIVATE_H
#define ADDER_HTTP_PRIVATE_H

#include <stdint.h>
#include <sys/queue.h>
#include <sys/time.h>

#include "http.h"

/* What the http*.c files share. */

struct bufferevent;
struct evbuffer_cb_entry;
struct event;
struct evhttp_connection;
struct evhttp_request;
struct http_access;

#define HTTP_ROUTES_MAX	16

struct http {
	struct event_base	*base;
	struct evhttp		*ev;
	struct http_access	*access;
	struct timeval		 timeout;
	unsigned		 connections_max;
	uint64_t		 body_max;
	struct {
		const struct http_route	*route;
		void			*arg;
	}			 routes[HTTP_ROUTES_MAX];
	size_t			 nroutes;
	/* The oldest first. */
	TAILQ_HEAD(http_conns, http_conn) idle;
	struct http_conns	 busy;
	struct http_conns	 fresh;		/* not begun yet */
	unsigned		 nidle, nbusy;
	struct http_conn	**by_fd;
	size_t			 nby_fd;
	struct event		*ev_resume;	/* after an accept error */
	struct event		*ev_pages;	/* pages of evhttp's */
	struct event		*ev_beat;
	int			 stopping;
	void			(*on_idle)(void *);
	void			*arg;
};

/* A connection; idle while it has no whole request. */
struct http_conn {
	TAILQ_ENTRY(http_conn)	 entry;
	struct http		*http;
	struct bufferevent	*bev;		/* evhttp's */
	struct evhttp_connection *ev;	/* NULL before it begins */
	int			 fd;
	int			 is_busy;
	int			 has_page;	/* perhaps, to be replaced */
	struct event		*ev_timer;	/* begins, then times out */
	struct http_request	*request;	/* NULL once it is answered */
	struct evbuffer_cb_entry *early;	/* until it shows a token */
	size_t			 early_line;	/* where a line begins */
	int			 early_tried;	/* in this request */
	char			 name[112];
};

struct http_request {
	struct http_conn	*conn;
	struct evhttp_request	*ev;
	const struct http_watcher *watcher;
	void			*arg;
	char			*principal;
	int			 streaming;
	int			 sse;
	int			 quiet;		/* since the last beat */
	int			 full;
	int			 handling;	/* the handler is running */
	int			 dropped;	/* and has dropped it */
};

/* --- http_conn.c */

/* For evhttp_set_bevcb(); arg is the http. */
struct bufferevent *http_conn_new(struct event_base *, void *arg);
struct http_conn *http_conn_find(struct http *, struct evhttp_request *);
/* A whole request is there: watch for the client to leave. */
void	 http_conn_busy(struct http_conn *);
/* Its answer is sent: back to waiting for another. */
void	 http_conn_idle(struct http_conn *);
void	 http_conn_close(struct http_conn *);
/* Has those that have not begun do so. */
void	 http_conns_begin(struct http *);
/* Accepts more clients or not, as there is room. */
void	 http_accept(struct http *);

/* --- http_early.c */

/* Bounds what a connection may send until it has shown a token. */
void	 http_early_begin(struct http_conn *);
/* It has, or it is closed. */
void	 http_early_end(struct http_conn *);

/* --- http_page.c */

/* Once; and for each connection, whose output is watched from then on. */
void	 http_page_init(struct http *);
void	 http_page_watch(struct http_conn *);

/* --- http_request.c */

struct http_request *http_request_new(struct http_conn *,
	    struct evhttp_request *);
void	 http_request_free(struct http_request *);
/* Its client is gone. */
void	 http_request_gone(struct http_request *);

/* --- http_sse.c */

/* Now and then: says something where nothing was said for a while. */
void	 http_sse_beat(struct http_request *);

/* --- http_shape.c */

/* NULL, or what is wrong with a request that can be read in two ways
 * (RFC 9112, sections 6 and 11.2). */
const char *http_shape(struct evhttp_request *);

#endif
