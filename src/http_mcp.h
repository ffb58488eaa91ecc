#ifndef ADDER_HTTP_MCP_H
#define ADDER_HTTP_MCP_H

struct conf;
struct event_base;
struct http;
struct http_mcp;
struct mcp;

/* MCP over Streamable HTTP at /mcp, in both eras. */

/* Adds its route; http and mcp must live longer, though http may be freed
 * first if no request comes then.  conf is referenced. */
struct http_mcp	*http_mcp_new(struct event_base *, struct http *,
		    struct mcp *, struct conf *);
void		 http_mcp_free(struct http_mcp **);
void		 http_mcp_set_conf(struct http_mcp *, struct conf *);

#endif
