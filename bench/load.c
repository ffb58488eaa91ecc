/*
 * A load client that costs little itself: one thread, any number of
 * connections to a Unix socket, or to /mcp over HTTP, one request in flight
 * on each.  It sends the same message again and again, looks for a text in
 * every answer and prints the times as one JSON object.  A Python client
 * would take longer for a call than adderd does.
 */
#include "config.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "mem.h"

#define ANSWER_MAX	(256 * 1024)

struct client {
	uint64_t	 sent_us;
	size_t		 len;
	char		 buf[ANSWER_MAX];
};

struct load {
	const char	*path;		/* of a Unix socket, or NULL */
	uint16_t	 http_port;	/* on 127.0.0.1, or 0 */
	const char	*greeting;	/* sent once, its answer dropped */
	const char	*request;
	const char	*expect;
	unsigned	 nclients;
	unsigned	 pause_ms;	/* after each answer; one client only */
	unsigned long	 calls;
	unsigned long	 sent;
	unsigned long	 done;
	unsigned long	 failed;
	uint64_t	*times_us;
	struct client	*clients;
	struct pollfd	*fds;
};

static int
connect_http(uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
	    .sin_port = htons(port),
	    .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd, on = 1;

	if ((fd = socket(AF_INET, SOCK_STREAM, 0)) == -1 ||
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == -1 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == -1)
		err(2, "port %u", port);
	return fd;
}

static int
connect_unix(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(addr.sun_path))
		errx(2, "the path of the socket is too long: %s", path);
	memcpy(addr.sun_path, path, strlen(path) + 1);
	if ((fd = socket(AF_UNIX, SOCK_STREAM, 0)) == -1 ||
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == -1)
		err(2, "%s", path);
	return fd;
}

static void
send_line(int fd, const char *line)
{
	size_t len = strlen(line), at = 0;
	ssize_t n;

	while (at < len) {
		n = write(fd, line + at, len - at);
		if (n == -1 && errno != EINTR)
			err(2, "write");
		at += n > 0 ? (size_t)n : 0;
	}
}

/* Whether a whole answer is there: a line, or a response with its body. */
static int
is_whole(const struct load *ld, const struct client *c)
{
	const char *body, *length;

	if (ld->http_port == 0)
		return c->buf[c->len - 1] == '\n';
	if ((body = strstr(c->buf, "\r\n\r\n")) == NULL)
		return 0;
	length = strcasestr(c->buf, "\r\nContent-Length:");
	if (length == NULL || length > body)
		errx(2, "an answer without its length: %.300s", c->buf);
	return c->len == (size_t)(body + 4 - c->buf) +
	    strtoul(length + 17, NULL, 10);
}

/* Reads once; 1 if a whole answer is there. */
static int
read_some(const struct load *ld, int fd, struct client *c)
{
	ssize_t n;

	if (c->len == ANSWER_MAX - 1)
		errx(2, "an answer is longer than %d bytes", ANSWER_MAX);
	n = read(fd, c->buf + c->len, ANSWER_MAX - 1 - c->len);
	if (n == 0)
		errx(2, "the server closed a connection");
	if (n == -1)
		err(2, "read");
	c->len += (size_t)n;
	c->buf[c->len] = '\0';
	return is_whole(ld, c);
}

static void
start_call(struct load *ld, unsigned i)
{
	struct client *c = &ld->clients[i];

	c->len = 0;
	c->sent_us = clock_us();
	send_line(ld->fds[i].fd, ld->request);
	ld->sent++;
}

static void
open_clients(struct load *ld)
{
	unsigned i;

	for (i = 0; i < ld->nclients; i++) {
		ld->fds[i].fd = ld->http_port != 0 ?
		    connect_http(ld->http_port) : connect_unix(ld->path);
		ld->fds[i].events = POLLIN;
		if (ld->greeting == NULL)
			continue;
		send_line(ld->fds[i].fd, ld->greeting);
		while (!read_some(ld, ld->fds[i].fd, &ld->clients[i]))
			;
	}
}

