/* Frames from a peer of which nothing is believed: the first byte says which
 * way they travel, the rest is what came. */
#include "config.h"

#include <string.h>

#include "frame.h"
#include "fuzz.h"
#include "msg.h"

#define DIRECTIONS	6

/* What can be read can be written, and reads the same again. */
#define X(T, num, dirs, max)						\
static void								\
again_##T(const struct frame *f)					\
{									\
	struct msg_##T m, m2;						\
	struct writer first, second;					\
	struct frame again = { FRAME_##T, NULL, 0 };			\
	char why[MSG_WHY_BYTES] = "";					\
									\
	if (msg_decode_##T(f, &m, why) == -1) {				\
		FUZZ_CHECK(why[0] != '\0' &&				\
		    memchr(why, '\0', sizeof why) != NULL);		\
		return;							\
	}								\
	msg_encode_##T(&first, &m);					\
	again.payload = (char *)first.buf.data + FRAME_HEADER_BYTES;	\
	again.len = first.buf.size - FRAME_HEADER_BYTES;		\
	FUZZ_CHECK(msg_decode_##T(&again, &m2, why) == 0);		\
	msg_encode_##T(&second, &m2);					\
	FUZZ_CHECK(first.buf.size == second.buf.size && memcmp(		\
	    first.buf.data, second.buf.data, first.buf.size) == 0);	\
	wr_free(&first);						\
	wr_free(&second);						\
}
FRAME_LIST(X)
#undef X

static void
again(const struct frame *f)
{
	switch (f->type) {
#define X(T, num, dirs, max)						\
	case FRAME_##T:							\
		again_##T(f);						\
		break;
	FRAME_LIST(X)
#undef X
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	enum frame_dir dir;
	const char *why = NULL;
	struct frame f;
	size_t need;
	long n;

	if (len == 0)
		return 0;
	dir = 1 << (*data++ % DIRECTIONS);
	len--;
	while (len > 0) {
		need = 0;
		n = frame_split(data, len, dir, &f, &need, &why);
		if (n == -1) {
			FUZZ_CHECK(why != NULL);
			return 0;
		}
		if (n == 0) {
			FUZZ_CHECK(need > len);
			return 0;
		}
		FUZZ_CHECK((size_t)n <= len &&
		    f.len == (size_t)n - FRAME_HEADER_BYTES);
		FUZZ_CHECK(frame_rule(f.type, dir, f.len) == NULL);
		again(&f);
		data += n;
		len -= (size_t)n;
	}
	return 0;
}
