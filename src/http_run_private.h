#ifndef ADDER_HTTP_RUN_PRIVATE_H
#define ADDER_HTTP_RUN_PRIVATE_H

#include <stdio.h>
#include <sys/queue.h>

#include "http.h"
#include "job.h"

/* What the http_run*.c files share. */

struct tool_call;

struct http_run {
	struct conf		*conf;
	struct dispatcher	*dispatcher;
	/* Whose turn it is goes by token. */
	TAILQ_HEAD(, run_principal) principals;
};

/* How a run is answered. */
enum run_form { RUN_JSON, RUN_EVENTS, RUN_EVAL };

/* A request whose program waits or runs. */
struct run {
	struct http_run		*owner;
	struct http_request	*request;
	struct job		*job;
	enum run_form		 form;
	char			*note;
	/* RUN_EVENTS: bytes of a character that is not whole yet. */
	char			 rest[JOB_STREAMS][4];
	size_t			 rest_len[JOB_STREAMS];
	uint64_t		 sent[JOB_STREAMS];
	/* RUN_EVAL: both streams as they came. */
	FILE			*merged;
	char			*merged_text;
	size_t			 merged_len;
};

/* A tool call with what a request may do; args are borrowed. */
void	run_prepare(struct http_run *, struct http_request *, json_t *args,
	    struct tool_call *);
/* Runs what the call has asked for, and answers the request later. */
void	run_start(struct http_run *, struct http_request *,
	    struct tool_call *, enum run_form);
/* For the route table: arg is the http_run. */
void	run_on_eval(struct http_request *, void *arg);

#endif
