#include "config.h"

#include <assert.h>
#include <string.h>

#include "msg.h"

static void
encode_begin(struct writer *w)
{
	static const char room[FRAME_HEADER_BYTES];

	wr_init(w);
	msgpack_sbuffer_write(&w->buf, room, sizeof room);
}

static void
encode_end(struct writer *w, enum frame_type type)
{
	frame_header(w->buf.data, type, w->buf.size - FRAME_HEADER_BYTES);
}

static int
decode_end(struct reader *r, char *why)
{
	memcpy(why, r->error, sizeof r->error);
	return rd_end(r);
}

_Static_assert(sizeof ((struct reader *)0)->error == MSG_WHY_BYTES,
    "callers of msg_decode_* give room for a reader's error");

#define COUNT(kind, name)	+ 1
#define PACK_U64(name)		wr_u64(w, m->name);
#define PACK_I64(name)		wr_i64(w, m->name);
#define PACK_BOOL(name)		wr_bool(w, m->name);
#define PACK_BIN(name)		wr_bin(w, m->name);
#define PACK_LIMITS(name)	limits_pack(w, &m->name);
#define PACK(kind, name)	wr_key(w, #name); PACK_##kind(name)
#define UNPACK_U64(name)	m->name = rd_u64(&r, #name);
#define UNPACK_I64(name)	m->name = rd_i64(&r, #name);
#define UNPACK_BOOL(name)	m->name = rd_bool(&r, #name);
#define UNPACK_BIN(name)	m->name = rd_bin(&r, #name);
#define UNPACK_LIMITS(name)	limits_unpack(&r, #name, &m->name);
#define UNPACK(kind, name)	UNPACK_##kind(name)

#define X(T, num, dirs, max)						\
void									\
msg_encode_##T(struct writer *w, const struct msg_##T *m)		\
{									\
	encode_begin(w);						\
	wr_map(w, 0 MSG_##T(COUNT));					\
	MSG_##T(PACK)						\
	encode_end(w, FRAME_##T);					\
}									\
									\
int									\
msg_decode_##T(const struct frame *f, struct msg_##T *m, char *why) \
{									\
	struct reader r;						\
									\
	assert(f->type == FRAME_##T);				\
	memset(m, 0, sizeof *m);					\
	rd_init(&r, f->payload, f->len);				\
	MSG_##T(UNPACK)						\
	return decode_end(&r, why);					\
}
FRAME_LIST(X)
#undef X
