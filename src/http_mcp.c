#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "http.h"
#include "http_get.h"
#include "http_mcp.h"
#include "http_post.h"
#include "http_session.h"
#include "http_takes.h"
#include "mcp.h"
#include "mem.h"
#include "policy_name.h"

struct http_mcp {
	struct conf		*conf;
	struct http_sessions	*sessions;
	struct http_posts	*posts;
};

/* The session that a request names; NULL if it is refused.  Without an id,
 * and in the modern era, that of its token. */
static struct http_session *
home_of(struct http_mcp *m, struct http_request *r)
{
	const char *id = http_header(r, "Mcp-Session-Id");
	struct http_session *s;

	if (id == NULL || http_is_modern(r))
		return http_session_of(m->sessions, http_principal(r));
	s = http_session_find(m->sessions, id, http_principal(r));
	if (s == NULL)
		http_refuse(r, 404, "There is no such session, or no longer; "
		    "begin a new one with initialize.");
	return s;
}

static void
on_post(struct http_mcp *m, struct http_request *r)
{
	struct http_session *home;

	if (!http_content_is(r, "application/json"))
		http_refuse(r, 415, "The Content-Type must be "
		    "application/json.");
	else if (http_takes(r) == 0)
		http_refuse(r, 406, "Accept must list application/json and "
		    "text/event-stream.");
	else if ((home = home_of(m, r)) != NULL)
		http_post(m->posts, home, r);
}

static void
on_get(struct http_mcp *m, struct http_request *r)
{
	struct http_session *home;

	/* Some clients ask before they have a session, and make nothing of
	 * any other refusal. */
	if (http_header(r, "Mcp-Session-Id") == NULL || http_is_modern(r))
		http_get_refuse(r, "There is a stream by GET only in a "
		    "session (Mcp-Session-Id).");
	else if ((home = home_of(m, r)) == NULL)
		return;
	else if (!mcp_serves(http_header(r, "MCP-Protocol-Version")))
		http_refuse(r, 400, "The header MCP-Protocol-Version names a "
		    "version that is not served.");
	else if ((http_takes(r) & TAKES_SSE) == 0)
		http_refuse(r, 406, "Accept must list text/event-stream.");
	else
		http_get(m->sessions, home, r);
}

static void
on_delete(struct http_mcp *m, struct http_request *r)
{
	struct http_session *home;
	struct http_post *p;

	if (http_header(r, "Mcp-Session-Id") == NULL || http_is_modern(r)) {
		http_refuse(r, 400, "The header Mcp-Session-Id must name the "
		    "session that is to end.");
		return;
	}
	if ((home = home_of(m, r)) == NULL)
		return;
	/* Cancels what runs; nothing is sent for it. */
	while ((p = TAILQ_FIRST(&home->posts)) != NULL)
		http_post_end(p);
	http_session_free(m->sessions, home);
	http_reply(r, 200, NULL, NULL, 0);
}

static void
on_mcp(struct http_request *r, void *arg)
{
	switch (http_method(r)) {
	case HTTP_M_POST:
		on_post(arg, r);
		break;
	case HTTP_M_GET:
		on_get(arg, r);
		break;
	case HTTP_M_DELETE:
		on_delete(arg, r);
		break;
	}
}

static const struct http_route mcp_route = { "/mcp",
    HTTP_M_POST | HTTP_M_GET | HTTP_M_DELETE, 0, on_mcp };

static void
configure(struct http_mcp *m)
{
	const char *name = m->conf->listen_http_policy;
	enum policy policy = POLICY_ISOLATED;

	(void)policy_parse(name[0] != '\0' ? name : m->conf->policy,
	    &policy);
	http_sessions_bound(m->sessions, m->conf->http_sessions,
	    m->conf->http_session_idle, policy, m->conf->http_replay);
}

struct http_mcp *
http_mcp_new(struct event_base *base, struct http *http, struct mcp *mcp,
    struct conf *conf)
{
	struct http_mcp *m = xcalloc(1, sizeof *m);

	m->conf = conf_ref(conf);
	m->sessions = http_sessions_new(base, mcp);
	m->posts = http_posts_new(base, m->sessions);
	configure(m);
	http_add_route(http, &mcp_route, m);
	return m;
}

void
http_mcp_set_conf(struct http_mcp *m, struct conf *conf)
{
	conf_unref(&m->conf);
	m->conf = conf_ref(conf);
	configure(m);
}

void
http_mcp_free(struct http_mcp **mp)
{
	struct http_mcp *m = *mp;

	if (m == NULL)
		return;
	*mp = NULL;
	http_posts_free(&m->posts);
	http_sessions_free(&m->sessions);
	conf_unref(&m->conf);
	free(m);
}
