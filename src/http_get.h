#ifndef ADDER_HTTP_GET_H
#define ADDER_HTTP_GET_H

struct http_request;
struct http_session;
struct http_sessions;

/* Answers a GET of /mcp in a session: a stream for what belongs to no
 * request, or what is left of one that the client lost. */
void	http_get(struct http_sessions *, struct http_session *,
	    struct http_request *);
/* The refusal of one outside of sessions, which clients take for "there is
 * no such stream" and go on. */
void	http_get_refuse(struct http_request *, const char *why);

#endif
