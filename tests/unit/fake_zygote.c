/*
 * A zygote without Python: real processes, real frames, and a tiny language
 * in place of code, so that tests of pool, deadline, cancel and crash take
 * milliseconds.  Each line of a job's code is one step; see run_step().
 * --modules may name a fault of the zygote itself; see main().
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fdpass.h"
#include "fdutil.h"
#include "fuzz_worker.h"
#include "log.h"
#include "mem.h"
#include "msg.h"

static pid_t zygote_pid;
static int job_fd;

#define SEND(T, ...)							\
	do {								\
		struct msg_##T m_ = { __VA_ARGS__ };			\
		struct writer w_;					\
									\
		msg_encode_##T(&w_, &m_);				\
		fd_write_all(job_fd, w_.buf.data, w_.buf.size);		\
		wr_free(&w_);						\
	} while (0)

static void
put(int fd, const char *text)
{
	fd_write_all(fd, text, strlen(text));
}

static void
flood(int fd, long long bytes)
{
	static char block[4096];

	memset(block, 'x', sizeof block);
	for (; bytes > 0; bytes -= sizeof block)
		fd_write_all(fd, block, sizeof block);
}

/* Bytes that are no frame: "header LENGTH TYPE RESERVED" in decimal. */
static void
bad_header(const char *arg)
{
	unsigned len, type, reserved;
	unsigned char h[8];

	if (sscanf(arg, "%u %u %u", &len, &type, &reserved) != 3)
		_exit(99);
	h[0] = len >> 24;
	h[1] = len >> 16;
	h[2] = len >> 8;
	h[3] = len;
	h[4] = type >> 8;
	h[5] = type;
	h[6] = reserved >> 8;
	h[7] = reserved;
	fd_write_all(job_fd, h, sizeof h);
}

static void
random_bytes(const char *arg)
{
	unsigned seed = atoi(arg), i;
	char buf[256];

	for (i = 0; i < sizeof buf; i++) {
		seed = seed * 1103515245 + 12345;
		buf[i] = seed >> 16;
	}
	fd_write_all(job_fd, buf, sizeof buf);
}

static void
hang(void)
{
	for (;;)
		pause();
}

/* A job that says die-once: the first time, by way of a file, the worker dies
 * before it has read the job. */
static void
die_once(void)
{
	static const char word[] = "die-once ";
	char head[4096], *at, *end;
	ssize_t n = recv(job_fd, head, sizeof head - 1, MSG_PEEK);

	head[n < 0 ? 0 : n] = '\0';
	at = n <= 0 ? NULL : memmem(head, n, word, sizeof word - 1);
	if (at == NULL)
		return;
	at += sizeof word - 1;
	if ((end = strchr(at, '\n')) != NULL)
		*end = '\0';
	if (open(at, O_WRONLY | O_CREAT | O_EXCL, 0600) != -1)
		_exit(1);
}

static void
orphan(const char *arg)
{
	pid_t pid = fork();

	if (pid != 0)
		return;
	if (strcmp(arg, "session") == 0)
		setsid();
	hang();
}

static void
run_step(const char *op, const char *arg)
{
	if (strcmp(op, "out") == 0)
		put(1, arg);
	else if (strcmp(op, "err") == 0)
		put(2, arg);
	else if (strcmp(op, "flood") == 0)
		flood(1, atoll(arg));
	else if (strcmp(op, "value") == 0)
		SEND(VALUE, .text = slice_of(arg));
	else if (strcmp(op, "raise") == 0)
		SEND(EXCEPTION, .type = slice_of(arg),
		    .message = slice_of("m"), .traceback = slice_of("tb"),
		    .line = 7);
	else if (strcmp(op, "image") == 0)
		SEND(IMAGE, .mime = slice_of("image/png"),
		    .name = slice_of(arg),
		    .data = slice_of("\x89PNG\r\n\x1a\n"));
	else if (strcmp(op, "done") == 0)
		SEND(DONE, .exit_code = atoi(arg), .peak_kib = 1);
	else if (strcmp(op, "header") == 0)
		bad_header(arg);
	else if (strcmp(op, "random") == 0)
		random_bytes(arg);
	else if (strcmp(op, "fuzz") == 0)
		fuzz_worker(job_fd, strtoull(arg, NULL, 10));
	else if (strcmp(op, "exit") == 0)
		_exit(atoi(arg));
	else if (strcmp(op, "signal") == 0)
		raise(atoi(arg));
	else if (strcmp(op, "hang") == 0)
		hang();
	else if (strcmp(op, "close") == 0)
		close(job_fd);
	else if (strcmp(op, "die-once") == 0)
		;	/* it has done so */
	else if (strcmp(op, "orphan") == 0)
		orphan(arg);
	else if (strcmp(op, "kill-zygote") == 0)
		kill(zygote_pid, SIGKILL);
	else if (strcmp(op, "kill-keeper") == 0)
		kill(getppid(), SIGKILL);
	else
		_exit(98);
}

static void
run_code(char *code)
{
	char *line, *arg;

	while ((line = strsep(&code, "\n")) != NULL) {
		arg = strchr(line, ' ');
		if (arg != NULL)
			*arg++ = '\0';
		if (line[0] != '\0')
			run_step(line, arg != NULL ? arg : "");
	}
}

