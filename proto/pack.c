#include "config.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "pack.h"

struct slice
slice_of(const char *s)
{
	struct slice sl = { s, s == NULL ? 0 : strlen(s) };

	return sl;
}

void
wr_init(struct writer *w)
{
	msgpack_sbuffer_init(&w->buf);
	msgpack_packer_init(&w->pk, &w->buf, msgpack_sbuffer_write);
}

void
wr_free(struct writer *w)
{
	msgpack_sbuffer_destroy(&w->buf);
}

/* A writer fails only where memory is out. */
static void
must(int rv)
{
	if (rv != 0)
		fatalx("out of memory: packing a frame");
}

void
wr_map(struct writer *w, unsigned pairs)
{
	must(msgpack_pack_map(&w->pk, pairs));
}

void
wr_array(struct writer *w, unsigned items)
{
	must(msgpack_pack_array(&w->pk, items));
}

void
wr_key(struct writer *w, const char *key)
{
	must(msgpack_pack_str(&w->pk, strlen(key)));
	must(msgpack_pack_str_body(&w->pk, key, strlen(key)));
}

void
wr_u64(struct writer *w, uint64_t v)
{
	must(msgpack_pack_uint64(&w->pk, v));
}

void
wr_i64(struct writer *w, int64_t v)
{
	must(msgpack_pack_int64(&w->pk, v));
}

void
wr_bool(struct writer *w, int v)
{
	must(v ? msgpack_pack_true(&w->pk) : msgpack_pack_false(&w->pk));
}

void
wr_bin(struct writer *w, struct slice s)
{
	must(msgpack_pack_bin(&w->pk, s.len));
	if (s.len > 0)
		must(msgpack_pack_bin_body(&w->pk, s.data, s.len));
}

/* Reads a big-endian number of width bytes; -1 if they are not there. */
static int
take_length(const unsigned char **p, const unsigned char *end, unsigned width,
    size_t *out)
{
	size_t v = 0;

	if ((size_t)(end - *p) < width)
		return -1;
	while (width-- > 0)
		v = v << 8 | *(*p)++;
	*out = v;
	return 0;
}

/*
 * Steps over one msgpack value (formats as in the msgpack specification);
 * -1 if it is cut short, too deep, or claims more items than bytes follow.
 */
static int
skip_value(const unsigned char **p, const unsigned char *end, int depth)
{
	static const unsigned char fixed[] = {	/* 0xca .. 0xd3 */
		4, 8, 1, 2, 4, 8, 1, 2, 4, 8
	};
	size_t bytes = 0, items = 0;
	unsigned char c;

	if (depth > READER_DEPTH_MAX || *p == end)
		return -1;
	c = *(*p)++;
	if (c <= 0x7f || c >= 0xe0 || c == 0xc0 || c == 0xc2 || c == 0xc3)
		return 0;
	if (c <= 0x8f)
		items = 2 * (size_t)(c & 0x0f);
	else if (c <= 0x9f)
		items = c & 0x0f;
	else if (c <= 0xbf)
		bytes = c & 0x1f;
	else if (c >= 0xca && c <= 0xd3)
		bytes = fixed[c - 0xca];
	else if (c >= 0xc4 && c <= 0xc6) {
		if (take_length(p, end, 1u << (c - 0xc4), &bytes) == -1)
			return -1;
	} else if (c >= 0xd9 && c <= 0xdb) {
		if (take_length(p, end, 1u << (c - 0xd9), &bytes) == -1)
			return -1;
	} else if (c >= 0xdc && c <= 0xdf) {
		if (take_length(p, end, c & 1 ? 4 : 2, &items) == -1)
			return -1;
		if (c >= 0xde)
			items *= 2;
	} else
		return -1;	/* ext types and 0xc1: we never send them */
	if (bytes > (size_t)(end - *p) || items > (size_t)(end - *p))
		return -1;
	*p += bytes;
	while (items-- > 0)
		if (skip_value(p, end, depth + 1) == -1)
			return -1;
	return 0;
}

