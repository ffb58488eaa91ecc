#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "addr.h"
#include "conf.h"
#include "http_access.h"
#include "http_tokens.h"
#include "log.h"
#include "mem.h"

struct http_access {
	char			*hosts;
	char			*origins;
	struct http_tokens	*tokens;
};

static int
beyond_loopback(const struct conf *conf)
{
	const char *cursor = conf->listen_http, *trouble;
	struct addr a;

	while (addr_next(&cursor, &a, &trouble) == 1)
		if (!addr_is_loopback(&a))
			return 1;
	return 0;
}

static void
take_lists(struct http_access *a, const struct conf *conf)
{
	free(a->hosts);
	free(a->origins);
	a->hosts = xstrdup(conf->http_hosts);
	a->origins = xstrdup(conf->http_origins);
}

struct http_access *
http_access_new(const struct conf *conf, char **why)
{
	struct http_access *a = xcalloc(1, sizeof *a);

	*why = NULL;
	take_lists(a, conf);
	if (conf->http_token_file[0] != '\0')
		a->tokens = http_tokens_read(conf->http_token_file, why);
	else if (beyond_loopback(conf))
		xasprintf(why, "listen.http is %s, which other machines may "
		    "reach, so whoever connects must have a token: name a "
		    "file of them in http.token_file, or listen on 127.0.0.1.",
		    conf->listen_http);
	if (*why != NULL)
		http_access_free(&a);
	return a;
}

void
http_access_free(struct http_access **ap)
{
	struct http_access *a = *ap;

	if (a == NULL)
		return;
	*ap = NULL;
	http_tokens_free(&a->tokens);
	free(a->hosts);
	free(a->origins);
	free(a);
}

void
http_access_reload(struct http_access *a, const struct conf *conf)
{
	struct http_tokens *tokens;
	char *why;

	take_lists(a, conf);
	if (conf->http_token_file[0] == '\0')
		return;
	tokens = http_tokens_read(conf->http_token_file, &why);
	if (tokens == NULL) {
		log_warnx("the tokens stay as they were: %s", why);
		free(why);
		return;
	}
	http_tokens_free(&a->tokens);
	a->tokens = tokens;
}

/* Length of the host in an authority, without the port. */
static size_t
host_length(const char *s)
{
	const char *end = NULL;

	if (s[0] == '[' && (end = strchr(s, ']')) != NULL)
		return end + 1 - s;
	return strcspn(s, ":");
}

static int
in_list(const char *list, const char *s, size_t len)
{
	size_t n;

	for (;; list += n) {
		list += strspn(list, " \t,");
		n = strcspn(list, " \t,");
		if (n == 0)
			return 0;
		if ((n == 1 && list[0] == '*') ||
		    (n == len && strncasecmp(list, s, len) == 0))
			return 1;
	}
}

static int
port_ok(const char *s)
{
	return s[0] == '\0' || (s[0] == ':' &&
	    s[1 + strspn(s + 1, "0123456789")] == '\0');
}

static int
host_ok(const char *list, const char *s)
{
	size_t len = host_length(s);

	return len > 0 && port_ok(s + len) && in_list(list, s, len);
}

int
http_access_host(const struct http_access *a, const char *host)
{
	return host_ok(a->hosts, host);
}

int
http_access_origin(const struct http_access *a, const char *origin)
{
	const char *host = strstr(origin, "://");

	return in_list(a->origins, origin, strlen(origin)) ||
	    (host != NULL && host_ok(a->origins, host + 3));
}

int
http_access_asks(const struct http_access *a)
{
	return a->tokens != NULL;
}

const char *
http_access_bearer(const struct http_access *a, const char *authorization)
{
	if (a->tokens == NULL)
		return "";
	if (authorization == NULL ||
	    strncasecmp(authorization, "Bearer ", 7) != 0)
		return NULL;
	authorization += 7;
	return http_tokens_find(a->tokens,
	    authorization + strspn(authorization, " "));
}
