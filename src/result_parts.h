#ifndef ADDER_RESULT_PARTS_H
#define ADDER_RESULT_PARTS_H

#include <stddef.h>

#include <jansson.h>

struct job_file;
struct job_output;

/* A result's content as it grows, and what it may still cost. */
struct parts {
	json_t	*content;
	size_t	 left;		/* bytes of JSON */
	int	 cut;		/* text was left out that the job had kept */
};

/* A text block; label (a word) goes before it unless NULL. */
void	parts_text(struct parts *, const char *label, const char *text,
	    size_t len);
/* What is kept of a stream, and between head and tail what is not. */
void	parts_output(struct parts *, const char *label, const char *stream,
	    const struct job_output *);
/* Pictures as images, other files as embedded resources, and one line of
 * text that names the files; left_out more are only counted. */
void	parts_images(struct parts *, const struct job_file *, size_t n);
void	parts_files(struct parts *, const char *run_id,
	    const struct job_file *, size_t n, size_t left_out);

#endif
