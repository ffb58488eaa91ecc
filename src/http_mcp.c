#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/time.h>

#include <event2/event.h>

#include "conf.h"
#include "http.h"
#include "http_mcp.h"
#include "http_session.h"
#include "http_sse.h"
#include "json.h"
#include "jsonrpc.h"
#include "log.h"
#include "mcp.h"
#include "mem.h"
#include "policy_name.h"

/*
 * Each message that is posted has a session of its own below the one that it
 * belongs to, whose carrier is the answer to the request.  It is JSON, or
 * events where notifications come before the answer.
 *
 * In the modern era a client that leaves has cancelled.  Before, it has not:
 * the call runs on, bounded by its timeout, and its answer is dropped.
 */

enum { TAKES_JSON = 1 << 0, TAKES_SSE = 1 << 1 };

struct http_mcp {
	struct event_base	*base;
	struct conf		*conf;
	struct http_sessions	*sessions;
	TAILQ_HEAD(, http_post)	 posts;
};

struct http_post {
	TAILQ_ENTRY(http_post)	 entry;		/* of home's */
	TAILQ_ENTRY(http_post)	 all;
	struct http_mcp		*mcp;
	struct http_session	*home;
	struct session		*session;
	struct http_request	*request;	/* NULL once its client left */
	unsigned		 takes;
	int			 modern;
	int			 receiving;
	int			 streaming;
	int			 fresh;		/* home is of its handshake */
	char			*answer;
	size_t			 answer_len;
	struct event		*ev_end;
};

/* --- what a request says of itself */

/* One item of an Accept header (RFC 9110, section 12.5.1). */
static unsigned
takes_item(const char *s, size_t len)
{
	static const struct {
		const char	*type;
		unsigned	 takes;
	} types[] = {
		{ "application/json", TAKES_JSON }, { "*/*", TAKES_JSON },
		{ "application/*", TAKES_JSON },
		{ "text/event-stream", TAKES_SSE }, { "text/*", TAKES_SSE }
	};
	size_t i;

	while (len > 0 && (s[len - 1] == ' ' || s[len - 1] == '\t'))
		len--;
	for (i = 0; i < sizeof types / sizeof types[0]; i++)
		if (len == strlen(types[i].type) &&
		    strncasecmp(s, types[i].type, len) == 0)
			return types[i].takes;
	return 0;
}

static unsigned
takes_of(const struct http_request *r)
{
	const char *s = http_header(r, "Accept");
	unsigned takes = 0;

	if (s == NULL)
		return TAKES_JSON;
	while (*s != '\0') {
		s += strspn(s, ", \t");
		takes |= takes_item(s, strcspn(s, ";,"));
		s += strcspn(s, ",");
	}
	return takes;
}

/* Versions are dates, so they compare as texts. */
static int
is_modern(const char *version)
{
	return version != NULL && strcmp(version, "2026-07-28") >= 0;
}

/* An error that is about no message, as JSON-RPC has it. */
static void
fail(struct http_request *r, int status, const char *why)
{
	json_t *error = rpc_error(NULL, RPC_INVALID_REQUEST, why, NULL);
	size_t len;
	char *line = json_line(error, &len);

	http_reply(r, status, "application/json", line, len);
	free(line);
	json_decref(error);
}

/* --- the answer */

static void
post_free(struct http_post *p)
{
	struct http_mcp *m = p->mcp;

	TAILQ_REMOVE(&p->home->posts, p, entry);
	TAILQ_REMOVE(&m->posts, p, all);
	session_free(&p->session);
	event_free(p->ev_end);
	free(p->answer);
	/* A handshake that came to nothing. */
	if (p->fresh && !session_initialized(p->home->root))
		http_session_free(m->sessions, p->home);
	free(p);
}

static void
reply(struct http_post *p, struct http_request *r)
{
	int status = session_status(p->session);

	if (p->fresh && session_initialized(p->home->root))
		http_set_header(r, "Mcp-Session-Id", p->home->id);
	if (p->streaming)
		http_stream_end(r);
	else if (p->answer == NULL)
		http_reply(r, 202, NULL, NULL, 0);
	else if ((p->takes & TAKES_JSON) == 0 && status == 200) {
		http_sse_start(r);
		http_sse_send(r, NULL, p->answer, p->answer_len);
		http_stream_end(r);
	} else
		http_reply(r, status, "application/json", p->answer,
		    p->answer_len);
}

/* All is answered or cancelled. */
static void
post_end(struct http_post *p)
{
	struct http_request *r = p->request;

	p->request = NULL;
	if (r != NULL) {
		http_watch(r, NULL, NULL);
		reply(p, r);
	}
	post_free(p);
}

static void
on_end(evutil_socket_t fd, short what, void *arg)
{
	post_end(arg);
}

static int
is_notification(const char *text)
{
	static const char start[] = "{\"jsonrpc\":\"2.0\",\"method\":";

	return strncmp(text, start, sizeof start - 1) == 0;
}

static void
on_send(void *arg, const char *text, size_t len)
{
	struct http_post *p = arg;

	if (p->request == NULL)
		return;
	if (p->streaming) {
		http_sse_send(p->request, NULL, text, len);
		return;
	}
	/* One document has no place for what comes before the answer. */
	if (is_notification(text))
		return;
	free(p->answer);
	p->answer = xmemdupz(text, len);
	p->answer_len = len;
}

static void
on_settled(void *arg)
{
	struct http_post *p = arg;

	/* The session is on the stack. */
	if (!p->receiving)
		event_active(p->ev_end, 0, 0);
}

