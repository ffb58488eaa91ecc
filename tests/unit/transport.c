/* Lines over descriptors, and the sockets that they come from. */
#include "config.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "fdutil.h"
#include "http_line.h"
#include "log.h"
#include "mem.h"
#include "stdio_fds.h"
#include "transport.h"
#include "unit.h"
#include "unix_socket.h"

/* Far beyond what any case takes: a loop that never ends fails. */
#define GUARD_SECONDS	30
#define MAX_LINE	64

/* One transport, its peer's descriptors, and what the handler was told: a
 * word for each call, lines as they are. */
struct link {
	struct event_base	*base;
	struct transport	*t;
	int			 to, from;	/* the peer's side */
	char			 said[4096];
	uint64_t		 skipped;
	int			 gone;
	int			 free_on_line;
	size_t			 echo;		/* bytes sent for each line */
};

static void
note(struct link *l, const char *text, size_t len)
{
	size_t at = strlen(l->said);

	assert_true(at + len + 2 < sizeof l->said);
	snprintf(l->said + at, sizeof l->said - at, "%.*s|", (int)len, text);
}

static void
on_line(struct transport *t, const char *line, size_t len, void *arg)
{
	struct link *l = arg;
	char *big;

	note(l, line, len);
	if (l->echo > 0) {
		big = xmalloc(l->echo);
		memset(big, 'x', l->echo);
		transport_send(t, big, l->echo);
		free(big);
	}
	if (l->free_on_line)
		transport_free(&l->t);
}

static void
on_skipped(struct transport *t, const char *text, size_t len, void *arg)
{
	struct link *l = arg;

	l->skipped += len;
	assert_true(len > 0 && (text[0] == 'x' || text[0] == 'a'));
}

static void
on_overlong(struct transport *t, uint64_t len, void *arg)
{
	struct link *l = arg;

	assert_int_equal(len, l->skipped);
	l->skipped = 0;
	note(arg, "OVERLONG", 8);
}

static void
on_full(struct transport *t, int on, void *arg)
{
	note(arg, on ? "FULL" : "FLOWS", on ? 4 : 5);
}

static void
on_ended(struct transport *t, void *arg)
{
	note(arg, "ENDED", 5);
}

static void
on_gone(struct transport *t, void *arg)
{
	struct link *l = arg;

	note(l, "GONE", 4);
	l->gone = 1;
	transport_free(&l->t);
}

static const struct transport_handler handler = {
	on_line, on_skipped, on_overlong, on_full, on_ended, on_gone
};

static void
on_guard(evutil_socket_t fd, short what, void *arg)
{
	fprintf(stderr, "the loop did not end in %d s\n", GUARD_SECONDS);
	abort();
}

static struct link *
link_new(enum transport_kind kind, int in, int out, int to, int from)
{
	static const struct timeval guard = { GUARD_SECONDS, 0 };
	struct link *l = xcalloc(1, sizeof *l);

	l->base = event_base_new();
	l->to = to;
	l->from = from;
	l->t = transport_new(l->base, kind, in, out, MAX_LINE, &handler, l);
	event_base_once(l->base, -1, EV_TIMEOUT, on_guard, NULL, &guard);
	return l;
}

static struct link *
link_unix(void)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	return link_new(TRANSPORT_UNIX, pair[0], pair[0], pair[1], pair[1]);
}

static struct link *
link_pipes(void)
{
	int in[2], out[2];

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	return link_new(TRANSPORT_STDIO, in[0], out[1], in[1], out[0]);
}

static struct link *
link_tcp(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof sin;
	int s = socket(AF_INET, SOCK_STREAM, 0), c, a;

	assert_int_equal(bind(s, (struct sockaddr *)&sin, sizeof sin), 0);
	assert_int_equal(listen(s, 1), 0);
	getsockname(s, (struct sockaddr *)&sin, &len);
	c = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(c, (struct sockaddr *)&sin, sizeof sin), 0);
	a = accept(s, NULL, NULL);
	assert_int_not_equal(a, -1);
	close(s);
	return link_new(TRANSPORT_TCP, a, a, c, c);
}

static void
link_free(struct link *l)
{
	transport_free(&l->t);
	if (l->from != l->to)
		fd_close(&l->from);
	fd_close(&l->to);
	event_base_free(l->base);
	free(l);
}

static void
put(struct link *l, const char *text, size_t len)
{
	assert_int_equal(fd_write_all(l->to, text, len), 0);
}

