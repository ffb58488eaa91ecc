#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>

#include "conf.h"
#include "http.h"
#include "http_sse.h"
#include "http_sse_pair.h"
#include "log.h"
#include "mcp.h"
#include "mem.h"
#include "policy_name.h"

/* A stream and its session, which ends with it. */
struct pair {
	TAILQ_ENTRY(pair)	 entry;
	struct http_pair	*all;
	struct http_request	*stream;
	struct session		*session;
	char			*principal;
	char			 id[33];
};

struct http_pair {
	struct mcp		*mcp;
	int			 on;
	int			 policy;
	TAILQ_HEAD(, pair)	 list;
};

static void
on_send(void *arg, const char *text, size_t len)
{
	struct pair *p = arg;

	http_sse_send(p->stream, NULL, text, len);
}

static void
on_settled(void *arg)
{
	/* The stream outlasts every call. */
}

static const struct mcp_carrier carrier = { on_send, on_settled, NULL,
    NULL };

static void
pair_free(struct pair *p)
{
	TAILQ_REMOVE(&p->all->list, p, entry);
	session_free(&p->session);
	free(p->principal);
	free(p);
}

static void
on_gone(struct http_request *r, void *arg)
{
	pair_free(arg);
}

static void
on_full(struct http_request *r, int on, void *arg)
{
	struct pair *p = arg;

	session_hold(p->session, on);
}

static void
on_stop(struct http_request *r, void *arg)
{
	struct pair *p = arg;

	session_abort(p->session, "The server is shutting down.");
	pair_free(p);
	http_watch(r, NULL, NULL);
	http_stream_end(r);
}

static const struct http_watcher watcher = { on_gone, on_full, on_stop };

static void
make_id(char id[33])
{
	unsigned char random[16];
	size_t i;

	if (getrandom(random, sizeof random, 0) != sizeof random)
		fatal("no random bytes");
	for (i = 0; i < sizeof random; i++)
		snprintf(id + 2 * i, 3, "%02x", random[i]);
}

static int
refuse_off(const struct http_pair *all, struct http_request *r)
{
	if (!all->on)
		http_fail(r, 404, "There is nothing at this path "
		    "(http.legacy_sse).");
	return !all->on;
}

static void
on_stream(struct http_request *r, void *arg)
{
	struct http_pair *all = arg;
	char endpoint[64];
	struct pair *p;
	int n;

	if (refuse_off(all, r))
		return;
	p = xcalloc(1, sizeof *p);
	p->all = all;
	p->stream = r;
	p->principal = xstrdup(http_principal(r));
	make_id(p->id);
	p->session = session_new(all->mcp, &carrier, p, http_peer(r));
	session_set_policy(p->session, all->policy);
	TAILQ_INSERT_TAIL(&all->list, p, entry);
	http_watch(r, &watcher, p);
	http_sse_start(r);
	n = snprintf(endpoint, sizeof endpoint, "/messages?sessionId=%s",
	    p->id);
	http_sse_send(r, "endpoint", endpoint, n);
}

static struct pair *
find(struct http_pair *all, struct http_request *r)
{
	const char *query = http_query(r);
	struct pair *p;

	if (strncmp(query, "sessionId=", 10) != 0)
		return NULL;
	TAILQ_FOREACH(p, &all->list, entry)
		if (strcmp(p->id, query + 10) == 0 &&
		    strcmp(p->principal, http_principal(r)) == 0)
			return p;
	return NULL;
}

static void
on_message(struct http_request *r, void *arg)
{
	struct http_pair *all = arg;
	const char *body;
	struct pair *p;
	size_t len;

	if (refuse_off(all, r))
		return;
	if (!http_content_is(r, "application/json")) {
		http_fail(r, 415, "The Content-Type must be "
		    "application/json.");
		return;
	}
	if ((p = find(all, r)) == NULL) {
		http_fail(r, 404, "There is no such stream; open one by "
		    "GET /sse.");
		return;
	}
	body = http_body(r, &len);
	session_receive(p->session, body, len);
	http_reply(r, 202, NULL, NULL, 0);
}

static const struct http_route stream_route = { "/sse", HTTP_M_GET, 0,
    on_stream };
static const struct http_route message_route = { "/messages", HTTP_M_POST, 0,
    on_message };

void
http_pair_set_conf(struct http_pair *all, const struct conf *conf)
{
	const char *name = conf->listen_http_policy;
	enum policy policy = POLICY_ISOLATED;

	(void)policy_parse(name[0] != '\0' ? name : conf->policy, &policy);
	all->policy = policy;
	all->on = conf->http_legacy_sse;
}

struct http_pair *
http_pair_new(struct http *http, struct mcp *mcp, const struct conf *conf)
{
	struct http_pair *all = xcalloc(1, sizeof *all);

	all->mcp = mcp;
	TAILQ_INIT(&all->list);
	http_pair_set_conf(all, conf);
	http_add_route(http, &stream_route, all);
	http_add_route(http, &message_route, all);
	return all;
}

void
http_pair_free(struct http_pair **ap)
{
	free(*ap);
	*ap = NULL;
}
