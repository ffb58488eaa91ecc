#ifndef ADDER_HTTP_SSE_PAIR_H
#define ADDER_HTTP_SSE_PAIR_H

struct conf;
struct http;
struct http_pair;
struct mcp;

/* MCP over the HTTP of version 2024-11-05: GET /sse opens a stream on which
 * everything comes, POST /messages takes what the client says. */

/* Adds its routes, which answer 404 unless http.legacy_sse is on.  http and
 * mcp must live longer, though http may be freed first. */
struct http_pair *http_pair_new(struct http *, struct mcp *,
		    const struct conf *);
/* After the http, which ends its streams. */
void		 http_pair_free(struct http_pair **);
void		 http_pair_set_conf(struct http_pair *, const struct conf *);

#endif
