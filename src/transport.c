#include "config.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "fdutil.h"
#include "http_line.h"
#include "mem.h"
#include "transport.h"

/* Unsent bytes above which a peer is held back, and below which it is not. */
#define OUTPUT_HIGH	(1024 * 1024)
#define OUTPUT_LOW	(128 * 1024)
/* A peer that takes nothing for so long, with output waiting, is dead. */
#define STALL_S		60
/* Time for a peer that was refused to read why. */
#define LINGER_S	1
/* How often a peer that ended its side is looked after. */
#define PROBE_US	200000

struct transport {
	const struct transport_handler *handler;
	void		*arg;
	enum transport_kind kind;
	struct bufferevent *in, *out;	/* the same for a socket */
	size_t		 max;
	size_t		 scanned;	/* input known to have no newline */
	uint64_t	 skipped;	/* so far, of an overlong line */
	int		 begun;		/* a first line has come */
	int		 full;
	int		 eof;		/* the peer sent its last byte */
	int		 ended;		/* and the handler knows */
	int		 finishing;
	int		 busy;		/* calls up on the stack */
	int		 dead;		/* freed within one of them */
	struct event	*ev_gone;
	struct event	*ev_probe;
	struct event	*ev_linger;
};

static void
enter(struct transport *t)
{
	t->busy++;
}

/* -1 if the transport is no more. */
static int
leave(struct transport *t)
{
	if (--t->busy > 0 || !t->dead)
		return t->dead ? -1 : 0;
	transport_free(&t);
	return -1;
}

static size_t
pending(const struct transport *t)
{
	return evbuffer_get_length(bufferevent_get_output(t->out));
}

/* Never from inside a caller's call: it may hold pointers of ours. */
static void
schedule_gone(struct transport *t)
{
	event_active(t->ev_gone, 0, 0);
}

static void
on_gone(evutil_socket_t fd, short what, void *arg)
{
	struct transport *t = arg;

	enter(t);
	t->handler->gone(t, t->arg);
	leave(t);
}

/* The rest is written: if the peer is still sending, it gets a while to read
 * before the connection is closed on it. */
static void
finish_written(struct transport *t)
{
	static const struct timeval linger = { LINGER_S, 0 };

	if (t->eof || t->kind == TRANSPORT_STDIO) {
		schedule_gone(t);
		return;
	}
	shutdown(bufferevent_getfd(t->out), SHUT_WR);
	bufferevent_enable(t->in, EV_READ);
	event_add(t->ev_linger, &linger);
}

void
transport_finish(struct transport *t)
{
	if (t->finishing)
		return;
	t->finishing = 1;
	if (pending(t) == 0)
		finish_written(t);
}

/* A browser can send to any port; it cannot but start like this. */
static void
refuse_http(struct transport *t)
{
	static const char body[] = "This port speaks JSON-RPC, one message a "
	    "line, and not HTTP.\n";
	struct evbuffer *out = bufferevent_get_output(t->out);

	evbuffer_add_printf(out, "HTTP/1.1 400 Bad Request\r\n"
	    "Content-Type: text/plain\r\nContent-Length: %zu\r\n"
	    "Connection: close\r\n\r\n%s", sizeof body - 1, body);
	transport_finish(t);
}

static int
is_blank(const char *line, size_t len)
{
	while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t'))
		len--;
	return len == 0;
}

static void
deliver(struct transport *t, const char *line, size_t len)
{
	int first = !t->begun;

	if (len > 0 && line[len - 1] == '\r')
		len--;
	if (is_blank(line, len))
		return;
	t->begun = 1;
	if (first && t->kind != TRANSPORT_STDIO && http_line(line, len))
		refuse_http(t);
	else
		t->handler->line(t, line, len, t->arg);
}

