#ifndef ADDER_RESULT_PARTS_H
#define ADDER_RESULT_PARTS_H

#include <stddef.h>

#include <jansson.h>

struct job_file;
struct job_output;
struct result_options;

/* A result's content as it grows, and what it may still cost. */
struct parts {
	json_t	*content;
	size_t	 left;		/* bytes of JSON */
	int	 cut;		/* text was left out that the job had kept */
	const struct result_options *options;
	const char *run_id;
	size_t	 images;	/* bytes of base64 that pictures took */
	size_t	 shown;		/* pictures */
	size_t	 embedded;	/* bytes of small texts */
};

/* Keeps a part whole, taking over data; the URI, or NULL if it is not kept.
 * Valid until the next. */
const char *parts_keep(struct parts *, const char *name, const char *mime,
	    char *data, size_t len);

/* A text block; label (a word) goes before it unless NULL.  Of more than max
 * bytes the middle is left out, and kept under the name. */
void	parts_text(struct parts *, const char *label, const char *name,
	    const char *text, size_t len, size_t max);
/* What is kept of a stream, and between head and tail what is not. */
void	parts_output(struct parts *, const char *label, const char *stream,
	    const struct job_output *, size_t max);
/* Pictures as images, other files as embedded resources, and one line of
 * text that names the files; of more that are kept, or are not, it has the
 * number. */
void	parts_images(struct parts *, const struct job_file *, size_t n);
void	parts_files(struct parts *, const struct job_file *, size_t n,
	    size_t kept_more, size_t left_out);

#endif
