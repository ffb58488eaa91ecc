#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <event2/event.h>

#include "clock.h"
#include "conf.h"
#include "dispatcher.h"
#include "listener.h"
#include "log.h"
#include "mcp.h"
#include "mem.h"
#include "policy_name.h"
#include "rpc_id_scan.h"
#include "server_private.h"

/*
 * A client joins a transport to a session.
 *
 * When it ends its side, what it asked for is still answered.  A host that
 * closes our stdin wants us gone, though, and kills us after two seconds.  So
 * on stdio the calls that are open get DRAIN_US from then on, or from the
 * moment that Python is warm, which may be later for a program that was
 * piped in: printf ... | adderd --stdio.
 */
#define DRAIN_US	500000
#define DRAIN_START_US	60000000
#define DRAIN_LOOK_US	20000

struct client {
	TAILQ_ENTRY(client)	 entry;
	struct server		*server;
	struct transport	*transport;
	struct session		*session;
	enum transport_kind	 kind;
	char			*name;
	int			 ended;
	struct event		*ev_drain;
	uint64_t		 ended_us;
	uint64_t		 ready_us;	/* 0 until Python is warm */
	struct rpc_id_scan	*scan;		/* of an overlong line */
};

static void
client_free(struct client *c)
{
	struct server *s = c->server;

	TAILQ_REMOVE(&s->clients, c, entry);
	s->nclients--;
	log_debug("%s left", c->name);
	session_free(&c->session);
	transport_free(&c->transport);
	if (c->ev_drain != NULL)
		event_free(c->ev_drain);
	free(c->scan);
	free(c->name);
	free(c);
}

static void
on_line(struct transport *t, const char *line, size_t len, void *arg)
{
	struct client *c = arg;

	session_receive(c->session, line, len);
}

static void
on_skipped(struct transport *t, const char *text, size_t len, void *arg)
{
	struct client *c = arg;

	if (c->scan == NULL)
		c->scan = xcalloc(1, sizeof *c->scan);
	rpc_id_scan(c->scan, text, len);
}

static void
on_overlong(struct transport *t, uint64_t len, void *arg)
{
	struct client *c = arg;
	struct rpc_id_scan *scan = c->scan;

	c->scan = NULL;
	session_overlong(c->session, len, transport_max(t), scan);
	free(scan);
}

static void
on_full(struct transport *t, int on, void *arg)
{
	struct client *c = arg;

	session_hold(c->session, on);
}

static void
on_drain(evutil_socket_t fd, short what, void *arg)
{
	struct client *c = arg;
	struct dispatcher_status st;
	uint64_t now = clock_us();

	dispatcher_status(c->server->dispatcher, &st);
	if (c->ready_us == 0 && st.warm)
		c->ready_us = now;
	if (c->ready_us != 0 ? now - c->ready_us < DRAIN_US :
	    now - c->ended_us < DRAIN_START_US)
		return;
	event_del(c->ev_drain);
	session_abort(c->session, "The input ended before the call did, so "
	    "it was stopped.");
}

static void
on_ended(struct transport *t, void *arg)
{
	static const struct timeval look = { 0, DRAIN_LOOK_US };
	struct client *c = arg;

	session_ended(c->session);
	c->ended = 1;
	if (session_open(c->session) == 0) {
		transport_finish(t);
		return;
	}
	if (c->kind != TRANSPORT_STDIO)
		return;
	c->ended_us = clock_us();
	c->ev_drain = event_new(c->server->base, -1, EV_PERSIST, on_drain, c);
	event_add(c->ev_drain, &look);
	on_drain(-1, 0, c);
}

static void
on_gone(struct transport *t, void *arg)
{
	struct client *c = arg;
	struct server *s = c->server;
	int last = c->kind == TRANSPORT_STDIO;

	client_free(c);
	if (s->listeners != NULL)
		listeners_pause(s->listeners,
		    s->nclients >= s->conf->clients_max);
	/* Whoever started us on a pipe is gone, or we are done. */
	if (s->stopping ? !server_has_clients(s) : last)
		server_stop(s);
}

static const struct transport_handler handler = {
	on_line, on_skipped, on_overlong, on_full, on_ended, on_gone
};

static void
carry(void *arg, const char *text, size_t len)
{
	struct client *c = arg;

	transport_send(c->transport, text, len);
}

static void
on_settled(void *arg)
{
	struct client *c = arg;

	if (c->ended)
		transport_finish(c->transport);
}

static const struct mcp_carrier carrier = { carry, on_settled, NULL, NULL };

static enum policy
policy_of(const struct conf *conf, enum transport_kind kind)
{
	const char *name = kind == TRANSPORT_UNIX ? conf->listen_unix_policy :
	    kind == TRANSPORT_TCP ? conf->listen_tcp_policy : "";
	enum policy policy = POLICY_ISOLATED;

	(void)policy_parse(name[0] != '\0' ? name : conf->policy, &policy);
	return policy;
}

/* Who it is, as far as the kernel or the way it came tells. */
static void
set_owner(struct session *session, enum transport_kind kind, int fd)
{
	struct ucred peer;
	socklen_t len = sizeof peer;
	char owner[32];

	if (kind == TRANSPORT_STDIO)
		session_set_owner(session, "stdio");
	if (kind != TRANSPORT_UNIX || getsockopt(fd, SOL_SOCKET, SO_PEERCRED,
	    &peer, &len) == -1)
		return;
	snprintf(owner, sizeof owner, "uid %u", (unsigned)peer.uid);
	session_set_owner(session, owner);
}

void
client_new(struct server *s, enum transport_kind kind, int in, int out,
    const char *name)
{
	struct client *c = xcalloc(1, sizeof *c);

	c->server = s;
	c->kind = kind;
	c->name = xstrdup(name);
	c->session = session_new(s->mcp, &carrier, c, name);
	session_set_policy(c->session, policy_of(s->conf, kind));
	set_owner(c->session, kind, in);
	c->transport = transport_new(s->base, kind, in, out,
	    s->conf->message_max, &handler, c);
	TAILQ_INSERT_TAIL(&s->clients, c, entry);
	s->nclients++;
	log_debug("%s joined", name);
	if (s->listeners != NULL && s->nclients >= s->conf->clients_max)
		listeners_pause(s->listeners, 1);
}

void
clients_stop(struct server *s, const char *why)
{
	struct client *c;

	TAILQ_FOREACH(c, &s->clients, entry) {
		session_abort(c->session, why);
		transport_finish(c->transport);
	}
}

void
clients_free(struct server *s)
{
	struct client *c;

	while ((c = TAILQ_FIRST(&s->clients)) != NULL)
		client_free(c);
}

void
clients_set_conf(struct server *s)
{
	struct client *c;

	TAILQ_FOREACH(c, &s->clients, entry)
		transport_set_max(c->transport, s->conf->message_max);
	if (s->listeners != NULL)
		listeners_pause(s->listeners,
		    s->nclients >= s->conf->clients_max);
}
