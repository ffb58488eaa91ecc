#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>

#include <event2/event.h>

#include "clock.h"
#include "http_session.h"
#include "log.h"
#include "mcp.h"
#include "mem.h"

/* Streams of a session whose answers are through but still kept. */
#define CLOSED_MAX	32
/* How often sessions are looked through for idle ones. */
#define LOOK_S	1

struct http_sessions {
	struct mcp		*mcp;
	struct http_replay	*replay;
	/* The one used last first. */
	TAILQ_HEAD(http_session_list, http_session) list;
	struct http_session_list tokens;
	uint64_t		 count;
	uint64_t		 max;
	uint64_t		 idle_us;
	int			 policy;
	struct event		*ev_look;
};

static void
on_send(void *arg, const char *text, size_t len)
{
	struct http_session *s = arg;

	/* Before the first GET nobody wants to hear of it. */
	if (s->listener != NULL)
		http_stream_send(s->listener, text, len);
}

static void
on_settled(void *arg)
{
	/* No request comes this way. */
}

static const struct mcp_carrier carrier = { on_send, on_settled, NULL, NULL };

void
http_session_free(struct http_sessions *all, struct http_session *s)
{
	struct http_stream *stream;

	if (s->id[0] != '\0') {
		TAILQ_REMOVE(&all->list, s, entry);
		all->count--;
	} else
		TAILQ_REMOVE(&all->tokens, s, entry);
	session_free(&s->root);
	while ((stream = TAILQ_FIRST(&s->streams)) != NULL)
		http_stream_free(&s->streams, stream);
	free(s->principal);
	free(s);
}

/* Whether it can go without anybody who waits. */
static int
unused(const struct http_session *s)
{
	return TAILQ_EMPTY(&s->posts) && (s->listener == NULL ||
	    !http_stream_attached(s->listener));
}

static void
on_look(evutil_socket_t fd, short what, void *arg)
{
	struct http_sessions *all = arg;
	struct http_session *s, *before;
	uint64_t now = clock_us();

	for (s = TAILQ_LAST(&all->list, http_session_list); s != NULL;
	    s = before) {
		before = TAILQ_PREV(s, http_session_list, entry);
		if (now - s->used_us < all->idle_us)
			break;
		if (unused(s))
			http_session_free(all, s);
	}
}

struct http_sessions *
http_sessions_new(struct event_base *base, struct mcp *mcp)
{
	static const struct timeval look = { LOOK_S, 0 };
	struct http_sessions *all = xcalloc(1, sizeof *all);

	all->mcp = mcp;
	all->replay = http_replay_new();
	TAILQ_INIT(&all->list);
	TAILQ_INIT(&all->tokens);
	all->ev_look = event_new(base, -1, EV_PERSIST, on_look, all);
	event_add(all->ev_look, &look);
	return all;
}

void
http_sessions_free(struct http_sessions **ap)
{
	struct http_sessions *all = *ap;
	struct http_session *s;

	if (all == NULL)
		return;
	*ap = NULL;
	while ((s = TAILQ_FIRST(&all->list)) != NULL)
		http_session_free(all, s);
	while ((s = TAILQ_FIRST(&all->tokens)) != NULL)
		http_session_free(all, s);
	http_replay_free(&all->replay);
	event_free(all->ev_look);
	free(all);
}

void
http_sessions_bound(struct http_sessions *all, uint64_t max, uint64_t idle,
    int policy, uint64_t replay)
{
	struct http_session *s;

	http_replay_bound(all->replay, replay);

	all->max = max;
	all->idle_us = idle * 1000;
	all->policy = policy;
	TAILQ_FOREACH(s, &all->tokens, entry)
		session_set_policy(s->root, policy);
	TAILQ_FOREACH(s, &all->list, entry)
		session_set_policy(s->root, policy);
}

static int
make_room(struct http_sessions *all)
{
	struct http_session *s;

	if (all->count < all->max)
		return 0;
	TAILQ_FOREACH_REVERSE(s, &all->list, http_session_list, entry)
		if (unused(s)) {
			http_session_free(all, s);
			return 0;
		}
	return -1;
}

static void
set_owner(struct http_session *s)
{
	char *owner;

	if (s->principal[0] == '\0')
		return;
	xasprintf(&owner, "token %s", s->principal);
	session_set_owner(s->root, owner);
	free(owner);
}

static struct http_session *
make(struct http_sessions *all, const char *principal, const char *name)
{
	struct http_session *s = xcalloc(1, sizeof *s);

	s->principal = xstrdup(principal);
	s->root = session_new(all->mcp, &carrier, s, name);
	session_set_policy(s->root, all->policy);
	set_owner(s);
	TAILQ_INIT(&s->posts);
	TAILQ_INIT(&s->streams);
	s->used_us = clock_us();
	return s;
}

struct http_session *
http_session_new(struct http_sessions *all, const char *principal,
    const char *peer)
{
	unsigned char random[16];
	struct http_session *s;
	size_t i;

	if (make_room(all) == -1)
		return NULL;
	if (getrandom(random, sizeof random, 0) != sizeof random)
		fatal("no random bytes");
	s = make(all, principal, peer);
	for (i = 0; i < sizeof random; i++)
		snprintf(s->id + 2 * i, 3, "%02x", random[i]);
	TAILQ_INSERT_HEAD(&all->list, s, entry);
	all->count++;
	return s;
}

struct http_session *
http_session_find(struct http_sessions *all, const char *id,
    const char *principal)
{
	struct http_session *s;

	TAILQ_FOREACH(s, &all->list, entry)
		if (strcmp(s->id, id) == 0)
			break;
	if (s == NULL || strcmp(s->principal, principal) != 0)
		return NULL;
	http_session_used(s);
	TAILQ_REMOVE(&all->list, s, entry);
	TAILQ_INSERT_HEAD(&all->list, s, entry);
	return s;
}

void
http_session_used(struct http_session *s)
{
	s->used_us = clock_us();
}

static void
forget_closed(struct http_session *s)
{
	struct http_stream *stream, *oldest = NULL;
	unsigned n = 0;

	for (stream = TAILQ_FIRST(&s->streams); stream != NULL;
	    stream = http_stream_next(stream))
		if (http_stream_closed(stream) && n++ == 0)
			oldest = stream;
	if (n > CLOSED_MAX)
		http_stream_free(&s->streams, oldest);
}

struct http_stream *
http_session_stream(struct http_sessions *all, struct http_session *s,
    const struct http_stream_owner *owner, void *arg)
{
	forget_closed(s);
	return http_stream_new(&s->streams, s->nstreams++,
	    session_resumes(s->root) ? all->replay : NULL, owner, arg);
}

struct http_session *
http_session_of(struct http_sessions *all, const char *principal)
{
	struct http_session *s;

	TAILQ_FOREACH(s, &all->tokens, entry)
		if (strcmp(s->principal, principal) == 0)
			return s;
	s = make(all, principal, "http client");
	TAILQ_INSERT_TAIL(&all->tokens, s, entry);
	return s;
}
