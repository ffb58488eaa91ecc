#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <unistd.h>

#include <event2/event.h>

#include "control_queue.h"
#include "fdpass.h"
#include "log.h"
#include "mem.h"
#include "pack.h"

struct packet {
	TAILQ_ENTRY(packet)	entry;
	struct writer		w;
	int			fds[FRAME_FDS_MAX];
	int			nfds;
};

struct control_queue {
	int				sock;
	struct event			*ev_write;
	TAILQ_HEAD(, packet)		packets;
};

static void	on_writable(evutil_socket_t, short, void *);

struct control_queue *
control_queue_new(struct event_base *base, int sock)
{
	struct control_queue *q = xcalloc(1, sizeof *q);

	q->sock = sock;
	q->ev_write = event_new(base, sock, EV_WRITE, on_writable, q);
	TAILQ_INIT(&q->packets);
	return q;
}

static void
packet_free(struct control_queue *q, struct packet *p)
{
	TAILQ_REMOVE(&q->packets, p, entry);
	while (p->nfds > 0)
		close(p->fds[--p->nfds]);
	wr_free(&p->w);
	free(p);
}

void
control_queue_free(struct control_queue **qp)
{
	struct control_queue *q = *qp;

	if (q == NULL)
		return;
	*qp = NULL;
	while (!TAILQ_EMPTY(&q->packets))
		packet_free(q, TAILQ_FIRST(&q->packets));
	event_free(q->ev_write);
	free(q);
}

/* ETOOMANYREFS: too many descriptors are in flight, so the peer has to
 * take some first (unix(7)). */
static int
must_wait(int err)
{
	return err == EAGAIN || err == ENOBUFS || err == ETOOMANYREFS;
}

static void
packet_keep(struct control_queue *q, struct writer *w, const int *fds,
    int nfds)
{
	struct packet *p = xcalloc(1, sizeof *p);
	int i;

	p->w = *w;
	for (i = 0; i < nfds; i++) {
		p->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
		if (p->fds[i] == -1)
			fatal("duplicating a descriptor for the keeper");
		p->nfds++;
	}
	TAILQ_INSERT_TAIL(&q->packets, p, entry);
	event_add(q->ev_write, NULL);
}

void
control_queue_send(struct control_queue *q, struct writer *w, const int *fds,
    int nfds)
{
	if (!TAILQ_EMPTY(&q->packets)) {
		packet_keep(q, w, fds, nfds);
		return;
	}
	if (control_send(q->sock, w, fds, nfds) == -1) {
		if (must_wait(errno)) {
			packet_keep(q, w, fds, nfds);
			return;
		}
		log_debug("control link: a frame was not sent, error %d",
		    errno);
	}
	wr_free(w);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct control_queue *q = arg;
	struct packet *p;

	while ((p = TAILQ_FIRST(&q->packets)) != NULL) {
		if (control_send(fd, &p->w, p->fds, p->nfds) == -1 &&
		    must_wait(errno)) {
			event_add(q->ev_write, NULL);
			return;
		}
		packet_free(q, p);
	}
}