/* The first len bytes of the input belong to an overlong line. */
static void
skip(struct transport *t, struct evbuffer *input, size_t len)
{
	struct evbuffer_iovec *v;
	size_t left = len, part;
	int i, n = evbuffer_peek(input, len, NULL, NULL, 0);

	t->skipped += len;
	v = xcalloc(n + 1, sizeof *v);
	n = evbuffer_peek(input, len, NULL, v, n);
	for (i = 0; i < n && left > 0; i++, left -= part) {
		part = v[i].iov_len < left ? v[i].iov_len : left;
		t->handler->skipped(t, v[i].iov_base, part, t->arg);
	}
	free(v);
}

static void
end_overlong(struct transport *t)
{
	uint64_t len = t->skipped;

	t->skipped = 0;
	t->handler->overlong(t, len, t->arg);
}

/* A line without its newline, of len bytes at the start of the input, which
 * is then drained of drain bytes. */
static void
take(struct transport *t, struct evbuffer *input, size_t len, size_t drain)
{
	if (len > t->max || t->skipped > 0) {
		if (len > 0)
			skip(t, input, len);
		end_overlong(t);
	} else if (len > 0)
		deliver(t, (char *)evbuffer_pullup(input, len), len);
	t->scanned = 0;
	evbuffer_drain(input, drain);
}

/* Takes one line if there is one; 0 if not. */
static int
take_line(struct transport *t)
{
	struct evbuffer *input = bufferevent_get_input(t->in);
	size_t len = evbuffer_get_length(input);
	struct evbuffer_ptr from, at;

	if (t->scanned >= len)
		return 0;
	evbuffer_ptr_set(input, &from, t->scanned, EVBUFFER_PTR_SET);
	at = evbuffer_search(input, "\n", 1, &from);
	if (at.pos >= 0) {
		take(t, input, at.pos, at.pos + 1);
		return 1;
	}
	t->scanned = len;
	if (len > t->max || t->skipped > 0) {
		skip(t, input, len);
		evbuffer_drain(input, len);
		t->scanned = 0;
	}
	return 0;
}

/* The last line may lack its newline. */
static void
take_rest(struct transport *t)
{
	struct evbuffer *input = bufferevent_get_input(t->in);
	size_t len = evbuffer_get_length(input);

	if (len > 0 || t->skipped > 0)
		take(t, input, len, len);
}

static int
accepting(const struct transport *t)
{
	return !t->dead && !t->full && !t->finishing;
}

/* Works off the input as far as the peer takes the answers. */
static void
process(struct transport *t)
{
	enter(t);
	while (accepting(t) && take_line(t))
		;
	if (accepting(t) && t->eof && !t->ended) {
		take_rest(t);
		if (accepting(t)) {
			t->ended = 1;
			t->handler->ended(t, t->arg);
		}
	}
	if (!t->dead && t->finishing)
		evbuffer_drain(bufferevent_get_input(t->in),
		    evbuffer_get_length(bufferevent_get_input(t->in)));
	leave(t);
}

static void
on_read(struct bufferevent *bev, void *arg)
{
	process(arg);
}

static void
set_full(struct transport *t, int on)
{
	t->full = on;
	if (on)
		bufferevent_disable(t->in, EV_READ);
	else if (!t->eof)
		bufferevent_enable(t->in, EV_READ);
	t->handler->full(t, on, t->arg);
}

/* The output is at its low-water mark or below. */
static void
on_written(struct bufferevent *bev, void *arg)
{
	struct transport *t = arg;

	if (t->finishing) {
		if (pending(t) == 0)
			finish_written(t);
		return;
	}
	if (!t->full)
		return;
	enter(t);
	set_full(t, 0);
	if (leave(t) == 0)
		process(t);
}

/* Writes what the peer takes right now, so that an answer need not wait for
 * another turn of the loop.  The bytes written, or -1. */
static ssize_t
write_now(struct transport *t, const char *text, size_t len)
{
	struct iovec iov[2] = { { (char *)text, len }, { (char *)"\n", 1 } };
	ssize_t n;

	if (pending(t) > 0)
		return 0;
	n = writev(bufferevent_getfd(t->out), iov, 2);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		n = 0;
	return n;
}

