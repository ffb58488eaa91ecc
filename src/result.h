#ifndef ADDER_RESULT_H
#define ADDER_RESULT_H

#include <stdint.h>

#include <jansson.h>

#include "verdict.h"

struct job_file;
struct job_result;
struct run_store;

/*
 * Results of tools/call, owned by the caller.  No message grows beyond
 * RESULT_BYTES_MAX: the TypeScript SDK closes a connection that sends a
 * line of more than 10 MiB.
 */
#define RESULT_BYTES_MAX	(9 * 1024 * 1024)

/* What an answer may hold, for whom it is. */
struct result_options {
	size_t		 max_text;	/* bytes of text; 0 for no budget */
	size_t		 max_images;	/* bytes of base64; 0 for no budget */
	uint64_t	 max_image_px;	/* of a picture; 0 for any */
	int		 links;		/* the peer knows resource_link */
	int		 structured;	/* structuredContent as well */
	/* Keeps what does not go out whole; NULL for nothing is kept. */
	struct run_store *store;
	const void	*owner;		/* of what is kept */
};

/* note, if not NULL, is said after all other text. */
json_t	*result_of_job(const struct job_result *, const char *note,
	    const struct result_options *);
/* The receipt by itself. */
json_t	*result_receipt(const struct job_result *);
/* The type of a picture or file, found by its bytes and its name. */
const char *result_mime(const struct job_file *);
json_t	*result_of_text(const char *text);
/* A session that was started: its handle both as text and, for programs, by
 * itself.  note as above. */
json_t	*result_of_session(const char *handle, uint64_t ttl_ms,
	    const char *note);
/* A tool error: what is wrong with the call, for the model to read. */
json_t	*result_of_error(const char *text);
/* The same for a call that was not run, with a receipt. */
json_t	*result_of_refusal(enum verdict, const char *text);

#endif
