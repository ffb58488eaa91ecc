#ifndef ADDER_HTTP_RUN_H
#define ADDER_HTTP_RUN_H

/*
 * POST /run: a program in, its output out, as JSON or as events while it
 * runs.  POST /eval: the same for clients of snekbox.
 */

struct conf;
struct dispatcher;
struct http;
struct http_run;

/* The conf is referenced; the dispatcher must live longer. */
struct http_run	*http_run_new(struct http *, struct conf *,
		    struct dispatcher *);
/* After the http. */
void		 http_run_free(struct http_run **);
void		 http_run_set_conf(struct http_run *, struct conf *);

#endif