void
transport_send(struct transport *t, const char *text, size_t len)
{
	struct evbuffer *out = bufferevent_get_output(t->out);
	ssize_t n;

	if (t->finishing)
		return;
	n = write_now(t, text, len);
	if (n == -1 || ((size_t)n < len &&
	    evbuffer_add(out, text + n, len - n) == -1) ||
	    ((size_t)n <= len && evbuffer_add(out, "\n", 1) == -1)) {
		schedule_gone(t);
		return;
	}
	if (!t->full && pending(t) > OUTPUT_HIGH)
		set_full(t, 1);
}

/*
 * A peer that ended its side may wait for answers or be gone.  On a Unix
 * socket and a pipe the kernel tells.  On TCP only sending does, so a blank
 * is sent, which JSON allows before a message: a peer that is gone answers
 * with a reset, and the next look sees it.
 */
static void
probe(struct transport *t)
{
	struct pollfd p = { .fd = bufferevent_getfd(t->out) };

	if (poll(&p, 1, 0) == 1 && (p.revents & (POLLERR | POLLHUP)) != 0)
		schedule_gone(t);
	else if (t->kind == TRANSPORT_TCP && !t->finishing &&
	    pending(t) == 0)
		evbuffer_add(bufferevent_get_output(t->out), " ", 1);
}

static void
on_probe(evutil_socket_t fd, short what, void *arg)
{
	probe(arg);
}

static void
on_eof(struct transport *t)
{
	static const struct timeval interval = { 0, PROBE_US };

	t->eof = 1;
	if (t->finishing && pending(t) == 0) {
		schedule_gone(t);
		return;
	}
	enter(t);
	process(t);
	if (leave(t) == -1 || t->finishing)
		return;
	event_add(t->ev_probe, &interval);
	probe(t);
}

static void
on_event(struct bufferevent *bev, short what, void *arg)
{
	struct transport *t = arg;

	if ((what & BEV_EVENT_EOF) != 0 && (what & BEV_EVENT_READING) != 0)
		on_eof(t);
	else
		schedule_gone(t);
}

static struct bufferevent *
open_side(struct transport *t, struct event_base *base, int fd, short events)
{
	struct bufferevent *bev;

	bev = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (bev == NULL)
		return NULL;
	bufferevent_setcb(bev, on_read, on_written, on_event, t);
	bufferevent_setwatermark(bev, EV_WRITE, OUTPUT_LOW, 0);
	if ((events & EV_WRITE) != 0) {
		static const struct timeval stall = { STALL_S, 0 };

		bufferevent_set_timeouts(bev, NULL, &stall);
	}
	bufferevent_enable(bev, events);
	return bev;
}

struct transport *
transport_new(struct event_base *base, enum transport_kind kind, int in,
    int out, size_t max, const struct transport_handler *handler, void *arg)
{
	struct transport *t = xcalloc(1, sizeof *t);

	t->handler = handler;
	t->arg = arg;
	t->kind = kind;
	t->max = max;
	t->ev_gone = event_new(base, -1, 0, on_gone, t);
	t->ev_linger = event_new(base, -1, 0, on_gone, t);
	t->ev_probe = event_new(base, -1, EV_PERSIST, on_probe, t);
	fd_set_nonblock(in);
	if (in == out)
		t->in = t->out = open_side(t, base, in, EV_READ | EV_WRITE);
	else {
		fd_set_nonblock(out);
		t->out = open_side(t, base, out, EV_WRITE);
		t->in = open_side(t, base, in, EV_READ);
	}
	return t;
}

void
transport_free(struct transport **tp)
{
	struct transport *t = *tp;

	*tp = NULL;
	if (t == NULL)
		return;
	if (t->busy > 0) {
		t->dead = 1;
		return;
	}
	event_free(t->ev_probe);
	event_free(t->ev_linger);
	event_free(t->ev_gone);
	if (t->in != t->out)
		bufferevent_free(t->in);
	bufferevent_free(t->out);
	free(t);
}

void
transport_set_max(struct transport *t, size_t max)
{
	t->max = max;
}

size_t
transport_max(const struct transport *t)
{
	return t->max;
}
