#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <event2/event.h>

#include "clock.h"
#include "json.h"
#include "mcp_private.h"
#include "mem.h"
#include "utf8.h"

/*
 * What a program prints, while it runs, as log messages: standard output at
 * level info, standard error at warning.  The first piece goes at once; what
 * comes within LIVE_GAP_US of a message waits and goes as one, so that a
 * peer gets at most two messages a gap for each call, of at most LIVE_BYTES
 * of output each.  What does not fit is counted: the answer has it.
 */
#define LIVE_GAP_US	50000
#define LIVE_BYTES	8192

struct pending {
	char		*data;		/* LIVE_BYTES, once needed */
	size_t		 len;
	uint64_t	 skipped;
};

struct live {
	struct session	*session;
	json_t		*id;
	enum mcp_level	 level;		/* of the peer's wish */
	struct event	*ev_flush;
	uint64_t	 sent_us;
	struct pending	 pending[JOB_STREAMS];
};

static const struct {
	enum mcp_level	 level;
	const char	*logger;
} streams[JOB_STREAMS] = {
	[JOB_STDOUT] = { LEVEL_INFO, "stdout" },
	[JOB_STDERR] = { LEVEL_WARNING, "stderr" }
};

static void
send_pending(struct live *l, enum job_stream stream, int last)
{
	struct pending *p = &l->pending[stream];
	size_t len = last || p->skipped > 0 ? p->len :
	    utf8_whole_end(p->data, p->len);
	json_t *data;

	if (len == 0 && p->skipped == 0)
		return;
	data = json_pack("{s:O, s:o}", "request", l->id, "text",
	    json_text(p->data, len));
	if (p->skipped > 0)
		json_object_set_new(data, "skipped",
		    json_integer(p->skipped));
	notify_log(l->session, l->level, streams[stream].level,
	    streams[stream].logger, data);
	/* A character that is not whole yet stays. */
	memmove(p->data, p->data + len, p->len - len);
	p->len -= len;
	p->skipped = 0;
	l->sent_us = clock_us();
}

static void
send_all(struct live *l, int last)
{
	enum job_stream s;

	/* A peer that does not read gets no more of what it can do without;
	 * the answer has it all. */
	if (l->session->held && !last)
		return;
	event_del(l->ev_flush);
	for (s = 0; s < JOB_STREAMS; s++)
		if (l->pending[s].data != NULL)
			send_pending(l, s, last);
}

static void
on_flush(evutil_socket_t fd, short what, void *arg)
{
	send_all(arg, 0);
}

struct live *
live_new(struct session *s, json_t *id, enum mcp_level level)
{
	struct live *l;

	if (level > LEVEL_WARNING)
		return NULL;
	l = xcalloc(1, sizeof *l);
	l->session = s;
	l->id = json_incref(id);
	l->level = level;
	l->ev_flush = event_new(s->mcp->base, -1, 0, on_flush, l);
	return l;
}

void
live_free(struct live **lp)
{
	struct live *l = *lp;
	enum job_stream s;

	if (l == NULL)
		return;
	*lp = NULL;
	event_free(l->ev_flush);
	for (s = 0; s < JOB_STREAMS; s++)
		free(l->pending[s].data);
	json_decref(l->id);
	free(l);
}

void
live_output(struct live *l, enum job_stream stream, const char *data,
    size_t len)
{
	static const struct timeval gap = { 0, LIVE_GAP_US };
	struct pending *p = &l->pending[stream];
	size_t room;

	if (streams[stream].level < l->level)
		return;
	if (p->data == NULL)
		p->data = xmalloc(LIVE_BYTES);
	/* Once something is left out the rest is too, up to the message that
	 * says so: its text has no hole. */
	room = p->skipped > 0 ? 0 : LIVE_BYTES - p->len;
	if (room > len)
		room = len;
	memcpy(p->data + p->len, data, room);
	p->len += room;
	p->skipped += len - room;
	if (clock_us() - l->sent_us >= LIVE_GAP_US)
		send_all(l, 0);
	else if (!event_pending(l->ev_flush, EV_TIMEOUT, NULL))
		event_add(l->ev_flush, &gap);
}

void
live_finish(struct live *l)
{
	if (!l->session->held)
		send_all(l, 1);
}
