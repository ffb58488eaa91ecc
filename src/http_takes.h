#ifndef ADDER_HTTP_TAKES_H
#define ADDER_HTTP_TAKES_H

struct http_request;

/* What the client of an MCP request says that it reads. */
enum { TAKES_JSON = 1 << 0, TAKES_SSE = 1 << 1 };

/* By its header Accept; 0 if neither. */
unsigned	http_takes(const struct http_request *);
/* Whether MCP-Protocol-Version names a version without a handshake. */
int		http_is_modern(const struct http_request *);
/* The answer to a request that is refused before its message is looked at:
 * an error that is about no message. */
void		http_refuse(struct http_request *, int status,
		    const char *why);

#endif