static struct session *
on_handshake(void *arg)
{
	struct http_post *p = arg;
	struct http_session *home;

	if (p->home->id[0] != '\0')
		return NULL;
	home = http_session_new(p->mcp->sessions,
	    http_principal(p->request), http_peer(p->request));
	if (home == NULL)
		return NULL;
	TAILQ_REMOVE(&p->home->posts, p, entry);
	p->home = home;
	p->fresh = 1;
	TAILQ_INSERT_TAIL(&home->posts, p, entry);
	return home->root;
}

static const struct mcp_carrier carrier = {
	on_send, on_settled, on_handshake
};

/* --- the client */

static void
on_gone(struct http_request *r, void *arg)
{
	struct http_post *p = arg;

	p->request = NULL;
	if (p->modern) {
		log_debug("a client left and cancelled its call");
		post_free(p);
	} else
		session_hold(p->session, 0);
}

static void
on_full(struct http_request *r, int on, void *arg)
{
	struct http_post *p = arg;

	session_hold(p->session, on);
}

static void
on_stop(struct http_request *r, void *arg)
{
	struct http_post *p = arg;

	session_abort(p->session, "The server is shutting down.");
}

static const struct http_watcher watcher = { on_gone, on_full, on_stop };

static struct http_post *
post_new(struct http_mcp *m, struct http_session *home,
    struct http_request *r)
{
	struct http_post *p = xcalloc(1, sizeof *p);

	p->mcp = m;
	p->home = home;
	p->request = r;
	p->takes = takes_of(r);
	p->modern = is_modern(http_header(r, "MCP-Protocol-Version"));
	p->ev_end = event_new(m->base, -1, 0, on_end, p);
	TAILQ_INSERT_TAIL(&home->posts, p, entry);
	TAILQ_INSERT_TAIL(&m->posts, p, all);
	p->session = session_below(home->root, home->id[0] != '\0', &carrier,
	    p);
	http_watch(r, &watcher, p);
	return p;
}

static void
receive(struct http_post *p, struct http_request *r)
{
	struct mcp_headers headers = {
		http_header(r, "MCP-Protocol-Version"),
		http_header(r, "Mcp-Method"), http_header(r, "Mcp-Name")
	};
	const char *body;
	size_t len;

	body = http_body(r, &len);
	p->receiving = 1;
	session_receive_http(p->session, body, len, &headers);
	p->receiving = 0;
	if (session_open(p->session) == 0) {
		post_end(p);
		return;
	}
	if ((p->takes & TAKES_JSON) == 0 || ((p->takes & TAKES_SSE) != 0 &&
	    session_streams(p->session))) {
		p->streaming = 1;
		http_sse_start(r);
	}
}

/* --- requests */

/* The session that a request names; NULL if it is refused.  Without an id,
 * and in the modern era, that of its token. */
static struct http_session *
home_of(struct http_mcp *m, struct http_request *r)
{
	const char *id = http_header(r, "Mcp-Session-Id");
	struct http_session *s;

	if (id == NULL || is_modern(http_header(r, "MCP-Protocol-Version")))
		return http_session_of(m->sessions, http_principal(r));
	s = http_session_find(m->sessions, id, http_principal(r));
	if (s == NULL)
		fail(r, 404, "There is no such session, or no longer; begin "
		    "a new one with initialize.");
	return s;
}

static void
on_post(struct http_mcp *m, struct http_request *r)
{
	struct http_session *home;

	if (!http_content_is(r, "application/json"))
		fail(r, 415, "The Content-Type must be application/json.");
	else if (takes_of(r) == 0)
		fail(r, 406, "Accept must list application/json and "
		    "text/event-stream.");
	else if ((home = home_of(m, r)) != NULL)
		receive(post_new(m, home, r), r);
}

static void
on_delete(struct http_mcp *m, struct http_request *r)
{
	struct http_session *home;
	struct http_post *p;

	if (http_header(r, "Mcp-Session-Id") == NULL ||
	    is_modern(http_header(r, "MCP-Protocol-Version"))) {
		fail(r, 400, "The header Mcp-Session-Id must name the session "
		    "that is to end.");
		return;
	}
	if ((home = home_of(m, r)) == NULL)
		return;
	/* Cancels what runs; nothing is sent for it. */
	while ((p = TAILQ_FIRST(&home->posts)) != NULL)
		post_end(p);
	http_session_free(m->sessions, home);
	http_reply(r, 200, NULL, NULL, 0);
}

static void
on_mcp(struct http_request *r, void *arg)
{
	if (http_method(r) == HTTP_M_POST)
		on_post(arg, r);
	else
		on_delete(arg, r);
}

/* GET would open a stream for what has nothing to do with a request; we
 * never send such, and 405 is what says so. */
static const struct http_route mcp_route = { "/mcp",
    HTTP_M_POST | HTTP_M_DELETE, 0, on_mcp };

static void
configure(struct http_mcp *m)
{
	const char *name = m->conf->listen_http_policy;
	enum policy policy = POLICY_ISOLATED;

	(void)policy_parse(name[0] != '\0' ? name : m->conf->policy,
	    &policy);
	http_sessions_bound(m->sessions, m->conf->http_sessions,
	    m->conf->http_session_idle, policy);
}

struct http_mcp *
http_mcp_new(struct event_base *base, struct http *http, struct mcp *mcp,
    struct conf *conf)
{
	struct http_mcp *m = xcalloc(1, sizeof *m);

	m->base = base;
	m->conf = conf_ref(conf);
	TAILQ_INIT(&m->posts);
	m->sessions = http_sessions_new(base, mcp);
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
	struct http_post *p;

	if (m == NULL)
		return;
	*mp = NULL;
	/* Those whose clients have left. */
	while ((p = TAILQ_FIRST(&m->posts)) != NULL)
		post_free(p);
	http_sessions_free(&m->sessions);
	conf_unref(&m->conf);
	free(m);
}
