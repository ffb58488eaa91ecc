#include "config.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fdutil.h"
#include "frame.h"
#include "fuzz_worker.h"
#include "mem.h"
#include "msg.h"

#define STEPS_MAX	24
#define NOISE_MAX	512

static uint64_t	state;
static int	job_fd;

/* xorshift64*: the same numbers for a seed everywhere. */
static uint64_t
number(uint64_t below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 2685821657736338717ull >> 11) % below;
}

static void
noise(char *buf, size_t len)
{
	while (len > 0)
		buf[--len] = number(256);
}

static void
say(const void *data, size_t len)
{
	fd_write_all(job_fd, data, len);
}

/* The lengths that frames are cut to and buffers end at, mostly. */
static size_t
odd_size(size_t most)
{
	static const size_t sizes[] = { 0, 1, 7, 8, 9, 255, 256, 4095, 4096,
	    65535, 65536 };
	size_t n = number(2) ? number(most + 1) :
	    sizes[number(sizeof sizes / sizeof sizes[0])];

	return n < most ? n : most;
}

static struct slice
odd_text(void)
{
	static const char *const texts[] = { "", "x", "MemoryError",
	    "PermissionError", "../../etc/passwd", "image/png", "\xff\xfe",
	    "a\nb", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}" };
	static char text[300000];
	struct slice s;

	if (number(3) != 0)
		return slice_of(texts[number(sizeof texts /
		    sizeof texts[0])]);
	s.data = text;
	s.len = odd_size(number(8) == 0 ? sizeof text : 2000);
	memset(text, 'a' + number(26), s.len);
	return s;
}

#define ODD_U64(name)							\
	m_.name = number(2) ? number(1000) : number(~0ull);
#define ODD_I64(name)							\
	m_.name = (int64_t)number(~0ull) >> number(64);
#define ODD_BOOL(name)		m_.name = number(2);
#define ODD_BIN(name)		m_.name = odd_text();
#define ODD_LIMITS(name)	memset(&m_.name, (int)number(256),	\
				    sizeof m_.name);
#define ODD(kind, name)		ODD_##kind(name)

/* A frame as it should be, of any type there is; the caller frees it. */
static void
whole_frame(struct writer *w, unsigned type)
{
	switch (type) {
#define X(T, num, dirs, max)						\
	case FRAME_##T: {						\
		struct msg_##T m_;					\
									\
		MSG_##T(ODD)						\
		msg_encode_##T(w, &m_);					\
		return;							\
	}
	FRAME_LIST(X)
#undef X
	}
	abort();
}

static unsigned
any_type(void)
{
	static const unsigned types[] = {
#define X(T, num, dirs, max) FRAME_##T,
		FRAME_LIST(X)
#undef X
	};
	static const unsigned usual[] = { FRAME_PREFAULTED, FRAME_VALUE,
	    FRAME_EXCEPTION, FRAME_IMAGE, FRAME_FILE };

	if (number(4) != 0)
		return usual[number(sizeof usual / sizeof usual[0])];
	return types[number(sizeof types / sizeof types[0])];
}

static void
send_whole(void)
{
	struct writer w;

	whole_frame(&w, any_type());
	say(w.buf.data, w.buf.size);
	if (number(4) == 0)
		say(w.buf.data, w.buf.size);
	wr_free(&w);
}

static void
send_cut(void)
{
	struct writer w;

	whole_frame(&w, any_type());
	say(w.buf.data, odd_size(w.buf.size));
	wr_free(&w);
}

/* The right bytes, one of which is not. */
static void
send_mutated(void)
{
	struct writer w;
	size_t i, from = number(3) == 0 ? 0 : FRAME_HEADER_BYTES;

	whole_frame(&w, any_type());
	for (i = 1 + number(4); i > 0 && w.buf.size > from; i--)
		w.buf.data[from + number(w.buf.size - from)] = number(256);
	say(w.buf.data, w.buf.size);
	wr_free(&w);
}

/* A header of its own, before a payload that need not fit it. */
static void
send_header(void)
{
	char head[FRAME_HEADER_BYTES], buf[NOISE_MAX];
	size_t len = number(sizeof buf);

	frame_header(head, any_type(), number(2) ? len : number(1ull << 32));
	if (number(4) == 0)
		noise(head, sizeof head);
	noise(buf, len);
	say(head, sizeof head);
	say(buf, len);
}

/* A map that goes on for ever, and one that is deep. */
static void
send_deep(void)
{
	char head[FRAME_HEADER_BYTES], buf[NOISE_MAX];
	size_t len = 1 + number(sizeof buf);

	/* Arrays of one, maps of one, or the longest of either. */
	memset(buf, "\x91\x81\xdd\xdf"[number(4)], len);
	frame_header(head, any_type(), len);
	say(head, sizeof head);
	say(buf, len);
}

static void
send_slowly(void)
{
	struct writer w;
	size_t i, step = 1 + number(9);

	whole_frame(&w, any_type());
	for (i = 0; i < w.buf.size && i < 4000; i += step) {
		say(w.buf.data + i, w.buf.size - i < step ?
		    w.buf.size - i : step);
		poll(NULL, 0, 0);
	}
	wr_free(&w);
}

static void
send_noise(void)
{
	char buf[NOISE_MAX];
	size_t len = odd_size(sizeof buf);

	noise(buf, len);
	if (number(2))
		say(buf, len);
	else
		fd_write_all(1 + number(2), buf, len);
}

/* A descriptor that nobody asked for. */
static void
send_fd(void)
{
	char byte = number(256);
	union {
		char		buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr	align;
	} control;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
	    .msg_control = &control, .msg_controllen = sizeof control };
	int fd = STDOUT_FILENO;

	memset(&control, 0, sizeof control);
	control.align.cmsg_level = SOL_SOCKET;
	control.align.cmsg_type = SCM_RIGHTS;
	control.align.cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(&control.align), &fd, sizeof fd);
	sendmsg(job_fd, &msg, MSG_NOSIGNAL);
}

static void
send_done(void)
{
	struct writer w;

	whole_frame(&w, FRAME_DONE);
	say(w.buf.data, w.buf.size);
	wr_free(&w);
}

static void
stop(void)
{
	switch (number(6)) {
	case 0:
		_exit(number(256));
	case 1:
		raise((int[]){ SIGSEGV, SIGKILL, SIGABRT, SIGSYS }[number(4)]);
		break;
	case 2:
		shutdown(job_fd, SHUT_RDWR);
		break;
	case 3:
		close(job_fd);
		close(STDOUT_FILENO);
		break;
	default:
		send_done();
	}
}

void
fuzz_worker(int fd, uint64_t seed)
{
	static void (*const steps[])(void) = { send_whole, send_whole,
	    send_whole, send_cut, send_mutated, send_mutated, send_header,
	    send_deep, send_slowly, send_noise, send_fd, send_done };
	unsigned n;

	signal(SIGPIPE, SIG_IGN);
	job_fd = fd;
	state = seed * 0x9e3779b97f4a7c15ull | 1;
	for (n = number(STEPS_MAX); n > 0; n--)
		steps[number(sizeof steps / sizeof steps[0])]();
	stop();
	for (n = number(4); n > 0; n--)
		send_whole();
}