/* Runs the loop until the handler has been told this, all of it. */
static void
expect(struct link *l, const char *want)
{
	while (strlen(l->said) < strlen(want) && l->t != NULL)
		event_base_loop(l->base, EVLOOP_ONCE);
	assert_string_equal(l->said, want);
	l->said[0] = '\0';
}

/* Reads until the end, while the loop runs; the length. */
static size_t
read_all(struct link *l, char *buf, size_t size)
{
	size_t at = 0;
	ssize_t n;

	fd_set_nonblock(l->from);
	while (at < size) {
		n = read(l->from, buf + at, size - at);
		if (n > 0)
			at += n;
		else if (n == 0 || errno != EAGAIN)
			break;
		else
			event_base_loop(l->base, EVLOOP_ONCE);
	}
	return at;
}

static void
test_lines(void **state)
{
	static const struct {
		const char	*in, *want;	/* at the end of input */
	} cases[] = {
		{ "a\nb\n", "a|b|ENDED|" },
		{ "a\r\nb\r\n", "a|b|ENDED|" },
		{ "a", "a|ENDED|" },
		{ "a\nb", "a|b|ENDED|" },
		{ "", "ENDED|" },
		{ "\n\r\n  \n\t\r\n\n", "ENDED|" },
		{ "a\n\n\nb\n", "a|b|ENDED|" },
		{ " a \n", " a |ENDED|" },
		{ "a\rb\n", "a\rb|ENDED|" },
		{ "GET / HTTP/1.1\n", "GET / HTTP/1.1|ENDED|" }
	};
	struct link *l;
	size_t i, n;

	for (i = 0; i < NITEMS(cases); i++) {
		/* As a whole, and then byte by byte. */
		l = link_pipes();
		put(l, cases[i].in, strlen(cases[i].in));
		fd_close(&l->to);
		expect(l, cases[i].want);
		link_free(l);
		l = link_pipes();
		for (n = 0; cases[i].in[n] != '\0'; n++) {
			put(l, cases[i].in + n, 1);
			event_base_loop(l->base, EVLOOP_ONCE);
		}
		fd_close(&l->to);
		expect(l, cases[i].want);
		link_free(l);
	}
}

static void
test_overlong(void **state)
{
	static const struct {
		size_t		 len;
		const char	*rest, *want;
	} cases[] = {
		{ MAX_LINE + 1, "\nb\n", "OVERLONG|b|ENDED|" },
		{ 10000, "\nb\nc\n", "OVERLONG|b|c|ENDED|" },
		{ 100000, "\nb\n", "OVERLONG|b|ENDED|" },
		{ 100000, "", "OVERLONG|ENDED|" },
		{ MAX_LINE + 1, "", "OVERLONG|ENDED|" }
	};
	char big[100000], want[MAX_LINE + 16];
	struct link *l;
	size_t i, sent, n;

	memset(big, 'x', sizeof big);
	for (i = 0; i < NITEMS(cases); i++) {
		l = link_pipes();
		for (sent = 0; sent < cases[i].len; sent += n) {
			n = cases[i].len - sent < 4096 ?
			    cases[i].len - sent : 4096;
			put(l, big, n);
			event_base_loop(l->base, EVLOOP_ONCE);
		}
		put(l, cases[i].rest, strlen(cases[i].rest));
		fd_close(&l->to);
		expect(l, cases[i].want);
		link_free(l);
	}
	/* Just as long as allowed. */
	l = link_pipes();
	put(l, big, MAX_LINE);
	put(l, "\n", 1);
	snprintf(want, sizeof want, "%.*s|", MAX_LINE, big);
	expect(l, want);
	/* A new limit. */
	transport_set_max(l->t, 2);
	assert_int_equal(transport_max(l->t), 2);
	put(l, "abc\nab\n", 7);
	expect(l, "OVERLONG|ab|");
	link_free(l);
}

static void
test_http(void **state)
{
	struct link *l = link_unix();
	char buf[512];
	size_t n;

	put(l, "\r\nPOST /mcp HTTP/1.1\r\nHost: x\r\n\r\n{\"a\":1}\n", 42);
	n = read_all(l, buf, sizeof buf - 1);
	buf[n] = '\0';
	assert_memory_equal(buf, "HTTP/1.1 400 Bad Request\r\n", 26);
	assert_non_null(strstr(buf, "not HTTP.\n"));
	/* Nothing of it was delivered. */
	assert_string_equal(l->said, "");
	fd_close(&l->to);
	l->from = -1;
	expect(l, "GONE|");
	link_free(l);
	/* Only a first line is looked at: later it is just a bad message. */
	l = link_unix();
	put(l, "{}\nGET / HTTP/1.1\n", 18);
	expect(l, "{}|GET / HTTP/1.1|");
	link_free(l);
}

