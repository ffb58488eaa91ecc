#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <event2/event.h>

#include "http.h"
#include "http_post.h"
#include "http_session.h"
#include "http_sse.h"
#include "http_takes.h"
#include "log.h"
#include "mcp.h"
#include "mem.h"

/*
 * Each message that is posted has a session of its own below the one that it
 * belongs to, whose carrier is the answer to the request.  It is JSON, or
 * events where notifications come before the answer.
 *
 * In the modern era a client that leaves has cancelled.  Before, it has not:
 * the call runs on, bounded by its timeout, and its answer waits for the
 * client where that can come back for it (http_replay.h).
 */

struct http_posts {
	struct event_base	*base;
	struct http_sessions	*sessions;
	TAILQ_HEAD(, http_post)	 all;
};

struct http_post {
	TAILQ_ENTRY(http_post)	 entry;		/* of home's */
	TAILQ_ENTRY(http_post)	 all;
	struct http_posts	*posts;
	struct http_session	*home;
	struct session		*session;
	/* NULL once its client left, and from stream on. */
	struct http_request	*request;
	struct http_stream	*stream;
	unsigned		 takes;
	int			 modern;
	int			 receiving;
	int			 fresh;		/* home is of its handshake */
	int			 answered;
	char			*answer;
	size_t			 answer_len;
	struct event		*ev_end;
};

/* --- the answer */

static void
post_free(struct http_post *p)
{
	struct http_posts *m = p->posts;

	TAILQ_REMOVE(&p->home->posts, p, entry);
	TAILQ_REMOVE(&m->all, p, all);
	session_free(&p->session);
	event_free(p->ev_end);
	if (p->stream != NULL)
		http_stream_free(&p->home->streams, p->stream);
	free(p->answer);
	/* A handshake that came to nothing. */
	if (p->fresh && !session_initialized(p->home->root))
		http_session_free(m->sessions, p->home);
	free(p);
}

static void
name_session(struct http_post *p, struct http_request *r)
{
	if (p->fresh && session_initialized(p->home->root))
		http_set_header(r, "Mcp-Session-Id", p->home->id);
}

static void
reply(struct http_post *p, struct http_request *r)
{
	int status = session_status(p->session);

	name_session(p, r);
	if (p->answer == NULL)
		http_reply(r, 202, NULL, NULL, 0);
	else if ((p->takes & TAKES_JSON) == 0 && status == 200) {
		http_sse_start(r);
		http_sse_send(r, NULL, p->answer, p->answer_len);
		http_stream_end(r);
	} else
		http_reply(r, status, "application/json", p->answer,
		    p->answer_len);
}

/* --- the client */

static void
stop(struct http_post *p)
{
	session_abort(p->session, "The server is shutting down.");
}

static void
left(struct http_post *p)
{
	if (p->modern) {
		log_debug("a client left and cancelled its call");
		post_free(p);
	} else
		session_hold(p->session, 0);
}

static void
on_gone(struct http_request *r, void *arg)
{
	struct http_post *p = arg;

	p->request = NULL;
	left(p);
}

static void
on_stop(struct http_request *r, void *arg)
{
	stop(arg);
}

static const struct http_watcher watcher = { on_gone, NULL, on_stop };

static void
on_stream_gone(struct http_stream *s, void *arg)
{
	left(arg);
}

static void
on_stream_full(struct http_stream *s, int on, void *arg)
{
	struct http_post *p = arg;

	session_hold(p->session, on);
}

static void
on_stream_stop(struct http_stream *s, void *arg)
{
	stop(arg);
}

static const struct http_stream_owner owner = { on_stream_gone,
    on_stream_full, on_stream_stop };

static void
start_stream(struct http_post *p)
{
	struct http_request *r = p->request;

	name_session(p, r);
	p->request = NULL;
	p->stream = http_session_stream(p->posts->sessions, p->home, &owner,
	    p);
	http_stream_attach(p->stream, r, 0);
}

/* --- its end */

/* All is answered or cancelled. */
void
http_post_end(struct http_post *p)
{
	struct http_request *r = p->request;

	p->request = NULL;
	if (r != NULL) {
		http_watch(r, NULL, NULL);
		reply(p, r);
	}
	/* What is kept of it is the session's from here on; what was
	 * cancelled needs no coming back. */
	if (p->stream != NULL && p->answered &&
	    http_stream_resumable(p->stream)) {
		http_stream_close(p->stream);
		p->stream = NULL;
	}
	post_free(p);
}

static void
on_end(evutil_socket_t fd, short what, void *arg)
{
	http_post_end(arg);
}

/* A notification, or a request of ours. */
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

	p->answered |= !is_notification(text);
	if (p->stream == NULL && p->request != NULL && !p->answered &&
	    (p->takes & TAKES_SSE) != 0)
		start_stream(p);
	if (p->stream != NULL) {
		http_stream_send(p->stream, text, len);
		return;
	}
	/* One document has no place for what comes before the answer. */
	if (p->request == NULL || !p->answered)
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
	home = http_session_new(p->posts->sessions,
	    http_principal(p->request), http_peer(p->request));
	if (home == NULL)
		return NULL;
	TAILQ_REMOVE(&p->home->posts, p, entry);
	p->home = home;
	p->fresh = 1;
	TAILQ_INSERT_TAIL(&home->posts, p, entry);
	return home->root;
}

static void
on_cut(void *arg)
{
	struct http_post *p = arg;

	if (p->stream == NULL && p->request != NULL &&
	    (p->takes & TAKES_SSE) != 0)
		start_stream(p);
	if (p->stream != NULL && http_stream_resumable(p->stream))
		http_stream_detach(p->stream);
}

static const struct mcp_carrier carrier = {
	on_send, on_settled, on_handshake, on_cut
};

/* --- a post */

static struct http_post *
post_new(struct http_posts *m, struct http_session *home,
    struct http_request *r)
{
	struct http_post *p = xcalloc(1, sizeof *p);

	p->posts = m;
	p->home = home;
	p->request = r;
	p->takes = http_takes(r);
	p->modern = http_is_modern(r);
	p->ev_end = event_new(m->base, -1, 0, on_end, p);
	TAILQ_INSERT_TAIL(&home->posts, p, entry);
	TAILQ_INSERT_TAIL(&m->all, p, all);
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
		http_header(r, "Mcp-Method"), http_header(r, "Mcp-Name"),
		(p->takes & TAKES_SSE) != 0
	};
	const char *body;
	size_t len;

	body = http_body(r, &len);
	p->receiving = 1;
	session_receive_http(p->session, body, len, &headers);
	p->receiving = 0;
	if (session_open(p->session) == 0) {
		http_post_end(p);
		return;
	}
	if (p->request != NULL && ((p->takes & TAKES_JSON) == 0 ||
	    ((p->takes & TAKES_SSE) != 0 && session_streams(p->session))))
		start_stream(p);
}

void
http_post(struct http_posts *all, struct http_session *home,
    struct http_request *r)
{
	receive(post_new(all, home, r), r);
}

struct http_posts *
http_posts_new(struct event_base *base, struct http_sessions *sessions)
{
	struct http_posts *all = xcalloc(1, sizeof *all);

	all->base = base;
	all->sessions = sessions;
	TAILQ_INIT(&all->all);
	return all;
}

void
http_posts_free(struct http_posts **allp)
{
	struct http_posts *all = *allp;
	struct http_post *p;

	if (all == NULL)
		return;
	*allp = NULL;
	while ((p = TAILQ_FIRST(&all->all)) != NULL)
		post_free(p);
	free(all);
}
