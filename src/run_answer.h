#ifndef ADDER_RUN_ANSWER_H
#define ADDER_RUN_ANSWER_H

#include <stddef.h>

#include <jansson.h>

struct job_file;
struct job_result;

/* What /run and /eval answer, as JSON; all returned is the caller's. */

/* {stdout, stderr, value, error, images, files, receipt, note?}; brief: only
 * what was no event of its own before, so without output and files. */
json_t	*run_answer(const struct job_result *, const char *note, int brief);
/* {name, mime, size, data} of a picture or a file; data is base64, and
 * absent if the file was too large to come back. */
json_t	*run_answer_file(const struct job_file *);
/* {stdout, returncode, files} as snekbox has it; output is what was written
 * to both streams, in the order in which it came. */
json_t	*run_answer_eval(const struct job_result *, const char *output,
	    size_t len);

#endif
