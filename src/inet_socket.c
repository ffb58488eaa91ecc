#include "config.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "addr.h"
#include "inet_socket.h"
#include "mem.h"

void
inet_name(const struct sockaddr *sa, socklen_t sa_len, char *buf, size_t len)
{
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (getnameinfo(sa, sa_len, host, sizeof host, port, sizeof port,
	    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		snprintf(buf, len, "?");
	else
		snprintf(buf, len, strchr(host, ':') != NULL ? "[%s]:%s" :
		    "%s:%s", host, port);
}

void
inet_set_options(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

static int
bind_one(const struct addrinfo *ai)
{
	int on = 1, saved;
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0);

	if (fd == -1)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (ai->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0)
		return fd;
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

static void
name_of(int fd, char *buf, size_t len)
{
	struct sockaddr_storage ss;
	socklen_t n = sizeof ss;

	if (getsockname(fd, (struct sockaddr *)&ss, &n) == -1)
		snprintf(buf, len, "?");
	else
		inet_name((struct sockaddr *)&ss, n, buf, len);
}

int
inet_open(const struct addr *a, const char *key, inet_bound bound, void *arg,
    char **why)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
	    .ai_flags = AI_PASSIVE }, *list, *ai;
	char address[96];
	int fd, rv, count = 0;

	rv = getaddrinfo(a->host, a->port, &hints, &list);
	if (rv != 0) {
		xasprintf(why, "%s: cannot resolve %s: %s", key, a->host,
		    gai_strerror(rv));
		return -1;
	}
	for (ai = list; rv == 0 && ai != NULL; ai = ai->ai_next) {
		if ((fd = bind_one(ai)) == -1)
			continue;
		name_of(fd, address, sizeof address);
		rv = bound(fd, address, arg, why);
		count++;
	}
	if (rv == 0 && count == 0) {
		xasprintf(why, "%s: cannot bind %s port %s: %s", key,
		    a->host, a->port, strerror(errno));
		rv = -1;
	}
	freeaddrinfo(list);
	return rv;
}
