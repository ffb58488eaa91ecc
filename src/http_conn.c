#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "http_private.h"
#include "inet_socket.h"
#include "log.h"
#include "mem.h"

/*
 * evhttp says nothing of a connection before it has a whole request, which a
 * client may never send.  So each connection has a record from its
 * bufferevent on, which evhttp lets us make, and a timer that a slow sender
 * cannot push on byte by byte.
 */

/* A client that takes nothing for so long, with output waiting, is dead. */
#define STALL_S		60
/* Bytes that may come before the answer to what came first. */
#define AHEAD_BYTES	65536

static void
set_list(struct http_conn *c, int busy)
{
	struct http *h = c->http;

	if (c->is_busy) {
		TAILQ_REMOVE(&h->busy, c, entry);
		h->nbusy--;
	} else {
		TAILQ_REMOVE(&h->idle, c, entry);
		h->nidle--;
	}
	c->is_busy = busy;
	if (busy) {
		TAILQ_INSERT_TAIL(&h->busy, c, entry);
		h->nbusy++;
	} else {
		TAILQ_INSERT_TAIL(&h->idle, c, entry);
		h->nidle++;
	}
}

static void
accept_on(struct evhttp_bound_socket *bound, void *arg)
{
	struct evconnlistener *l = evhttp_bound_socket_get_listener(bound);

	if (*(int *)arg)
		evconnlistener_enable(l);
	else
		evconnlistener_disable(l);
}

void
http_accept(struct http *h)
{
	int on = h->nbusy < h->connections_max && !h->stopping &&
	    !event_pending(h->ev_resume, EV_TIMEOUT, NULL);

	evhttp_foreach_bound_socket(h->ev, accept_on, &on);
}

/* Whoever has asked for nothing for longest makes room for who comes. */
static void
make_room(struct http *h)
{
	while (h->nidle + h->nbusy > h->connections_max && h->nidle > 1)
		http_conn_close(TAILQ_FIRST(&h->idle));
}

static void
on_close(struct evhttp_connection *ev, void *arg)
{
	struct http_conn *c = arg;
	struct http *h = c->http;
	struct http_request *r = c->request;

	http_early_end(c);
	set_list(c, 0);
	TAILQ_REMOVE(&h->idle, c, entry);
	h->nidle--;
	h->by_fd[c->fd] = NULL;
	event_free(c->ev_timer);
	if (r != NULL)
		http_request_gone(r);
	free(c);
	if (h->ev == NULL)
		return;		/* all of them are being freed */
	http_accept(h);
	if (h->nidle + h->nbusy == 0)
		h->on_idle(h->arg);
}

void
http_conn_close(struct http_conn *c)
{
	/* Calls on_close(). */
	evhttp_connection_free(c->ev);
}

static void
remember(struct http_conn *c)
{
	struct http *h = c->http;
	size_t n = h->nby_fd;

	if ((size_t)c->fd >= n) {
		h->nby_fd = c->fd + 64;
		h->by_fd = xreallocarray(h->by_fd, h->nby_fd,
		    sizeof *h->by_fd);
		memset(h->by_fd + n, 0, (h->nby_fd - n) * sizeof *h->by_fd);
	}
	h->by_fd[c->fd] = c;
}

static void
name_peer(struct http_conn *c)
{
	struct sockaddr_storage ss;
	socklen_t n = sizeof ss;
	char address[96] = "?";

	if (getpeername(c->fd, (struct sockaddr *)&ss, &n) == 0)
		inet_name((struct sockaddr *)&ss, n, address, sizeof address);
	snprintf(c->name, sizeof c->name, "http client (%s)", address);
}

/* evhttp has taken the bufferevent and made itself the argument of its
 * callbacks. */
static void
begin(struct http_conn *c)
{
	bufferevent_data_cb on_read, on_write;
	bufferevent_event_cb on_event;
	void *arg;

	TAILQ_REMOVE(&c->http->fresh, c, entry);
	TAILQ_INSERT_TAIL(&c->http->idle, c, entry);
	c->http->nidle++;
	bufferevent_getcb(c->bev, &on_read, &on_write, &on_event, &arg);
	c->ev = arg;
	c->fd = bufferevent_getfd(c->bev);
	inet_set_options(c->fd);
	name_peer(c);
	remember(c);
	evhttp_connection_set_closecb(c->ev, on_close, c);
	http_early_begin(c);
	http_page_watch(c);
	event_add(c->ev_timer, &c->http->timeout);
	if (c->http->ev != NULL) {
		make_room(c->http);
		http_accept(c->http);
	}
}

void
http_conns_begin(struct http *h)
{
	struct http_conn *c;

	while ((c = TAILQ_FIRST(&h->fresh)) != NULL)
		begin(c);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct http_conn *c = arg;

	if (c->ev == NULL)
		begin(c);
	else if (!c->is_busy)
		http_conn_close(c);
}

struct bufferevent *
http_conn_new(struct event_base *base, void *arg)
{
	struct http_conn *c = xcalloc(1, sizeof *c);

	c->http = arg;
	c->bev = bufferevent_socket_new(base, -1, 0);
	if (c->bev == NULL)
		fatalx("no memory for a connection");
	c->ev_timer = event_new(base, -1, 0, on_timer, c);
	TAILQ_INSERT_TAIL(&c->http->fresh, c, entry);
	/* Before anything can come over it. */
	event_active(c->ev_timer, EV_TIMEOUT, 0);
	return c->bev;
}

struct http_conn *
http_conn_find(struct http *h, struct evhttp_request *req)
{
	int fd = bufferevent_getfd(evhttp_connection_get_bufferevent(
	    evhttp_request_get_connection(req)));

	return h->by_fd[fd];
}

void
http_conn_busy(struct http_conn *c)
{
	static const struct timeval stall = { STALL_S, 0 };
	bufferevent_data_cb on_read, on_write;
	bufferevent_event_cb on_event;
	void *arg;

	set_list(c, 1);
	event_del(c->ev_timer);
	/* evhttp does not look for the end of a connection before it writes;
	 * what comes early must not reach it, and not grow. */
	bufferevent_getcb(c->bev, &on_read, &on_write, &on_event, &arg);
	bufferevent_setcb(c->bev, NULL, on_write, on_event, arg);
	bufferevent_setwatermark(c->bev, EV_READ, 0, AHEAD_BYTES);
	bufferevent_set_timeouts(c->bev, NULL, &stall);
	bufferevent_enable(c->bev, EV_READ);
	http_accept(c->http);
}

void
http_conn_idle(struct http_conn *c)
{
	bufferevent_setwatermark(c->bev, EV_READ, 0, 0);
	c->early_tried = 0;
	set_list(c, 0);
	event_add(c->ev_timer, &c->http->timeout);
	http_accept(c->http);
}
