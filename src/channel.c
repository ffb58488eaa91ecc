#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <linux/sockios.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "channel.h"
#include "mem.h"
#include "pack.h"

#define READ_BYTES	(64 * 1024)

struct channel {
	int		 sock;
	struct event	*ev_read;
	struct event	*ev_write;
	struct evbuffer	*in;
	struct evbuffer	*out;
	const struct channel_observer *observer;
	void		*arg;
	int		 closed;
	int		 reset;		/* the peer has left something unread */
	int		 dropped;	/* something was sent after the end */
	int		*freed;		/* set when freed inside a callback */
};

static void	on_readable(evutil_socket_t, short, void *);
static void	on_writable(evutil_socket_t, short, void *);

struct channel *
channel_new(struct event_base *base, int sock,
    const struct channel_observer *observer, void *arg)
{
	struct channel *ch = xcalloc(1, sizeof *ch);

	ch->sock = sock;
	ch->observer = observer;
	ch->arg = arg;
	ch->in = evbuffer_new();
	ch->out = evbuffer_new();
	ch->ev_read = event_new(base, sock, EV_READ | EV_PERSIST, on_readable,
	    ch);
	ch->ev_write = event_new(base, sock, EV_WRITE, on_writable, ch);
	event_add(ch->ev_read, NULL);
	return ch;
}

void
channel_free(struct channel **chp)
{
	struct channel *ch = *chp;

	if (ch == NULL)
		return;
	*chp = NULL;
	if (ch->freed != NULL)
		*ch->freed = 1;
	event_free(ch->ev_write);
	event_free(ch->ev_read);
	evbuffer_free(ch->out);
	evbuffer_free(ch->in);
	close(ch->sock);
	free(ch);
}

static void
channel_close(struct channel *ch, const char *why)
{
	if (ch->closed)
		return;
	ch->closed = 1;
	event_del(ch->ev_read);
	event_del(ch->ev_write);
	ch->observer->closed(ch, why, ch->arg);
}

void
channel_send(struct channel *ch, struct writer *w)
{
	ssize_t n = 0;

	ch->dropped |= ch->closed;
	if (!ch->closed && evbuffer_get_length(ch->out) == 0) {
		n = send(ch->sock, w->buf.data, w->buf.size, MSG_NOSIGNAL);
		if (n == -1)
			n = 0;	/* a dead peer shows up on the read side */
	}
	if (!ch->closed && (size_t)n < w->buf.size) {
		evbuffer_add(ch->out, w->buf.data + n, w->buf.size - n);
		event_add(ch->ev_write, NULL);
	}
	wr_free(w);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct channel *ch = arg;

	if (evbuffer_write(ch->out, fd) == -1 && errno != EAGAIN &&
	    errno != EINTR)
		return;
	if (evbuffer_get_length(ch->out) > 0)
		event_add(ch->ev_write, NULL);
}

/* Hands up the frames in the buffer; -1 if the channel is closed or gone. */
static int
deliver(struct channel *ch)
{
	const char *why = NULL;
	struct frame f;
	size_t need, have;
	long n;
	int freed = 0;

	for (;;) {
		have = evbuffer_get_length(ch->in);
		if (have < FRAME_HEADER_BYTES)
			return 0;
		n = frame_split(evbuffer_pullup(ch->in, FRAME_HEADER_BYTES),
		    FRAME_HEADER_BYTES, WORKER_TO_SERVER, &f, &need, &why);
		if (n == -1) {
			channel_close(ch, why);
			return -1;
		}
		if (have < need)
			return 0;
		n = frame_split(evbuffer_pullup(ch->in, need), need,
		    WORKER_TO_SERVER, &f, &need, &why);
		ch->freed = &freed;
		ch->observer->frame(ch, &f, ch->arg);
		if (freed)
			return -1;
		ch->freed = NULL;
		if (ch->closed)
			return -1;
		evbuffer_drain(ch->in, n);
	}
}

/* evbuffer_read(3) would take 4 KiB at a time. */
static ssize_t
read_into(struct evbuffer *in, int sock)
{
	struct evbuffer_iovec v;
	ssize_t n;

	if (evbuffer_reserve_space(in, READ_BYTES, &v, 1) != 1)
		return -1;
	if (v.iov_len > READ_BYTES)
		v.iov_len = READ_BYTES;
	n = read(sock, v.iov_base, v.iov_len);
	if (n <= 0)
		return n;
	v.iov_len = n;
	evbuffer_commit_space(in, &v, 1);
	return n;
}

/* 1: something came; 0: nothing now; -1: closed or gone. */
static int
read_once(struct channel *ch)
{
	ssize_t n = read_into(ch->in, ch->sock);

	if (n > 0)
		return deliver(ch) == -1 ? -1 : 1;
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return 0;
	ch->reset = n == -1 && errno == ECONNRESET;
	channel_close(ch, NULL);
	return -1;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	read_once(arg);
}

int
channel_all_sent(const struct channel *ch)
{
	return evbuffer_get_length(ch->out) == 0 && !ch->dropped;
}

int
channel_all_read(const struct channel *ch)
{
	int unread;

	return channel_all_sent(ch) && !ch->reset &&
	    ioctl(ch->sock, SIOCOUTQ, &unread) == 0 && unread == 0;
}

void
channel_drain(struct channel *ch)
{
	while (!ch->closed && read_once(ch) == 1)
		;
}
