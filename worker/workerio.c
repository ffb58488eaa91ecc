#include "config.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fdutil.h"
#include "log.h"
#include "mem.h"
#include "workerio.h"

/* Room that packing a frame may need beyond the bytes it carries. */
#define PACK_OVERHEAD	(64 * 1024)

static struct {
	pid_t	pid;
	dev_t	dev;
	ino_t	ino;
} owner;

/* A whole DONE frame whose last byte is the signal, made beforehand: it is
 * sent from a signal handler. */
static char	signalled[256];
static size_t	signalled_len;

static void
prepare_signalled(void)
{
	struct msg_DONE m = { .exit_code = 0, .signal = 1 };
	struct writer w;

	msg_encode_DONE(&w, &m);
	if (w.buf.size <= sizeof signalled) {
		memcpy(signalled, w.buf.data, w.buf.size);
		signalled_len = w.buf.size;
	}
	wr_free(&w);
}

void
workerio_signalled(int sig)
{
	if (!workerio_is_owner() || signalled_len == 0 || sig > 127)
		return;
	signalled[signalled_len - 1] = sig;
	send(WORKER_FD_JOB, signalled, signalled_len, MSG_NOSIGNAL);
}

/* Once through reading a job, for the pages that it touches. */
static void
try_decoding(void)
{
	struct msg_JOB m = { .policy = 0 }, got;
	char why[MSG_WHY_BYTES];
	struct writer w;
	struct frame f;

	msg_encode_JOB(&w, &m);
	f.type = FRAME_JOB;
	f.payload = w.buf.data + FRAME_HEADER_BYTES;
	f.len = w.buf.size - FRAME_HEADER_BYTES;
	if (msg_decode_JOB(&f, &got, why) == -1)
		log_warnx("job link: JOB: %s", why);
	wr_free(&w);
}

void
workerio_init(void)
{
	struct stat st;

	prepare_signalled();
	try_decoding();
	owner.pid = getpid();
	if (fstat(WORKER_FD_JOB, &st) == 0) {
		owner.dev = st.st_dev;
		owner.ino = st.st_ino;
	}
}

int
workerio_is_owner(void)
{
	return getpid() == owner.pid;
}

static int
link_is_ours(void)
{
	struct stat st;

	return workerio_is_owner() && fstat(WORKER_FD_JOB, &st) == 0 &&
	    st.st_dev == owner.dev && st.st_ino == owner.ino;
}

/* One whole frame; *buf, the caller's, holds its payload. */
static int
read_frame(struct frame *f, char **buf)
{
	char head[FRAME_HEADER_BYTES];
	const char *why = NULL;
	size_t need;

	if (fd_read_all(WORKER_FD_JOB, head, sizeof head) == -1)
		return -1;	/* the pool was closed: nothing to say */
	if (frame_split(head, sizeof head, SERVER_TO_WORKER, f, &need,
	    &why) == -1) {
		log_warnx("job link: %s", why);
		return -1;
	}
	*buf = xmalloc(need);
	/* The types of this direction were checked above. */
	f->type = (unsigned char)head[4] << 8 | (unsigned char)head[5];
	f->payload = *buf;
	f->len = need - sizeof head;
	if (fd_read_all(WORKER_FD_JOB, *buf, f->len) == 0)
		return 0;
	log_warn("job link: reading a frame");
	free(*buf);
	*buf = NULL;
	return -1;
}

/* A frame other than JOB; -1 with err, MSG_WHY_BYTES, if it is none that may
 * come. */
static int
handle_before(const struct frame *f, const struct workerio_before *before,
    char *err)
{
	struct msg_INPUT_FILE in;
	struct msg_PREFAULT ahead;

	if (f->type == FRAME_INPUT_FILE && before->input_file != NULL) {
		if (msg_decode_INPUT_FILE(f, &in, err) == -1)
			return -1;
		before->input_file(&in);
		return 0;
	}
	if (f->type == FRAME_PREFAULT && before->prefault != NULL) {
		if (msg_decode_PREFAULT(f, &ahead, err) == -1)
			return -1;
		before->prefault(&ahead);
		return 0;
	}
	return -1;
}

int
workerio_read_job(struct msg_JOB *job, char **buf,
    const struct workerio_before *before)
{
	char err[MSG_WHY_BYTES] = "not expected now";
	struct frame f;
	int rv = 0;

	while (rv == 0) {
		if (read_frame(&f, buf) == -1)
			return -1;
		if (f.type == FRAME_JOB && msg_decode_JOB(&f, job, err) == 0)
			return 0;
		rv = f.type == FRAME_JOB ? -1 :
		    handle_before(&f, before, err);
		if (rv == -1)
			log_warnx("job link: %s: %s", frame_name(f.type), err);
		free(*buf);
		*buf = NULL;
	}
	return -1;
}

int
workerio_has_input(void)
{
	char c;

	return recv(WORKER_FD_JOB, &c, 1, MSG_PEEK | MSG_DONTWAIT) != -1;
}

static int
send_all(const char *p, size_t len)
{
	struct pollfd pfd = { .fd = WORKER_FD_JOB, .events = POLLOUT };
	ssize_t n;

	while (len > 0) {
		n = send(WORKER_FD_JOB, p, len, MSG_NOSIGNAL);
		if (n >= 0) {
			p += n;
			len -= n;
		} else if (errno == EAGAIN)
			/* The program made the socket non-blocking. */
			poll(&pfd, 1, -1);
		else if (errno != EINTR)
			return -1;
	}
	return 0;
}

int
workerio_send(struct writer *w)
{
	int rv = link_is_ours() ? send_all(w->buf.data, w->buf.size) : -1;

	/* DONE is the last frame: how the process ends then, adds none. */
	if ((unsigned char)w->buf.data[FRAME_HEADER_BYTES - 3] == FRAME_DONE)
		signalled_len = 0;
	wr_free(w);
	return rv;
}

void
workerio_wait_end(void)
{
	char c;

	if (link_is_ours())
		while (recv(WORKER_FD_JOB, &c, 1, 0) == -1 &&
		    errno == EINTR)
			;
}

/* The packing code ends the process where memory is out, and a job may
 * have used it all up: ask first. */
static int
room_for(size_t len)
{
	/* The buffer grows by doubling and is copied as it grows. */
	void *p = malloc(3 * len + PACK_OVERHEAD);

	free(p);
	return p != NULL;
}

#define PAYLOAD_U64(name)	+ sizeof(uint64_t)
#define PAYLOAD_I64(name)	+ sizeof(int64_t)
#define PAYLOAD_BOOL(name)	+ 1
#define PAYLOAD_BIN(name)	+ m->name.len
#define PAYLOAD(kind, name)	PAYLOAD_##kind(name)

#define X(T, num, dirs, max)						\
int									\
workerio_##T(const struct msg_##T *m)					\
{									\
	struct writer w;						\
									\
	if (!room_for(0 MSG_##T(PAYLOAD)))				\
		return -1;						\
	msg_encode_##T(&w, m);						\
	return workerio_send(&w);					\
}
X(PARKED,,,) X(PREFAULTED,,,) X(VALUE,,,) X(EXCEPTION,,,)
X(IMAGE,,,) X(FILE,,,) X(FILE_PART,,,) X(DONE,,,)
#undef X
