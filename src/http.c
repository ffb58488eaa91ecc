#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "addr.h"
#include "conf.h"
#include "http_access.h"
#include "http_private.h"
#include "inet_socket.h"
#include "log.h"
#include "mem.h"

#define HEADERS_MAX	32768
/* Pause after accept(2) failed for want of descriptors or memory. */
#define ACCEPT_PAUSE_S	1
/* A stream is quiet for no more than twice this long. */
#define BEAT_S		7

static const struct {
	enum http_method method;
	const char	*name;
} methods[] = {
	{ HTTP_M_GET, "GET" }, { HTTP_M_POST, "POST" },
	{ HTTP_M_DELETE, "DELETE" }
};

/* 0 if no route has it. */
static unsigned
method_of(struct evhttp_request *req)
{
	switch (evhttp_request_get_command(req)) {
	case EVHTTP_REQ_GET:
		return HTTP_M_GET;
	case EVHTTP_REQ_POST:
		return HTTP_M_POST;
	case EVHTTP_REQ_DELETE:
		return HTTP_M_DELETE;
	default:
		return 0;
	}
}

static void
refuse_method(struct http_request *r, unsigned allowed)
{
	char allow[64] = "";
	size_t i;

	for (i = 0; i < sizeof methods / sizeof methods[0]; i++)
		if ((allowed & methods[i].method) != 0) {
			if (allow[0] != '\0')
				strcat(allow, ", ");
			strcat(allow, methods[i].name);
		}
	http_set_header(r, "Allow", allow);
	http_fail(r, 405, "This path takes only %s.", allow);
}

/* Against pages that a browser was tricked into taking for ours. */
static int
refuse_stranger(struct http *h, struct http_request *r)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(r->ev);
	/* A URI may name its host itself, and then stands above the header
	 * (RFC 9112, section 3.2.2): neither may be a stranger's. */
	const char *hosts[] = { http_header(r, "Host"),
	    evhttp_uri_get_host(uri) };
	const char *origin = http_header(r, "Origin");
	size_t i;

	for (i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
		if (hosts[i] == NULL || http_access_host(h->access, hosts[i]))
			continue;
		http_fail(r, 403, "The host \"%.100s\" is not one that this "
		    "server answers to (http.hosts).", hosts[i]);
		return 1;
	}
	if (origin != NULL && !http_access_origin(h->access, origin)) {
		http_fail(r, 403, "Pages from \"%.100s\" may not send "
		    "requests here (http.origins).", origin);
		return 1;
	}
	return 0;
}

static int
refuse_bearer(struct http *h, struct http_request *r)
{
	const char *sent = http_header(r, "Authorization");
	const char *name = http_access_bearer(h->access, sent);

	if (name != NULL) {
		r->principal = xstrdup(name);
		return 0;
	}
	/* RFC 6750, section 3. */
	http_set_header(r, "WWW-Authenticate", sent == NULL ?
	    "Bearer realm=\"adder\"" :
	    "Bearer realm=\"adder\", error=\"invalid_token\"");
	http_fail(r, 401, sent == NULL ? "Send the header \"Authorization: "
	    "Bearer TOKEN\" with a token of this server." :
	    "The token is not one of this server's (http.token_file).");
	return 1;
}

static void
route(struct http *h, struct http_request *r)
{
	const char *path = evhttp_uri_get_path(
	    evhttp_request_get_evhttp_uri(r->ev));
	const struct http_route *to;
	size_t i;

	for (i = 0; i < h->nroutes; i++)
		if (path != NULL && strcmp(h->routes[i].route->path,
		    path) == 0)
			break;
	if (i == h->nroutes) {
		http_fail(r, 404, "There is nothing at this path.");
		return;
	}
	to = h->routes[i].route;
	if ((to->flags & HTTP_PUBLIC) != 0)
		r->principal = xstrdup("");
	else if (refuse_bearer(h, r))
		return;
	if ((to->methods & method_of(r->ev)) == 0)
		refuse_method(r, to->methods);
	else if (h->stopping)
		http_fail(r, 503, "The server is shutting down.");
	else
		to->handle(r, h->routes[i].arg);
}

static void
on_request(struct evhttp_request *req, void *arg)
{
	struct http *h = arg;
	struct http_conn *c = http_conn_find(h, req);
	struct http_request *r = http_request_new(c, req);
	const char *why = http_shape(req);

	http_conn_busy(c);
	/* Where a body in chunks ends is a question on which parsers differ;
	 * so nothing is read behind one. */
	if (why != NULL || http_header(r, "Transfer-Encoding") != NULL)
		http_set_header(r, "Connection", "close");
	if (why != NULL) {
		http_fail(r, 400, "%s", why);
		return;
	}
	if (refuse_stranger(h, r))
		return;
	r->handling = 1;
	route(h, r);
	/* The handler may have ended the request. */
	if (c->request != NULL) {
		c->request->handling = 0;
		if (c->request->dropped)
			http_conn_close(c);
	}
}

static void
on_resume(evutil_socket_t fd, short what, void *arg)
{
	http_accept(arg);
}

static void
on_beat(evutil_socket_t fd, short what, void *arg)
{
	struct http *h = arg;
	struct http_conn *c;

	TAILQ_FOREACH(c, &h->busy, entry)
		if (c->request != NULL)
			http_sse_beat(c->request);
}

