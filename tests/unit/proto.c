/* Frames between processes: whatever arrives, no reader goes astray. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fdpass.h"
#include "fdutil.h"
#include "frame.h"
#include "mem.h"
#include "msg.h"
#include "unit.h"
#include "verdict.h"

/* --- every message, made from the lists */

#define FILL_U64(name)		m->name = ~(uint64_t)0 - sizeof #name;
#define FILL_I64(name)		m->name = -(int64_t)sizeof #name;
#define FILL_BOOL(name)		m->name = 1;
#define FILL_BIN(name)		m->name.data = "\0bytes of " #name;	\
				m->name.len = sizeof "\0bytes of " #name;
#define FILL_LIMITS(name)	m->name.memory = 7; m->name.fds = 1ull << 63;
#define FILL(kind, name)	FILL_##kind(name)

#define SAME_U64(name)		assert_true(a->name == b->name);
#define SAME_I64(name)		assert_true(a->name == b->name);
#define SAME_BOOL(name)		assert_int_equal(a->name, b->name);
#define SAME_BIN(name)							\
	assert_int_equal(a->name.len, b->name.len);			\
	assert_memory_equal(a->name.data, b->name.data, a->name.len);
#define SAME_LIMITS(name)	assert_memory_equal(&a->name, &b->name,	\
				    sizeof a->name);
#define SAME(kind, name)	SAME_##kind(name)

#define X(T, num, dirs, max)						\
static void								\
encode_##T(struct writer *w, struct msg_##T *m)				\
{									\
	memset(m, 0, sizeof *m);					\
	MSG_##T(FILL)							\
	msg_encode_##T(w, m);						\
}									\
									\
static void								\
same_##T(const struct msg_##T *a, const struct msg_##T *b)		\
{									\
	MSG_##T(SAME)							\
}									\
									\
