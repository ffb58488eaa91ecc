#include "config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "addr.h"

static int
parse_port(const char *s, size_t len, char port[6])
{
	size_t i;

	if (len == 0 || len > 5)
		return -1;
	for (i = 0; i < len; i++)
		if (s[i] < '0' || s[i] > '9')
			return -1;
	memcpy(port, s, len);
	port[len] = '\0';
	return atoi(port) <= 65535 ? 0 : -1;
}

/* Splits "[host]:port" or "host:port"; a port alone leaves no host. */
static const char *
split(const char *s, size_t len, struct addr *a)
{
	const char *colon = memrchr(s, ':', len);
	const char *host = s, *port = s;
	size_t host_len = 0, port_len = len;

	if (colon != NULL) {
		host_len = colon - s;
		port = colon + 1;
		port_len = len - host_len - 1;
		if (host_len >= 2 && s[0] == '[' && colon[-1] == ']') {
			host++;
			host_len -= 2;
		} else if (memchr(s, ':', host_len) != NULL)
			return "an IPv6 address must be in brackets, as in "
			    "[::1]:7000";
		if (host_len == 0)
			return "the host before the colon is empty";
	}
	if (host_len >= sizeof a->host)
		return "the host is too long";
	if (parse_port(port, port_len, a->port) == -1)
		return "the port must be a number from 0 to 65535";
	if (host_len == 0)
		strcpy(a->host, "127.0.0.1");
	else {
		memcpy(a->host, host, host_len);
		a->host[host_len] = '\0';
	}
	return NULL;
}

int
addr_next(const char **cursor, struct addr *a, const char **why)
{
	const char *s = *cursor;
	size_t len;

	*why = NULL;
	s += strspn(s, " \t,");
	if (*s == '\0')
		return 0;
	len = strcspn(s, " \t,");
	*cursor = s + len;
	*why = split(s, len, a);
	return *why == NULL ? 1 : -1;
}

int
addr_is_loopback(const struct addr *a)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (inet_pton(AF_INET, a->host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	if (inet_pton(AF_INET6, a->host, &v6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&v6);
	return strcasecmp(a->host, "localhost") == 0;
}
