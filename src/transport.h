#ifndef ADDER_TRANSPORT_H
#define ADDER_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

/*
 * A peer on a pair of descriptors (of one socket, or stdin and stdout) that
 * sends and gets lines.  It cuts lines, bounds them, and holds its peer
 * back when that does not read.
 */

struct event_base;
struct transport;

enum transport_kind { TRANSPORT_STDIO, TRANSPORT_UNIX, TRANSPORT_TCP };

/* Calls up; all from the main loop.  Within any of them the transport may
 * be freed. */
struct transport_handler {
	/* A line, without its end, that is not blank. */
	void	(*line)(struct transport *, const char *, size_t, void *);
	/* A part of a line longer than the limit: nothing of it is kept. */
	void	(*skipped)(struct transport *, const char *, size_t, void *);
	/* The end of such a line, and how long it was. */
	void	(*overlong)(struct transport *, uint64_t, void *);
	/* The peer does not read (on) or has caught up; lines wait. */
	void	(*full)(struct transport *, int on, void *);
	/* The peer will send no more but may still read. */
	void	(*ended)(struct transport *, void *);
	/* The peer is gone, or transport_finish() is through.  Last call. */
	void	(*gone)(struct transport *, void *);
};

/* Takes over the descriptors (one socket is given twice), which are made
 * non-blocking.  max bounds a line. */
struct transport *transport_new(struct event_base *, enum transport_kind,
		    int in, int out, size_t max,
		    const struct transport_handler *, void *arg);
/* Closes at once; what is not sent is lost. */
void		 transport_free(struct transport **);
void		 transport_set_max(struct transport *, size_t max);
size_t		 transport_max(const struct transport *);
/* Sends the text and a newline. */
void		 transport_send(struct transport *, const char *, size_t);
/* Sends what is there, takes no more lines, then calls gone. */
void		 transport_finish(struct transport *);

#endif
