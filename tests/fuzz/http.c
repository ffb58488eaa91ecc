/*
 * Bytes from a client of HTTP, to all routes of a server whose programs are
 * run by nobody.  The first byte says how they come: in pieces of so many
 * bytes (0 for one piece), and above 127 to a server that asks for tokens.
 * Whatever they are, the connection ends, and what was sent is responses.
 */
#include "config.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <event2/event.h>

#include "conf.h"
#include "dispatcher.h"
#include "fake_dispatcher.h"
#include "fdutil.h"
#include "fuzz.h"
#include "http.h"
#include "http_health.h"
#include "http_mcp.h"
#include "http_run.h"
#include "http_sse_pair.h"
#include "mcp.h"
#include "mem.h"
#include "peer.h"

#define TOKENS		"fuzz fuzz-0123456789abcdef\n"
#define REPLY_MAX	(1024 * 1024)
/* Turns of the loop after a piece, and until the connection is gone. */
#define TURNS		3
#define TURNS_MAX	1000
/* Above this descriptor no listening socket is looked for. */
#define FD_MAX		256

struct server {
	struct event_base	*base;
	struct dispatcher	*d;
	struct mcp		*mcp;
	struct http		*http;
	struct http_mcp		*http_mcp;
	struct http_pair	*pair;
	struct http_health	*health;
	struct http_run		*run;
};

static char	reply[REPLY_MAX + 1];
static size_t	reply_len;

/* With a file of tokens that is nowhere but in memory. */
static struct conf *
conf_once(int tokens)
{
	static struct conf *confs[2];
	const char *overrides[] = { "python.env=system", "listen.http=0",
	    "http.legacy_sse=on", "message.max=64k", NULL, NULL };
	char *option = NULL;
	int fd;

	if (confs[tokens] != NULL)
		return confs[tokens];
	if (tokens) {
		fd = memfd_create("tokens", MFD_CLOEXEC);
		FUZZ_CHECK(fd != -1 &&
		    fd_write_all(fd, TOKENS, strlen(TOKENS)) == 0);
		xasprintf(&option, "http.token_file=/proc/self/fd/%d", fd);
		overrides[4] = option;
	}
	confs[tokens] = fuzz_conf(overrides);
	free(option);
	return confs[tokens];
}

static void
on_idle(void *arg)
{
}

static void
server_begin(struct server *s, struct conf *conf)
{
	char *why;

	s->base = event_base_new();
	s->d = dispatcher_new(s->base, conf, &why);
	s->mcp = mcp_new(s->base, conf, s->d);
	s->http = http_new(s->base, conf, on_idle, NULL, &why);
	if (s->http == NULL) {
		fprintf(stderr, "%s\n", why);
		abort();
	}
	s->http_mcp = http_mcp_new(s->base, s->http, s->mcp, conf);
	s->pair = http_pair_new(s->http, s->mcp, conf);
	s->health = http_health_new(s->http, s->d, s->mcp, NULL);
	s->run = http_run_new(s->http, conf, s->d);
}

/* In the order of server.c. */
static void
server_end(struct server *s)
{
	http_free(&s->http);
	http_mcp_free(&s->http_mcp);
	http_pair_free(&s->pair);
	http_health_free(&s->health);
	http_run_free(&s->run);
	mcp_free(&s->mcp);
	FUZZ_CHECK(dispatcher_jobs(s->d) == 0);
	dispatcher_free(&s->d);
	event_base_free(s->base);
}

/* The server tells its port only to its log. */
static int
connect_to_ours(void)
{
	struct sockaddr_in addr;
	socklen_t size, n;
	int fd, listens = 0, client;

	for (fd = 0; fd < FD_MAX && !listens; fd++) {
		size = sizeof addr;
		n = sizeof listens;
		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens,
		    &n) == -1 || !listens)
			listens = 0;
		else if (getsockname(fd, (struct sockaddr *)&addr,
		    &size) == -1 || addr.sin_family != AF_INET)
			listens = 0;
	}
	FUZZ_CHECK(listens);
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	FUZZ_CHECK(client != -1 &&
	    connect(client, (struct sockaddr *)&addr, size) == 0);
	FUZZ_CHECK(fd_set_nonblock(client) == 0);
	return client;
}

/* 0 once the server has closed. */
static int
take(int fd)
{
	char rest[4096];
	size_t room = REPLY_MAX - reply_len;
	ssize_t n;

	n = room > 0 ? read(fd, reply + reply_len, room) :
	    read(fd, rest, sizeof rest);
	if (n == -1)
		return errno == EAGAIN;
	if (room > 0)
		reply_len += (size_t)n;
	return n > 0;
}

static void
turn(struct server *s, int turns)
{
	while (turns-- > 0)
		event_base_loop(s->base, EVLOOP_NONBLOCK);
}

static void
send_all(struct server *s, int fd, const char *data, size_t len, size_t piece)
{
	size_t n;
	ssize_t sent;

	while (len > 0) {
		n = piece > 0 && piece < len ? piece : len;
		sent = send(fd, data, n, MSG_NOSIGNAL);
		if (sent == -1 && errno != EAGAIN)
			return;
		if (sent > 0) {
			data += sent;
			len -= (size_t)sent;
		}
		turn(s, TURNS);
		if (!take(fd))
			return;
	}
}

/* Where evhttp refuses by itself, the version is as wrong as it came. */
static void
check_reply(void)
{
	reply[reply_len] = '\0';
	FUZZ_CHECK(reply_len == 0 || strncmp(reply, "HTTP/", 5) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct server s;
	int fd, i;

	if (len == 0)
		return 0;
	server_begin(&s, conf_once(data[0] > 127));
	fd = connect_to_ours();
	reply_len = 0;
	send_all(&s, fd, (const char *)data + 1, len - 1, data[0] & 127);
	shutdown(fd, SHUT_WR);
	turn(&s, TURNS);
	take(fd);
	close(fd);
	for (i = 0; i < TURNS_MAX && http_connections(s.http) > 0; i++)
		turn(&s, 1);
	FUZZ_CHECK(http_connections(s.http) == 0);
	check_reply();
	server_end(&s);
	return 0;
}