/* The next frame, decoded if it is a JOB; what it points to stays. */
static unsigned
next_frame(struct msg_JOB *m)
{
	char header[FRAME_HEADER_BYTES], why[MSG_WHY_BYTES], *buf;
	const char *rule;
	struct frame f;
	size_t need;

	die_once();
	if (fd_read_all(job_fd, header, sizeof header) == -1)
		_exit(0);
	if (frame_split(header, sizeof header, SERVER_TO_WORKER, &f, &need,
	    &rule) == -1)
		_exit(97);
	buf = xmalloc(need);
	memcpy(buf, header, sizeof header);
	if (fd_read_all(job_fd, buf + sizeof header, need - sizeof header) ==
	    -1 || frame_split(buf, need, SERVER_TO_WORKER, &f, &need,
	    &rule) <= 0 || (f.type == FRAME_JOB &&
	    msg_decode_JOB(&f, m, why) == -1))
		_exit(96);
	return f.type;
}

static void
worker(int fds[3])
{
	struct msg_JOB m;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setsid();
	job_fd = fds[0];
	dup2(fds[1], 1);
	dup2(fds[2], 2);
	close(fds[1]);
	close(fds[2]);
	close(ZYGOTE_FD_CONTROL);
	SEND(PARKED, .prepare_us = 1, .confine_us = 1);
	while (next_frame(&m) == FRAME_PREFAULT)
		SEND(PREFAULTED, .more = 0);
	run_code(xmemdupz(m.code.data, m.code.len));
	hang();
}

static void
fork_worker(uint64_t id, int fds[3])
{
	struct clone_args args = { 0 };
	struct writer w;
	int pidfd = -1;
	pid_t pid;

	args.flags = CLONE_PARENT | CLONE_PIDFD;
	args.pidfd = (uintptr_t)&pidfd;
	pid = syscall(SYS_clone3, &args, sizeof args);
	if (pid == 0)
		worker(fds);
	if (pid == -1) {
		struct msg_WORKER_REFUSED m = { .worker = id,
		    .reason = slice_of(strerror(errno)) };

		msg_encode_WORKER_REFUSED(&w, &m);
		control_send(ZYGOTE_FD_CONTROL, &w, NULL, 0);
	} else {
		struct msg_WORKER_FORKED m = { .worker = id, .pid = pid };

		msg_encode_WORKER_FORKED(&w, &m);
		control_send(ZYGOTE_FD_CONTROL, &w, &pidfd, 1);
		close(pidfd);
	}
	wr_free(&w);
}

static void
say_ready(uint64_t generation, const char *layers)
{
	struct msg_ZYGOTE_READY m = { .generation = generation,
	    .pid = getpid(), .python = slice_of("fake"),
	    .packages = slice_of("fake 1.0\n"),
	    .layers = slice_of(layers), .sessions = 1 };
	struct writer w;

	msg_encode_ZYGOTE_READY(&w, &m);
	control_send(ZYGOTE_FD_CONTROL, &w, NULL, 0);
	wr_free(&w);
}

static void
refuse(uint64_t id)
{
	struct msg_WORKER_REFUSED m = { .worker = id,
	    .reason = slice_of("told to refuse") };
	struct writer w;

	msg_encode_WORKER_REFUSED(&w, &m);
	control_send(ZYGOTE_FD_CONTROL, &w, NULL, 0);
	wr_free(&w);
}

/* It makes no early zygote. */
static int
decline(const struct frame *f)
{
	struct msg_ZYGOTE_FORKED answer = { .pid = 0 };
	char why[MSG_WHY_BYTES];
	struct msg_ZYGOTE_FORK m;
	struct writer w;

	if (msg_decode_ZYGOTE_FORK(f, &m, why) == -1)
		return -1;
	answer.child = m.child;
	msg_encode_ZYGOTE_FORKED(&w, &answer);
	control_send(ZYGOTE_FD_CONTROL, &w, NULL, 0);
	wr_free(&w);
	return 0;
}

int
main(int argc, char **argv)
{
	static char buf[CONTROL_FRAME_MAX];
	char why[MSG_WHY_BYTES];
	const char *fault = "", *layers = "", *rule;
	int fds[FRAME_FDS_MAX], nfds, i, refusals = 0;
	uint64_t generation = 0;
	struct frame f;

	for (i = 1; i + 1 < argc; i++) {
		if (strcmp(argv[i], "--generation") == 0)
			generation = strtoull(argv[i + 1], NULL, 10);
		if (strcmp(argv[i], "--layers") == 0)
			layers = argv[i + 1];
		if (strcmp(argv[i], "--modules") == 0)
			fault = argv[i + 1];
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	zygote_pid = getpid();
	/* die_early: as if an import crashed, in the first generation only. */
	if (strcmp(fault, "die_early") == 0 && generation == 1)
		_exit(3);
	if (strcmp(fault, "refuse_some") == 0)
		refusals = 3;
	say_ready(generation, layers);
	while (control_recv(ZYGOTE_FD_CONTROL, KEEPER_TO_ZYGOTE, buf, &f, fds,
	    &nfds, &rule) == 1) {
		struct msg_WORKER_FORK m;

		if (f.type == FRAME_ZYGOTE_FORK) {
			if (decline(&f) == -1)
				return 2;
		} else if (msg_decode_WORKER_FORK(&f, &m, why) == -1 ||
		    nfds != 3)
			return 2;
		else if (refusals > 0) {
			refusals--;
			refuse(m.worker);
		} else
			fork_worker(m.worker, fds);
		while (nfds > 0)
			close(fds[--nfds]);
	}
	return 0;
}
