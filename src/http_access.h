#ifndef ADDER_HTTP_ACCESS_H
#define ADDER_HTTP_ACCESS_H

struct conf;
struct http_access;

/* Who may send requests: Host and Origin lists, bearer tokens. */

/* conf is only read now.  NULL with *why (the caller's to free), also if
 * listen.http goes beyond loopback and there is no token. */
struct http_access *http_access_new(const struct conf *, char **why);
void		 http_access_free(struct http_access **);
/* Takes the lists of a new conf, and its tokens if they can be read. */
void		 http_access_reload(struct http_access *,
		    const struct conf *);

/* Whether requests must have a token. */
int	http_access_asks(const struct http_access *);
/* A Host header or the authority of a URI: host, host:port, [v6]:port. */
int	http_access_host(const struct http_access *, const char *host);
/* An Origin header, such as https://localhost:3000. */
int	http_access_origin(const struct http_access *, const char *origin);
/*
 * By the Authorization header (NULL if there is none).  The name that the
 * token has, which lives as long as the access, "" where no token is asked
 * for; NULL if it is refused.
 */
const char *http_access_bearer(const struct http_access *,
	    const char *authorization);

#endif