/* Decodes it whole, cut at every byte, and with every byte changed. */	\
static void								\
try_##T(void)								\
{									\
	struct frame f = { FRAME_##T, NULL, 0 };			\
	char why[MSG_WHY_BYTES], *copy;					\
	struct msg_##T in, out;						\
	struct writer w;						\
	size_t i;							\
									\
	encode_##T(&w, &in);						\
	f.payload = w.buf.data + FRAME_HEADER_BYTES;			\
	f.len = w.buf.size - FRAME_HEADER_BYTES;			\
	assert_int_equal(msg_decode_##T(&f, &out, why), 0);		\
	same_##T(&in, &out);						\
	for (i = 0; i < f.len; i++) {					\
		struct frame cut = f;					\
									\
		/* A copy of just that size, for the sanitizer. */	\
		copy = xmemdupz(f.payload, i);				\
		cut.payload = copy;					\
		cut.len = i;						\
		why[0] = '\0';						\
		assert_int_equal(msg_decode_##T(&cut, &out, why), -1);	\
		assert_true(strlen(why) > 0);				\
		free(copy);						\
		copy = xmemdupz(f.payload, f.len);			\
		copy[i] ^= 0x5a;					\
		cut.payload = copy;					\
		cut.len = f.len;					\
		msg_decode_##T(&cut, &out, why);			\
		free(copy);						\
	}								\
	wr_free(&w);							\
}
FRAME_LIST(X)
#undef X

static void
test_messages(void **state)
{
#define X(T, num, dirs, max) try_##T();
	FRAME_LIST(X)
#undef X
}

static void
test_random_payloads(void **state)
{
	uint32_t seed = 2;
	char buf[96], why[MSG_WHY_BYTES];
	size_t i, n, len;

	for (i = 0; i < 20000; i++) {
		len = unit_random(&seed) % sizeof buf;
		for (n = 0; n < len; n++)
			buf[n] = unit_random(&seed) >> 8;
		/* Half of them begin as a map does. */
		if (len > 0 && i % 2 == 0)
			buf[0] = (char)(0x80 | (buf[0] & 0x0f));
		char *copy = xmemdupz(buf, len);
#define X(T, num, dirs, max) {						\
		struct frame f = { FRAME_##T, copy, len };		\
		struct msg_##T m;					\
		msg_decode_##T(&f, &m, why); }
		FRAME_LIST(X)
#undef X
		free(copy);
	}
}

/* --- one message by hand, wrong in one way each */

static void
test_field_errors(void **state)
{
	/* MSG_DONE: exit_code, exited, cpu_us, peak_kib. */
	static const struct {
		const char	*what;
		const char	*bytes;
		size_t		 len;
		const char	*why;	/* part of it; NULL if it is right */
	} cases[] = {
#define CASE(what, bytes, why)	{ what, bytes, sizeof bytes - 1, why }
#define EXIT_CODE		"\xa9" "exit_code"
		/* and three fields that every case has alike */
#define EXITED			"\xa6" "denied\xa0" "\xa6" "signal\x00" \
				"\xaa" "files_left\x00" \
				"\xa6" "exited"
#define CPU			"\xa6" "cpu_us"
#define PEAK			"\xa8" "peak_kib"
		CASE("right", "\x87" EXIT_CODE "\x00" EXITED "\xc2"
		    CPU "\x01" PEAK "\x02", NULL),
		CASE("reordered", "\x87" PEAK "\x02" CPU "\x01"
		    EXITED "\xc3" EXIT_CODE "\xff", NULL),
		CASE("unknown field", "\x88" "\xa1" "x" "\x00" EXIT_CODE
		    "\x00" EXITED "\xc2" CPU "\x01" PEAK "\x02", NULL),
		CASE("missing field", "\x86" EXIT_CODE "\x00" EXITED "\xc2"
		    CPU "\x01", "peak_kib is missing"),
		CASE("text for a number", "\x87" EXIT_CODE "\xa1" "0" EXITED
		    "\xc2" CPU "\x01" PEAK "\x02", "exit_code"),
		CASE("number for a boolean", "\x87" EXIT_CODE "\x00" EXITED
		    "\x01" CPU "\x01" PEAK "\x02", "exited"),
		CASE("negative for unsigned", "\x87" EXIT_CODE "\x00" EXITED
		    "\xc2" CPU "\xff" PEAK "\x02", "cpu_us"),
		CASE("nil", "\x87" EXIT_CODE "\xc0" EXITED "\xc2" CPU "\x01"
		    PEAK "\x02", "exit_code"),
		CASE("float", "\x87" EXIT_CODE "\xca\0\0\0\0" EXITED "\xc2"
		    CPU "\x01" PEAK "\x02", "exit_code"),
		CASE("key is no text", "\x81" "\x01" "\x01", "missing"),
		CASE("left-over byte", "\x87" EXIT_CODE "\x00" EXITED "\xc2"
		    CPU "\x01" PEAK "\x02" "\x00", "well-formed"),
		CASE("array", "\x91\x00", "not a map"),
		CASE("nothing", "", "well-formed"),
		CASE("ext type", "\x81" "\xa1" "x" "\xd4\x01\x00",
		    "well-formed"),
		CASE("reserved byte", "\xc1", "well-formed"),
		CASE("map of 2^32-1", "\xdf\xff\xff\xff\xff", "well-formed"),
		CASE("array of 2^32-1", "\xdd\xff\xff\xff\xff",
		    "well-formed"),
		CASE("text of 2^32-1", "\xdb\xff\xff\xff\xff", "well-formed"),
		CASE("too deep", "\x81\xa1x\x91\x91\x91\x91\x91\x91\x91\x91"
		    "\x91\x00", "well-formed")
#undef CASE
	};
	char why[MSG_WHY_BYTES];
	struct msg_DONE m;
	size_t i;

	for (i = 0; i < NITEMS(cases); i++) {
		char *copy = xmemdupz(cases[i].bytes, cases[i].len);
		struct frame f = { FRAME_DONE, copy, cases[i].len };
		int rv;

		why[0] = '\0';
		rv = msg_decode_DONE(&f, &m, why);
		if (rv != (cases[i].why == NULL ? 0 : -1) ||
		    (cases[i].why != NULL &&
		    strstr(why, cases[i].why) == NULL))
			fail_msg("%s: %d, \"%s\"", cases[i].what, rv, why);
		free(copy);
	}
}

/* --- frame headers */

static void
header(char *out, unsigned len, unsigned type, unsigned reserved)
{
	frame_header(out, type, len);
	out[6] = reserved >> 8;
	out[7] = reserved;
}

static void
test_split(void **state)
{
	static const struct {
		const char	*what;
		unsigned	 len, type, reserved;
		enum frame_dir	 dir;
		long		 want;	/* with the payload there */
	} cases[] = {
		{ "smallest", 0, 56, 0, WORKER_TO_SERVER, 8 },
		{ "one byte", 1, 56, 0, WORKER_TO_SERVER, 9 },
		{ "at the cap", 1024, 56, 0, WORKER_TO_SERVER, 1032 },
		{ "above the cap", 1025, 56, 0, WORKER_TO_SERVER, -1 },
		{ "wrong direction", 1, 56, 0, SERVER_TO_WORKER, -1 },
		{ "job from a worker", 1, 40, 0, WORKER_TO_SERVER, -1 },
		{ "unknown type", 1, 59, 0, WORKER_TO_SERVER, -1 },
		{ "type 0", 0, 0, 0, WORKER_TO_SERVER, -1 },
		{ "reserved bytes", 1, 56, 1, WORKER_TO_SERVER, -1 },
		{ "4 GiB", 0xffffffffu, 56, 0, WORKER_TO_SERVER, -1 },
		{ "control frame on a job link", 1, 23, 0,
		    WORKER_TO_SERVER, -1 },
		{ "relayed frame", 1, 12, 0, KEEPER_TO_ZYGOTE, 9 }
	};
	char buf[FRAME_HEADER_BYTES + 2048];
	const char *why;
	struct frame f;
	size_t i, n, need;

	memset(buf, 0, sizeof buf);
	for (i = 0; i < NITEMS(cases); i++) {
		header(buf, cases[i].len, cases[i].type, cases[i].reserved);
		why = NULL;
		if (frame_split(buf, sizeof buf, cases[i].dir, &f, &need,
		    &why) != cases[i].want)
			fail_msg("%s", cases[i].what);
		if (cases[i].want == -1) {
			assert_non_null(why);
			/* Refused by its header, before any payload. */
			assert_int_equal(frame_split(buf,
			    FRAME_HEADER_BYTES, cases[i].dir, &f, &need,
			    &why), -1);
			continue;
		}
		assert_int_equal(f.type, cases[i].type);
		assert_int_equal(f.len, cases[i].len);
		assert_ptr_equal(f.payload, buf + FRAME_HEADER_BYTES);
		for (n = 0; n < (size_t)cases[i].want; n++) {
			assert_int_equal(frame_split(buf, n, cases[i].dir, &f,
			    &need, &why), 0);
			assert_true(need > n);
			assert_true(need <= (size_t)cases[i].want);
		}
	}
}

static void
test_names(void **state)
{
#define X(T, num, dirs, max) assert_string_equal(frame_name(num), #T);
	FRAME_LIST(X)
#undef X
	assert_string_equal(frame_name(9999), "unknown");
#define X(name, text) assert_string_equal(verdict_name(VERDICT_##name), text);
	VERDICT_LIST(X)
#undef X
	assert_string_equal(verdict_name(VERDICT_COUNT), "internal");
}

static void
test_random_headers(void **state)
{
	uint32_t seed = 3;
	char buf[64];
	const char *why;
	struct frame f;
	size_t i, n, need;
	long rv;

	for (i = 0; i < 100000; i++) {
		for (n = 0; n < sizeof buf; n++)
			buf[n] = unit_random(&seed) >> 8;
		if (i % 2 == 0)		/* small lengths and types */
			buf[0] = buf[1] = buf[4] = buf[6] = buf[7] = 0;
		why = NULL;
		rv = frame_split(buf, sizeof buf, 1u << (i % 6), &f, &need,
		    &why);
		if (rv == -1)
			assert_non_null(why);
		else if (rv > 0)
			assert_uint_in_range(rv, FRAME_HEADER_BYTES,
			    sizeof buf);
	}
}

/* --- descriptors beside frames */

static void
make(struct writer *w)
{
	struct msg_WORKER_FORKED m = { .worker = 5, .pid = 6 };

	msg_encode_WORKER_FORKED(w, &m);
}

static void
test_control(void **state)
{
	char buf[CONTROL_FRAME_MAX], why_text[MSG_WHY_BYTES];
	int pair[2], fds[FRAME_FDS_MAX], got[FRAME_FDS_MAX], n, i, before;
	struct msg_WORKER_FORKED m;
	struct writer w;
	struct frame f;
	const char *why;

	assert_int_equal(control_pair(pair), 0);
	before = fd_count();
	for (i = 0; i < FRAME_FDS_MAX; i++)
		fds[i] = pair[0];
	make(&w);
	assert_int_equal(control_send(pair[0], &w, fds, FRAME_FDS_MAX), 0);
	assert_int_equal(control_send(pair[0], &w, fds, FRAME_FDS_MAX + 1),
	    -1);
	assert_int_equal(errno, EMSGSIZE);
	assert_int_equal(control_recv(pair[1], ZYGOTE_TO_KEEPER, buf, &f, got,
	    &n, &why), 1);
	assert_int_equal(n, FRAME_FDS_MAX);
	assert_int_equal(msg_decode_WORKER_FORKED(&f, &m, why_text), 0);
	assert_int_equal(m.worker, 5);
	for (i = 0; i < n; i++)
		close(got[i]);
	/* Against the rules: the descriptors that came along are closed. */
	assert_int_equal(control_send(pair[0], &w, fds, 2), 0);
	assert_int_equal(control_recv(pair[1], SERVER_TO_KEEPER, buf, &f, got,
	    &n, &why), -1);
	assert_int_equal(errno, EPROTO);
	assert_non_null(why);
	assert_int_equal(n, 0);
	assert_int_equal(fd_count(), before);
	close(pair[0]);
	assert_int_equal(control_recv(pair[1], ZYGOTE_TO_KEEPER, buf, &f, got,
	    &n, &why), 0);
	close(pair[1]);
	wr_free(&w);
}

static void
test_control_packets(void **state)
{
	static char big[CONTROL_FRAME_MAX + 1];
	char buf[CONTROL_FRAME_MAX], packet[256];
	int pair[2], got[FRAME_FDS_MAX], n, size = 1 << 20;
	uint32_t seed = 4;
	struct writer w;
	struct frame f;
	const char *why;
	size_t i, len;

	assert_int_equal(control_pair(pair), 0);
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
	make(&w);
	len = w.buf.size;
	memcpy(packet, w.buf.data, len);
	memcpy(packet + len, w.buf.data, len);
	/* Every prefix, and one byte or frame too many. */
	for (i = 1; i <= 2 * len; i++) {
		assert_true(send(pair[0], packet, i, 0) == (ssize_t)i);
		assert_int_equal(control_recv(pair[1], ZYGOTE_TO_KEEPER, buf,
		    &f, got, &n, &why), i == len ? 1 : -1);
	}
	assert_true(send(pair[0], big, sizeof big, 0) == sizeof big);
	assert_int_equal(control_recv(pair[1], ZYGOTE_TO_KEEPER, buf, &f, got,
	    &n, &why), -1);
	assert_string_equal(why, "packet was truncated");
	for (i = 0; i < 5000; i++) {
		for (len = 0; len < sizeof packet; len++)
			packet[len] = unit_random(&seed) >> 8;
		len = 1 + unit_random(&seed) % (sizeof packet - 1);
		assert_true(send(pair[0], packet, len, 0) == (ssize_t)len);
		assert_int_equal(control_recv(pair[1], ZYGOTE_TO_KEEPER, buf,
		    &f, got, &n, &why), -1);
	}
	close(pair[0]);
	close(pair[1]);
	wr_free(&w);
}

/* What was sent before a close is read, whatever the closer left unread. */
static void
test_control_closed_unread(void **state)
{
	static char buf[CONTROL_FRAME_MAX];
	struct msg_ZYGOTE_STOP stop = { .generation = 7 };
	struct msg_WORKER_FORKED forked = { .worker = 1, .pid = 2 };
	int pair[2], got[FRAME_FDS_MAX], nfds;
	const char *why;
	struct writer w;
	struct frame f;

	assert_int_equal(control_pair(pair), 0);
	msg_encode_WORKER_FORKED(&w, &forked);
	assert_int_equal(control_send(pair[1], &w, NULL, 0), 0);
	wr_free(&w);
	msg_encode_ZYGOTE_STOP(&w, &stop);
	assert_int_equal(control_send(pair[0], &w, NULL, 0), 0);
	wr_free(&w);
	close(pair[0]);
	assert_int_equal(control_recv(pair[1], SERVER_TO_KEEPER, buf, &f, got,
	    &nfds, &why), 1);
	assert_int_equal(f.type, FRAME_ZYGOTE_STOP);
	assert_int_equal(control_recv(pair[1], SERVER_TO_KEEPER, buf, &f, got,
	    &nfds, &why), 0);
	close(pair[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_random_payloads),
		cmocka_unit_test(test_field_errors),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_random_headers),
		cmocka_unit_test(test_control),
		cmocka_unit_test(test_control_packets),
		cmocka_unit_test(test_control_closed_unread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