void
rd_init(struct reader *r, const void *data, size_t len)
{
	const unsigned char *p = data, *end = p + len;
	msgpack_object obj;
	size_t off = 0;

	memset(r, 0, sizeof *r);
	if (skip_value(&p, end, 0) == -1 || p != end) {
		snprintf(r->error, sizeof r->error,
		    "payload is not one well-formed msgpack value");
		return;
	}
	r->zone = msgpack_zone_new(4096);
	if (r->zone == NULL)
		fatalx("out of memory: reading a frame");
	if (msgpack_unpack(data, len, &off, r->zone, &obj) !=
	    MSGPACK_UNPACK_SUCCESS || obj.type != MSGPACK_OBJECT_MAP) {
		snprintf(r->error, sizeof r->error, "payload is not a map");
		return;
	}
	r->map = obj.via.map;
}

void
rd_fail(struct reader *r, const char *key, const char *why)
{
	if (r->error[0] == '\0')
		snprintf(r->error, sizeof r->error, "field %s %s", key, why);
}

static const msgpack_object *
find(struct reader *r, const char *key)
{
	size_t len = strlen(key);
	uint32_t i;

	for (i = 0; i < r->map.size; i++) {
		const msgpack_object *k = &r->map.ptr[i].key;

		if (k->type == MSGPACK_OBJECT_STR && k->via.str.size == len &&
		    memcmp(k->via.str.ptr, key, len) == 0)
			return &r->map.ptr[i].val;
	}
	rd_fail(r, key, "is missing");
	return NULL;
}

uint64_t
rd_u64(struct reader *r, const char *key)
{
	const msgpack_object *o = find(r, key);

	if (o == NULL)
		return 0;
	if (o->type != MSGPACK_OBJECT_POSITIVE_INTEGER) {
		rd_fail(r, key, "is not an unsigned integer");
		return 0;
	}
	return o->via.u64;
}

int64_t
rd_i64(struct reader *r, const char *key)
{
	const msgpack_object *o = find(r, key);

	if (o == NULL)
		return 0;
	if (o->type == MSGPACK_OBJECT_NEGATIVE_INTEGER ||
	    (o->type == MSGPACK_OBJECT_POSITIVE_INTEGER &&
	    o->via.u64 <= INT64_MAX))
		return o->via.i64;
	rd_fail(r, key, "is not a signed integer");
	return 0;
}

int
rd_bool(struct reader *r, const char *key)
{
	const msgpack_object *o = find(r, key);

	if (o == NULL)
		return 0;
	if (o->type != MSGPACK_OBJECT_BOOLEAN) {
		rd_fail(r, key, "is not a boolean");
		return 0;
	}
	return o->via.boolean;
}

struct slice
rd_bin(struct reader *r, const char *key)
{
	const msgpack_object *o = find(r, key);
	struct slice s = { "", 0 };

	if (o == NULL)
		return s;
	if (o->type == MSGPACK_OBJECT_BIN) {
		s.data = o->via.bin.ptr;
		s.len = o->via.bin.size;
	} else if (o->type == MSGPACK_OBJECT_STR) {
		s.data = o->via.str.ptr;
		s.len = o->via.str.size;
	} else
		rd_fail(r, key, "is not a string");
	return s;
}

void
rd_map(struct reader *r, const char *key, struct reader *sub)
{
	const msgpack_object *o = find(r, key);

	memset(sub, 0, sizeof *sub);
	if (o == NULL || o->type != MSGPACK_OBJECT_MAP) {
		rd_fail(r, key, "is not a map");
		return;
	}
	sub->map = o->via.map;
}

void
rd_end_sub(struct reader *r, struct reader *sub)
{
	if (sub->error[0] != '\0' && r->error[0] == '\0')
		memcpy(r->error, sub->error, sizeof r->error);
}

int
rd_end(struct reader *r)
{
	if (r->zone != NULL)
		msgpack_zone_free(r->zone);
	r->zone = NULL;
	return r->error[0] == '\0' ? 0 : -1;
}