static void
test_http_lines(void **state)
{
	static const struct {
		const char	*line;
		int		 want;
	} cases[] = {
		{ "GET / HTTP/1.1", 1 }, { "POST /x HTTP/1.0", 1 },
		{ "OPTIONS * HTTP/1.1", 1 }, { "PRI * HTTP/2.0", 1 },
		{ "CONNECT a:1 HTTP/1.1", 1 }, { "GET /", 0 },
		{ "get / HTTP/1.1", 0 }, { "{\"a\":\"GET / HTTP/1.1\"}", 0 },
		{ "", 0 }, { "GET", 0 }, { "GETHTTP/1.1", 0 }, { "1", 0 }
	};
	size_t i;

	for (i = 0; i < NITEMS(cases); i++)
		assert_int_equal(http_line(cases[i].line,
		    strlen(cases[i].line)), cases[i].want);
}

/* A peer that does not read is held back, and loses nothing. */
static void
test_backpressure(void **state)
{
	struct link *l = link_unix();
	size_t size = 4 << 20, n = 0, i;
	char *buf = xmalloc(2 * size);

	l->echo = 3 << 20;
	put(l, "a\nb\n", 4);
	expect(l, "a|FULL|");
	/* The second line waits, as long as it takes. */
	for (i = 0; i < 5; i++)
		event_base_loop(l->base, EVLOOP_NONBLOCK);
	assert_string_equal(l->said, "");
	fd_set_nonblock(l->from);
	while (n < 2 * (l->echo + 1)) {
		ssize_t got = read(l->from, buf + n, 2 * size - n);

		if (got > 0)
			n += got;
		event_base_loop(l->base, EVLOOP_NONBLOCK);
	}
	assert_int_equal(buf[l->echo], '\n');
	assert_int_equal(buf[2 * l->echo + 1], '\n');
	expect(l, "FLOWS|b|FULL|FLOWS|");
	link_free(l);
	free(buf);
}

static void
test_half_close(void **state)
{
	struct link *(*const makers[])(void) = { link_unix, link_tcp };
	struct link *l;
	char buf[64];
	size_t i, n;

	for (i = 0; i < NITEMS(makers); i++) {
		l = makers[i]();
		put(l, "a\n", 2);
		shutdown(l->to, SHUT_WR);
		expect(l, "a|ENDED|");
		transport_send(l->t, "{}", 2);
		transport_finish(l->t);
		transport_send(l->t, "too late", 8);
		n = read_all(l, buf, sizeof buf);
		assert_true(l->gone || l->t != NULL);
		/* On TCP blanks may come before a message. */
		buf[n] = '\0';
		assert_string_equal(buf + strspn(buf, " "), "{}\n");
		expect(l, "GONE|");
		link_free(l);
	}
}

/* A peer that is gone is noticed though nothing is sent to it. */
static void
test_full_close(void **state)
{
	struct link *(*const makers[])(void) = { link_unix, link_tcp };
	struct link *l;
	size_t i;

	for (i = 0; i < NITEMS(makers); i++) {
		l = makers[i]();
		put(l, "a\n", 2);
		fd_close(&l->to);
		l->from = -1;
		expect(l, "a|ENDED|GONE|");
		link_free(l);
	}
}

static void
test_reader_gone(void **state)
{
	struct link *l = link_pipes();

	/* Only its reading end: it may still send. */
	fd_close(&l->from);
	put(l, "a\n", 2);
	expect(l, "a|");
	transport_send(l->t, "x", 1);
	expect(l, "GONE|");
	link_free(l);
	/* Both, with an answer still to come. */
	l = link_pipes();
	put(l, "a\n", 2);
	fd_close(&l->to);
	fd_close(&l->from);
	expect(l, "a|ENDED|GONE|");
	link_free(l);
}

static void
test_finish_first(void **state)
{
	struct link *l = link_unix();
	char buf[8];

	transport_send(l->t, "x", 1);
	transport_finish(l->t);
	transport_finish(l->t);
	assert_int_equal(read_all(l, buf, sizeof buf), 2);
	/* What the peer sends is not looked at any more. */
	put(l, "a\n", 2);
	fd_close(&l->to);
	l->from = -1;
	expect(l, "GONE|");
	link_free(l);
	/* A peer that does not close is not waited for. */
	l = link_unix();
	transport_finish(l->t);
	expect(l, "GONE|");
	link_free(l);
}

