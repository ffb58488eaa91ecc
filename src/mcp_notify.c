#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <event2/event.h>

#include "clock.h"
#include "json.h"
#include "mcp_private.h"
#include "mem.h"

/* Clients give up on a call that is silent for long; some count only
 * progress as a sign of life. */
#define HEARTBEAT_S		2
/* Least time between two that output causes. */
#define OUTPUT_GAP_US		250000
/* Bytes of the last line of output that a message shows. */
#define SHOWN_BYTES		200

struct progress {
	struct session	*session;
	json_t		*token;
	struct event	*ev_beat;
	uint64_t	 begun_us;
	uint64_t	 sent_us;
	double		 last;		/* progress must increase strictly */
	int		 started;
	char		 line[SHOWN_BYTES + 1];	/* "" if shown already */
	char		 waits[SHOWN_BYTES + 1];	/* "": for a worker */
};

static const char *const levels[LEVELS] = { "debug", "info", "notice",
    "warning", "error", "critical", "alert", "emergency" };

enum mcp_level
level_parse(const char *name)
{
	enum mcp_level level;

	for (level = 0; level < LEVELS; level++)
		if (strcmp(levels[level], name) == 0)
			break;
	return level;
}

void
notify_log(struct session *s, enum mcp_level wish, enum mcp_level level,
    const char *logger, json_t *data)
{
	if (s->held || level < wish) {
		json_decref(data);
		return;
	}
	session_send(s, rpc_notification("notifications/message",
	    json_pack("{s:s, s:s, s:o}", "level", levels[level], "logger",
	    logger, "data", data)));
}

static json_t *
progress_message(struct progress *p)
{
	if (p->line[0] != '\0')
		return json_text(p->line, strlen(p->line));
	if (!p->started && p->waits[0] != '\0')
		return json_text(p->waits, strlen(p->waits));
	return json_string(p->started ? "running" : "waiting for a worker");
}

static void
progress_send(struct progress *p)
{
	uint64_t now = clock_us();
	double seconds = (double)((now - p->begun_us) / 1000) / 1000.0;

	/* A peer that does not read gets no more of what it can do without. */
	if (p->session->held)
		return;
	if (seconds <= p->last)
		seconds = p->last + 0.001;
	p->last = seconds;
	p->sent_us = now;
	session_send(p->session, rpc_notification("notifications/progress",
	    json_pack("{s:O, s:f, s:o}", "progressToken", p->token,
	    "progress", seconds, "message", progress_message(p))));
	p->line[0] = '\0';
}

static void
on_beat(evutil_socket_t fd, short what, void *arg)
{
	progress_send(arg);
}

struct progress *
progress_new(struct session *s, json_t *token)
{
	static const struct timeval beat = { HEARTBEAT_S, 0 };
	struct progress *p;

	if (!json_is_string(token) && !json_is_integer(token))
		return NULL;
	p = xcalloc(1, sizeof *p);
	p->session = s;
	p->token = json_incref(token);
	p->begun_us = clock_us();
	p->ev_beat = event_new(s->mcp->base, -1, EV_PERSIST, on_beat, p);
	event_add(p->ev_beat, &beat);
	return p;
}

void
progress_free(struct progress **pp)
{
	struct progress *p = *pp;

	if (p == NULL)
		return;
	*pp = NULL;
	event_free(p->ev_beat);
	json_decref(p->token);
	free(p);
}

void
progress_started(struct progress *p)
{
	p->started = 1;
}

void
progress_waits(struct progress *p, const char *what)
{
	snprintf(p->waits, sizeof p->waits, "%s", what);
	if (clock_us() - p->sent_us >= OUTPUT_GAP_US)
		progress_send(p);
}

/* Remembers the last line that is not empty. */
static void
take_line(struct progress *p, const char *data, size_t len)
{
	const char *start;

	while (len > 0 && (data[len - 1] == '\n' || data[len - 1] == '\r'))
		len--;
	if (len == 0)
		return;
	start = memrchr(data, '\n', len);
	if (start != NULL) {
		len -= start + 1 - data;
		data = start + 1;
	}
	if (len > SHOWN_BYTES)
		len = SHOWN_BYTES;
	memcpy(p->line, data, len);
	p->line[len] = '\0';
}

void
progress_output(struct progress *p, const char *data, size_t len)
{
	take_line(p, data, len);
	if (clock_us() - p->sent_us >= OUTPUT_GAP_US)
		progress_send(p);
}
