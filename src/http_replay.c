#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http.h"
#include "http_replay.h"
#include "http_sse.h"
#include "mem.h"

/* What a message takes besides its text. */
#define OVERHEAD	128
/* One stream keeps at most this part of all, but always its last message. */
#define STREAM_PART	8
/* After how long a client that lost its stream comes back. */
#define RETRY_MS	500

struct kept {
	TAILQ_ENTRY(kept) entry;	/* of its stream's */
	TAILQ_ENTRY(kept) by_age;
	struct http_stream *stream;
	uint64_t	 serial;
	size_t		 len;
	char		 text[];
};

struct http_replay {
	TAILQ_HEAD(, kept) by_age;	/* oldest first */
	uint64_t	 bytes, max;
};

struct http_stream {
	TAILQ_ENTRY(http_stream) entry;
	unsigned	 number;
	struct http_replay *replay;	/* NULL if it cannot be resumed */
	TAILQ_HEAD(, kept) kept;	/* oldest first */
	uint64_t	 bytes;
	uint64_t	 serial;	/* of the last message */
	struct http_request *request;	/* NULL while it has no client */
	int		 closed;
	const struct http_stream_owner *owner;
	void		*arg;
};

struct http_replay *
http_replay_new(void)
{
	struct http_replay *all = xcalloc(1, sizeof *all);

	TAILQ_INIT(&all->by_age);
	return all;
}

void
http_replay_free(struct http_replay **allp)
{
	free(*allp);
	*allp = NULL;
}

static void
drop(struct kept *k)
{
	struct http_stream *s = k->stream;

	TAILQ_REMOVE(&s->kept, k, entry);
	TAILQ_REMOVE(&s->replay->by_age, k, by_age);
	s->bytes -= k->len + OVERHEAD;
	s->replay->bytes -= k->len + OVERHEAD;
	free(k);
}

void
http_replay_bound(struct http_replay *all, uint64_t bytes)
{
	all->max = bytes;
	while (all->bytes > all->max)
		drop(TAILQ_FIRST(&all->by_age));
}

static void
keep(struct http_stream *s, const char *text, size_t len)
{
	struct http_replay *all = s->replay;
	struct kept *k = xmalloc(sizeof *k + len);

	k->stream = s;
	k->serial = s->serial;
	k->len = len;
	memcpy(k->text, text, len);
	TAILQ_INSERT_TAIL(&s->kept, k, entry);
	TAILQ_INSERT_TAIL(&all->by_age, k, by_age);
	s->bytes += len + OVERHEAD;
	all->bytes += len + OVERHEAD;
	while (s->bytes > all->max / STREAM_PART &&
	    TAILQ_FIRST(&s->kept) != k)
		drop(TAILQ_FIRST(&s->kept));
	http_replay_bound(all, all->max);
}

/* --- a stream */

struct http_stream *
http_stream_new(struct http_streams *list, unsigned number,
    struct http_replay *all, const struct http_stream_owner *owner,
    void *arg)
{
	struct http_stream *s = xcalloc(1, sizeof *s);

	s->number = number;
	s->replay = all != NULL && all->max > 0 ? all : NULL;
	TAILQ_INIT(&s->kept);
	s->owner = owner;
	s->arg = arg;
	TAILQ_INSERT_TAIL(list, s, entry);
	return s;
}

static void
end_response(struct http_stream *s)
{
	struct http_request *r = s->request;

	if (r == NULL)
		return;
	s->request = NULL;
	http_watch(r, NULL, NULL);
	http_stream_end(r);
}

void
http_stream_free(struct http_streams *list, struct http_stream *s)
{
	struct kept *k;

	end_response(s);
	while ((k = TAILQ_FIRST(&s->kept)) != NULL)
		drop(k);
	TAILQ_REMOVE(list, s, entry);
	free(s);
}

struct http_stream *
http_stream_find(struct http_streams *list, const char *id, uint64_t *serial)
{
	struct http_stream *s;
	unsigned number;
	int end = 0;

	if (strspn(id, "0123456789-") != strlen(id) || strlen(id) > 30 ||
	    sscanf(id, "%u-%" SCNu64 "%n", &number, serial, &end) != 2 ||
	    id[end] != '\0')
		return NULL;
	TAILQ_FOREACH(s, list, entry)
		if (s->number == number && s->replay != NULL &&
		    *serial <= s->serial)
			return s;
	return NULL;
}

struct http_stream *
http_stream_next(const struct http_stream *s)
{
	return TAILQ_NEXT(s, entry);
}

int
http_stream_closed(const struct http_stream *s)
{
	return s->closed;
}

int
http_stream_resumable(const struct http_stream *s)
{
	return s->replay != NULL;
}

int
http_stream_attached(const struct http_stream *s)
{
	return s->request != NULL;
}

int
http_stream_waits(const struct http_stream *s, uint64_t serial)
{
	const struct kept *k;

	if (!s->closed)
		return 1;
	TAILQ_FOREACH(k, &s->kept, entry)
		if (k->serial > serial)
			return 1;
	return 0;
}

static void
on_gone(struct http_request *r, void *arg)
{
	struct http_stream *s = arg;

	s->request = NULL;
	if (!s->closed)
		s->owner->gone(s, s->arg);
}

static void
on_full(struct http_request *r, int on, void *arg)
{
	struct http_stream *s = arg;

	if (!s->closed)
		s->owner->full(s, on, s->arg);
}

static void
on_stop(struct http_request *r, void *arg)
{
	struct http_stream *s = arg;

	if (!s->closed)
		s->owner->stop(s, s->arg);
}

static const struct http_watcher watcher = { on_gone, on_full, on_stop };

static void
write_one(struct http_stream *s, uint64_t serial, const char *text,
    size_t len)
{
	char id[48];

	if (s->replay != NULL)
		snprintf(id, sizeof id, "%u-%" PRIu64, s->number, serial);
	http_sse_event(s->request, s->replay != NULL ? id : NULL, NULL, text,
	    len);
}

void
http_stream_attach(struct http_stream *s, struct http_request *r,
    uint64_t serial)
{
	struct kept *k;
	char id[48];

	end_response(s);
	s->request = r;
	http_watch(r, &watcher, s);
	http_sse_start(r);
	if (s->replay != NULL) {
		snprintf(id, sizeof id, "%u-%" PRIu64, s->number, serial);
		http_sse_prime(r, id, RETRY_MS);
	}
	TAILQ_FOREACH(k, &s->kept, entry)
		if (k->serial > serial)
			write_one(s, k->serial, k->text, k->len);
	if (s->closed)
		end_response(s);
}

void
http_stream_detach(struct http_stream *s)
{
	end_response(s);
}

void
http_stream_send(struct http_stream *s, const char *text, size_t len)
{
	s->serial++;
	if (s->replay != NULL && s->replay->max > 0)
		keep(s, text, len);
	if (s->request != NULL)
		write_one(s, s->serial, text, len);
}

void
http_stream_close(struct http_stream *s)
{
	s->closed = 1;
	end_response(s);
}
