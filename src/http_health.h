#ifndef ADDER_HTTP_HEALTH_H
#define ADDER_HTTP_HEALTH_H

/* /livez, /readyz and /metrics. */

struct dispatcher;
struct http;
struct http_health;
struct mcp;
struct selftest;

/* All are referenced; the self-test may be NULL. */
struct http_health	*http_health_new(struct http *, struct dispatcher *,
			    const struct mcp *, const struct selftest *);
void	 http_health_free(struct http_health **);
/* From now on the server is not ready, because it ends. */
void	 http_health_stop(struct http_health *);

#endif
