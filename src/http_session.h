#ifndef ADDER_HTTP_SESSION_H
#define ADDER_HTTP_SESSION_H

#include <stdint.h>
#include <sys/queue.h>

#include "http_replay.h"

/*
 * The sessions that HTTP clients have: of the versions with a handshake, one
 * from each handshake on, known by an id; of the later ones, one for all
 * requests with the same token, which only says who owns what.
 */

struct event_base;
struct http_replay;
struct http_sessions;
struct mcp;
struct session;

/* What the requests of a session are to it. */
struct http_post;

struct http_session {
	TAILQ_ENTRY(http_session) entry;
	char			 id[33];	/* "" for one of a token */
	char			*principal;
	struct session		*root;
	TAILQ_HEAD(, http_post)	 posts;
	/* What answers went out on, the oldest first: those that are closed
	 * may be asked for once more. */
	struct http_streams	 streams;
	unsigned		 nstreams;	/* that there ever were */
	/* For what belongs to no request; NULL before the first GET. */
	struct http_stream	*listener;
	uint64_t		 used_us;
};

struct http_sessions *http_sessions_new(struct event_base *, struct mcp *);
/* After the posts. */
void		 http_sessions_free(struct http_sessions **);
/* idle in milliseconds; replay: bytes kept of streams. */
void		 http_sessions_bound(struct http_sessions *, uint64_t max,
		    uint64_t idle, int policy, uint64_t replay);
/* A new one with an id nobody can guess; NULL if all are in use. */
struct http_session *http_session_new(struct http_sessions *,
		    const char *principal, const char *peer);
/* The one with this id, NULL unless it is this principal's. */
struct http_session *http_session_find(struct http_sessions *,
		    const char *id, const char *principal);
struct http_session *http_session_of(struct http_sessions *,
		    const char *principal);
/* A new stream for an answer, or for none; the oldest that are closed are
 * forgotten. */
struct http_stream *http_session_stream(struct http_sessions *,
		    struct http_session *, const struct http_stream_owner *,
		    void *arg);
/* idle again, or a request came. */
void		 http_session_used(struct http_session *);
/* Must have no posts. */
void		 http_session_free(struct http_sessions *,
		    struct http_session *);

#endif
