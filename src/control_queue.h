#ifndef ADDER_CONTROL_QUEUE_H
#define ADDER_CONTROL_QUEUE_H

struct control_queue;
struct event_base;
struct writer;

/* Packets that wait where a control link is full, in order. */
struct control_queue *control_queue_new(struct event_base *, int sock);
/* The socket stays the caller's; what waits is dropped. */
void	control_queue_free(struct control_queue **);
/* Sends now or later; consumes the writer, leaves the descriptors to the
 * caller.  A dead link swallows it: its reader tells. */
void	control_queue_send(struct control_queue *, struct writer *,
	    const int *fds, int nfds);

#endif
