#ifndef ADDER_HTTP_REPLAY_H
#define ADDER_HTTP_REPLAY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

/*
 * Streams of messages that outlast the HTTP responses they go out on.  Each
 * message of one that can be resumed has an id, STREAM-SERIAL, and is kept
 * for a client that lost its connection and comes back with the last id that
 * it saw (MCP 2025-11-25, transports, "Resumability and Redelivery").  What
 * all streams keep together is bounded, the oldest goes first.
 */

struct http_replay;
struct http_request;
struct http_stream;

TAILQ_HEAD(http_streams, http_stream);

/* Calls up; all from the main loop.  Each may free the stream. */
struct http_stream_owner {
	/* The client is gone; it may come back. */
	void	(*gone)(struct http_stream *, void *arg);
	/* It does not read (on), or has caught up. */
	void	(*full)(struct http_stream *, int on, void *arg);
	/* The server ends. */
	void	(*stop)(struct http_stream *, void *arg);
};

struct http_replay *http_replay_new(void);
/* After the streams. */
void		 http_replay_free(struct http_replay **);
/* Bytes 0: from here on nothing can be resumed. */
void		 http_replay_bound(struct http_replay *, uint64_t bytes);

/* In a list of the caller's, whose numbers are its own; replay NULL if it
 * cannot be resumed. */
struct http_stream *http_stream_new(struct http_streams *, unsigned number,
		    struct http_replay *, const struct http_stream_owner *,
		    void *arg);
/* Ends the response without a word. */
void		 http_stream_free(struct http_streams *,
		    struct http_stream *);
/* NULL, or the stream that an id is of, with the serial. */
struct http_stream *http_stream_find(struct http_streams *, const char *id,
		    uint64_t *serial);
int		 http_stream_resumable(const struct http_stream *);
/* The one after it in its list, or NULL. */
struct http_stream *http_stream_next(const struct http_stream *);
int		 http_stream_closed(const struct http_stream *);
/* Whether it has a client, and whether one that has all up to a serial would
 * get anything, now or later. */
int		 http_stream_attached(const struct http_stream *);
int		 http_stream_waits(const struct http_stream *,
		    uint64_t serial);
/* Begins the response with what came after a serial; an older response is
 * ended.  The request is the stream's from here on. */
void		 http_stream_attach(struct http_stream *,
		    struct http_request *, uint64_t serial);
/* Lets the client go; it may come back. */
void		 http_stream_detach(struct http_stream *);
/* One message, a line. */
void		 http_stream_send(struct http_stream *, const char *, size_t);
/* No more messages come, nor calls up; it ends once all are out. */
void		 http_stream_close(struct http_stream *);

#endif