static void
finish_call(struct load *ld, unsigned i)
{
	struct client *c = &ld->clients[i];

	ld->times_us[ld->done++] = clock_us() - c->sent_us;
	if (strstr(c->buf, ld->expect) == NULL && ld->failed++ == 0)
		warnx("unexpected answer: %.300s", c->buf);
	if (ld->sent < ld->calls) {
		if (ld->pause_ms > 0)
			poll(NULL, 0, (int)ld->pause_ms);
		start_call(ld, i);
	}
}

static void
run_calls(struct load *ld)
{
	unsigned i;

	for (i = 0; i < ld->nclients && ld->sent < ld->calls; i++)
		start_call(ld, i);
	while (ld->done < ld->calls) {
		if (poll(ld->fds, ld->nclients, 60000) <= 0)
			errx(2, "no answer within a minute");
		for (i = 0; i < ld->nclients; i++)
			if (ld->fds[i].revents != 0 &&
			    read_some(ld, ld->fds[i].fd, &ld->clients[i]))
				finish_call(ld, i);
	}
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
report(struct load *ld, uint64_t took_us)
{
	const uint64_t *t = ld->times_us;
	unsigned long n = ld->calls;

	qsort(ld->times_us, n, sizeof(*ld->times_us), compare);
	printf("{\"calls\": %lu, \"failed\": %lu, \"clients\": %u, "
	    "\"per_second\": %.1f, \"p50_us\": %llu, \"p90_us\": %llu, "
	    "\"p99_us\": %llu, \"max_us\": %llu}\n", n, ld->failed,
	    ld->nclients, (double)n * 1e6 / (double)took_us,
	    (unsigned long long)t[n / 2], (unsigned long long)t[n * 9 / 10],
	    (unsigned long long)t[n * 99 / 100],
	    (unsigned long long)t[n - 1]);
}

static void
usage(void)
{
	fprintf(stderr, "usage: load -u socket | -p port -r request "
	    "-e expected [-g greeting] [-c clients] [-n calls] [-w pause-ms]\n");
	exit(2);
}

/* The shell's arguments have no newline at their end; lines do. */
static const char *
line_of(const char *text)
{
	char *line;

	xasprintf(&line, "%s\n", text);
	return line;
}

/* A tools/call of run_python in the version without sessions. */
static const char *
post_of(const char *text)
{
	char *post;

	xasprintf(&post, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
	    "Content-Type: application/json\r\n"
	    "Accept: application/json, text/event-stream\r\n"
	    "MCP-Protocol-Version: 2026-07-28\r\n"
	    "Mcp-Method: tools/call\r\nMcp-Name: run_python\r\n"
	    "Content-Length: %zu\r\n\r\n%s", strlen(text), text);
	return post;
}

static void
parse(struct load *ld, int argc, char **argv)
{
	int ch;

	while ((ch = getopt(argc, argv, "u:p:r:e:g:c:n:w:")) != -1)
		switch (ch) {
		case 'u': ld->path = optarg; break;
		case 'p': ld->http_port = (uint16_t)atoi(optarg); break;
		case 'r': ld->request = optarg; break;
		case 'e': ld->expect = optarg; break;
		case 'g': ld->greeting = line_of(optarg); break;
		case 'c': ld->nclients = (unsigned)atoi(optarg); break;
		case 'n': ld->calls = (unsigned long)atol(optarg); break;
		case 'w': ld->pause_ms = (unsigned)atoi(optarg); break;
		default: usage();
		}
	if (ld->pause_ms > 0 && ld->nclients != 1)
		usage();
	if ((ld->path == NULL) == (ld->http_port == 0) ||
	    ld->request == NULL || ld->expect == NULL || ld->nclients == 0 ||
	    ld->calls == 0)
		usage();
	ld->request = ld->http_port != 0 ? post_of(ld->request) :
	    line_of(ld->request);
}

int
main(int argc, char **argv)
{
	struct load ld = { .nclients = 1, .calls = 1000 };
	uint64_t start_us;

	parse(&ld, argc, argv);
	ld.times_us = xcalloc(ld.calls, sizeof(*ld.times_us));
	ld.clients = xcalloc(ld.nclients, sizeof(*ld.clients));
	ld.fds = xcalloc(ld.nclients, sizeof(*ld.fds));
	open_clients(&ld);
	start_us = clock_us();
	run_calls(&ld);
	report(&ld, clock_us() - start_us);
	return ld.failed != 0;
}