/* evhttp makes itself the argument of its listeners' callbacks. */
static struct http *accepting;

/* The waiting connection would wake us again at once, without end. */
static void
on_accept_error(struct evconnlistener *l, void *arg)
{
	static const struct timeval pause = { ACCEPT_PAUSE_S, 0 };

	log_warn("cannot accept an HTTP client, trying again in %d s",
	    ACCEPT_PAUSE_S);
	event_add(accepting->ev_resume, &pause);
	http_accept(accepting);
}

static int
on_bound(int fd, const char *address, void *arg, char **why)
{
	struct http *h = arg;
	struct evconnlistener *l = evconnlistener_new(h->base, NULL, NULL,
	    LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 511, fd);

	if (l == NULL || evhttp_bind_listener(h->ev, l) == NULL) {
		xasprintf(why, "cannot listen: %s", strerror(errno));
		if (l != NULL)
			evconnlistener_free(l);
		else
			close(fd);
		return -1;
	}
	evconnlistener_set_error_cb(l, on_accept_error);
	/* Tests, and whoever asked for port 0, read the port here. */
	log_info("listening on http %s", address);
	return 0;
}

static int
open_all(struct http *h, const struct conf *conf, char **why)
{
	const char *cursor = conf->listen_http, *trouble;
	struct addr a;

	while (addr_next(&cursor, &a, &trouble) == 1)
		if (inet_open(&a, "listen.http", on_bound, h, why) == -1)
			return -1;
	return 0;
}

static void
configure(struct http *h, const struct conf *conf)
{
	h->timeout.tv_sec = conf->http_timeout / 1000;
	h->timeout.tv_usec = conf->http_timeout % 1000 * 1000;
	h->connections_max = conf->clients_max;
	h->body_max = conf->message_max;
	/* Beyond it evhttp answers 413. */
	evhttp_set_max_body_size(h->ev, h->body_max);
}

struct http *
http_new(struct event_base *base, const struct conf *conf,
    void (*idle)(void *), void *arg, char **why)
{
	static const struct timeval beat = { BEAT_S, 0 };
	struct http *h = xcalloc(1, sizeof *h);

	*why = NULL;
	h->base = base;
	h->on_idle = idle;
	h->arg = arg;
	TAILQ_INIT(&h->idle);
	TAILQ_INIT(&h->busy);
	TAILQ_INIT(&h->fresh);
	h->ev_resume = event_new(base, -1, 0, on_resume, h);
	http_page_init(h);
	h->ev_beat = event_new(base, -1, EV_PERSIST, on_beat, h);
	event_add(h->ev_beat, &beat);
	accepting = h;
	if ((h->ev = evhttp_new(base)) == NULL)
		fatalx("no memory for HTTP");
	evhttp_set_default_content_type(h->ev, NULL);
	evhttp_set_max_headers_size(h->ev, HEADERS_MAX);
	/* All that it knows: what no route takes is for us to answer. */
	evhttp_set_allowed_methods(h->ev, EVHTTP_REQ_GET | EVHTTP_REQ_POST |
	    EVHTTP_REQ_HEAD | EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE |
	    EVHTTP_REQ_OPTIONS | EVHTTP_REQ_TRACE | EVHTTP_REQ_CONNECT |
	    EVHTTP_REQ_PATCH);
	/* Who sends too much reads the refusal only after sending. */
	evhttp_set_flags(h->ev, EVHTTP_SERVER_LINGERING_CLOSE);
	evhttp_set_bevcb(h->ev, http_conn_new, h);
	evhttp_set_gencb(h->ev, on_request, h);
	configure(h, conf);
	h->access = http_access_new(conf, why);
	if (h->access == NULL || open_all(h, conf, why) == -1)
		http_free(&h);
	return h;
}

void
http_free(struct http **hp)
{
	struct http *h = *hp;
	struct evhttp *ev;

	if (h == NULL)
		return;
	*hp = NULL;
	ev = h->ev;
	h->ev = NULL;
	http_conns_begin(h);
	evhttp_free(ev);
	event_free(h->ev_resume);
	event_free(h->ev_pages);
	event_free(h->ev_beat);
	http_access_free(&h->access);
	free(h->by_fd);
	free(h);
}

void
http_add_route(struct http *h, const struct http_route *to, void *arg)
{
	if (h->nroutes == HTTP_ROUTES_MAX)
		fatalx("HTTP_ROUTES_MAX is too small");
	h->routes[h->nroutes].route = to;
	h->routes[h->nroutes++].arg = arg;
}

void
http_set_conf(struct http *h, const struct conf *conf)
{
	configure(h, conf);
	http_access_reload(h->access, conf);
	http_accept(h);
}

void
http_stop(struct http *h)
{
	struct http_conn *c, *next;
	struct http_request *r;

	h->stopping = 1;
	http_accept(h);
	for (c = TAILQ_FIRST(&h->busy); c != NULL; c = next) {
		next = TAILQ_NEXT(c, entry);
		r = c->request;
		if (r != NULL && r->watcher != NULL &&
		    r->watcher->stop != NULL)
			r->watcher->stop(r, r->arg);
	}
	http_conns_begin(h);
	while ((c = TAILQ_FIRST(&h->idle)) != NULL)
		http_conn_close(c);
}

unsigned
http_connections(const struct http *h)
{
	return h->nidle + h->nbusy;
}
