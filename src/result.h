#ifndef ADDER_RESULT_H
#define ADDER_RESULT_H

#include <jansson.h>

#include "verdict.h"

struct job_result;

/*
 * Results of tools/call, owned by the caller.  No message grows beyond
 * RESULT_BYTES_MAX: the TypeScript SDK closes a connection that sends a
 * line of more than 10 MiB.
 */
#define RESULT_BYTES_MAX	(9 * 1024 * 1024)

/* note, if not NULL, is said after all other text. */
json_t	*result_of_job(const struct job_result *, const char *note);
json_t	*result_of_text(const char *text);
/* A tool error: what is wrong with the call, for the model to read. */
json_t	*result_of_error(const char *text);
/* The same for a call that was not run, with a receipt. */
json_t	*result_of_refusal(enum verdict, const char *text);

#endif