static void
test_free_within(void **state)
{
	struct link *l = link_unix();

	l->free_on_line = 1;
	put(l, "a\nb\nc\n", 6);
	expect(l, "a|");
	event_base_loop(l->base, EVLOOP_NONBLOCK);
	assert_string_equal(l->said, "");
	assert_null(l->t);
	link_free(l);
}

/* --- the Unix socket's file */

static char dir[64];

static char *
in_dir(const char *name)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static void
test_unix_socket(void **state)
{
	const char *path = in_dir("s");
	struct unix_socket *u, *second = NULL;
	struct stat st, st2;
	char *why = NULL;
	int fd, fd2;

	u = unix_socket_open(path, 0640, "", &fd, &why);
	if (u == NULL)
		fail_msg("%s", why);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	/* Somebody serves there. */
	assert_int_equal(listen(fd, 1), 0);
	assert_null(unix_socket_open(path, 0600, "", &fd2, &why));
	assert_non_null(strstr(why, "another server listens there"));
	free(why);
	why = NULL;
	/* Nobody serves there any more: the file is replaced, and the first
	 * one does not remove the second one's. */
	close(fd);
	do {
		/* Until the clock that files are stamped by has moved. */
		if (second != NULL)
			close(fd);
		unix_socket_close(&second, NULL, NULL);
		second = unix_socket_open(path, 0600, "", &fd, &why);
		if (second == NULL)
			fail_msg("%s", why);
		assert_int_equal(lstat(path, &st2), 0);
	} while (st2.st_mtim.tv_nsec == st.st_mtim.tv_nsec);
	unix_socket_close(&u, NULL, NULL);
	assert_int_equal(lstat(path, &st), 0);
	unix_socket_close(&second, NULL, NULL);
	assert_null(second);
	assert_int_equal(lstat(path, &st), -1);
	close(fd);
}

static void
test_unix_socket_errors(void **state)
{
	static const struct {
		const char	*name, *group, *why;
	} cases[] = {
		{ "file", "", "is not a socket" },
		{ "none/s", "", "No such file" },
		{ "g", "no such group", "there is no such group" }
	};
	char *why = NULL;
	size_t i;
	int fd;

	fd = open(in_dir("file"), O_CREAT | O_WRONLY, 0600);
	close(fd);
	for (i = 0; i < NITEMS(cases); i++) {
		assert_null(unix_socket_open(in_dir(cases[i].name), 0600,
		    cases[i].group, &fd, &why));
		if (strstr(why, cases[i].why) == NULL)
			fail_msg("%s", why);
		free(why);
		why = NULL;
	}
	/* What is not ours is left alone, what was ours is not left. */
	assert_int_equal(access(in_dir("file"), F_OK), 0);
	assert_int_equal(access(in_dir("g"), F_OK), -1);
	unlink(in_dir("file"));
}

static void
test_pollable(void **state)
{
	int p[2], fd = open("/dev/null", O_RDWR);

	assert_int_equal(pipe(p), 0);
	assert_int_equal(stdio_fd_pollable(p[0]), 1);
	assert_int_equal(stdio_fd_pollable(fd), 0);
	close(fd);
	fd = open(in_dir("f"), O_CREAT | O_RDWR, 0600);
	assert_int_equal(stdio_fd_pollable(fd), 0);
	close(fd);
	unlink(in_dir("f"));
	close(p[0]);
	close(p[1]);
}

static int
init(void **state)
{
	signal(SIGPIPE, SIG_IGN);
	strcpy(dir, "/tmp/adder-transport-XXXXXX");
	return mkdtemp(dir) == NULL ? -1 : 0;
}

static int
end(void **state)
{
	return rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_overlong),
		cmocka_unit_test(test_http),
		cmocka_unit_test(test_http_lines),
		cmocka_unit_test(test_backpressure),
		cmocka_unit_test(test_half_close),
		cmocka_unit_test(test_full_close),
		cmocka_unit_test(test_reader_gone),
		cmocka_unit_test(test_finish_first),
		cmocka_unit_test(test_free_within),
		cmocka_unit_test(test_unix_socket),
		cmocka_unit_test(test_unix_socket_errors),
		cmocka_unit_test(test_pollable),
	};

	return cmocka_run_group_tests(tests, init, end);
}
