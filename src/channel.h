#ifndef ADDER_CHANNEL_H
#define ADDER_CHANNEL_H

#include "frame.h"

struct channel;
struct event_base;
struct writer;

/*
 * Frames over the job link of one worker.  What comes in is untrusted: a
 * header against the rules ends the channel before its payload is read.
 */
struct channel_observer {
	/* A frame that the rules allow; gone after the call.  The channel
	 * may be freed from inside. */
	void	(*frame)(struct channel *, const struct frame *, void *arg);
	/* The peer hung up (why NULL) or broke the rules; once. */
	void	(*closed)(struct channel *, const char *why, void *arg);
};

/* Takes over sock, a non-blocking stream socket. */
struct channel	*channel_new(struct event_base *, int sock,
		    const struct channel_observer *, void *arg);
void		 channel_free(struct channel **);
/* Sends a frame, at once as far as the socket takes it; the writer is
 * consumed. */
void		 channel_send(struct channel *, struct writer *);
/* Whether all that was sent has left: not where the peer was gone. */
int		 channel_all_sent(const struct channel *);
/*
 * Whether the peer has read all that was sent.  Once it is gone this holds
 * for what it had read until then, but only after channel_drain().  Says so,
 * of what lies unread, the socket (SIOCOUTQ, unix(7)); of what was lost
 * unread, its error ECONNRESET.
 */
int		 channel_all_read(const struct channel *);
/* Handles all frames that have arrived by now.  Stops early where a
 * callback freed the channel. */
void		 channel_drain(struct channel *);

#endif
