#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "job.h"
#include "mem.h"

void
capture_init(struct capture *c, size_t limit)
{
	memset(c, 0, sizeof *c);
	c->limit = limit;
}

void
capture_free(struct capture *c)
{
	free(c->head);
	free(c->ring);
	capture_init(c, c->limit);
}

static size_t
head_max(const struct capture *c)
{
	return c->limit - c->limit / 2;
}

static void
head_reserve(struct capture *c, size_t more)
{
	size_t want = c->head_len + more, size = c->head_size;

	if (want <= size)
		return;
	if (size == 0)
		size = 512;
	while (size < want)
		size *= 2;
	c->head = xreallocarray(c->head, 1, size);
	c->head_size = size;
}

/* Appends to the ring; only the last limit / 2 bytes survive. */
static void
ring_add(struct capture *c, const char *data, size_t len)
{
	size_t size = c->limit / 2, n;

	if (size == 0)
		return;
	if (c->ring == NULL)
		c->ring = xmalloc(size);
	if (len > size) {
		data += len - size;
		len = size;
	}
	n = len < size - c->ring_at ? len : size - c->ring_at;
	memcpy(c->ring + c->ring_at, data, n);
	memcpy(c->ring, data + n, len - n);
	c->ring_at = (c->ring_at + len) % size;
	c->ring_len = c->ring_len + len < size ? c->ring_len + len : size;
}

void
capture_add(struct capture *c, const char *data, size_t len)
{
	size_t n = head_max(c) - c->head_len;

	c->total += len;
	if (n > len)
		n = len;
	if (n > 0) {
		head_reserve(c, n);
		memcpy(c->head + c->head_len, data, n);
		c->head_len += n;
	}
	if (len > n)
		ring_add(c, data + n, len - n);
}

void
capture_take(struct capture *c, struct job_output *out)
{
	size_t size = c->limit / 2;
	size_t from = c->ring_len < size ? 0 : c->ring_at;
	char *tail;

	memset(out, 0, sizeof *out);
	out->total = c->total;
	out->dropped = c->total - c->head_len - c->ring_len;
	if (c->ring_len > 0 && out->dropped == 0) {
		/* It all fits: one piece. */
		head_reserve(c, c->ring_len);
		memcpy(c->head + c->head_len, c->ring + from,
		    c->ring_len - from);
		memcpy(c->head + c->head_len + c->ring_len - from, c->ring,
		    from);
		c->head_len += c->ring_len;
	} else if (c->ring_len > 0) {
		tail = xmalloc(c->ring_len);
		memcpy(tail, c->ring + from, c->ring_len - from);
		memcpy(tail + c->ring_len - from, c->ring, from);
		out->tail = tail;
		out->tail_len = c->ring_len;
	}
	out->head = c->head != NULL ? c->head : xstrdup("");
	out->head_len = c->head_len;
	c->head = NULL;
	capture_free(c);
}
