#include "config.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "job.h"
#include "json.h"
#include "result.h"
#include "run_answer.h"

static json_t *
text_or_null(const char *s)
{
	return s == NULL || s[0] == '\0' ? json_null() : json_text(s,
	    strlen(s));
}

/* All that was kept of a stream, and what was not as one line. */
static json_t *
output_text(const struct job_output *out, const char *stream)
{
	json_t *value;
	size_t len;
	char *text;
	FILE *f = open_memstream(&text, &len);

	fwrite(out->head == NULL ? "" : out->head, 1, out->head_len, f);
	if (out->dropped > 0)
		fprintf(f, "\n[... %" PRIu64 " bytes of %s left out ...]\n",
		    out->dropped, stream);
	fwrite(out->tail == NULL ? "" : out->tail, 1, out->tail_len, f);
	fclose(f);
	value = json_text(text, len);
	free(text);
	return value;
}

static json_t *
error_of(const struct job_result *r)
{
	if (r->verdict == VERDICT_OK)
		return json_null();
	return json_pack("{s:s, s:o, s:o, s:o, s:o}",
	    "verdict", verdict_name(r->verdict),
	    "reason", text_or_null(r->reason),
	    "type", text_or_null(r->exc_type),
	    "message", text_or_null(r->exc_message),
	    "traceback", text_or_null(r->traceback));
}

json_t *
run_answer_file(const struct job_file *f)
{
	json_t *o = json_pack("{s:o, s:s, s:I}", "name", json_text(f->name,
	    strlen(f->name)), "mime", result_mime(f), "size",
	    (json_int_t)f->size);
	char *data;

	if (f->whole) {
		data = base64_encode(f->data, f->len);
		json_object_set_new(o, "data", json_string(data));
		free(data);
	}
	return o;
}

static json_t *
file_list(const struct job_file *files, size_t n)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(list, run_answer_file(&files[i]));
	return list;
}

json_t *
run_answer(const struct job_result *r, const char *note, int brief)
{
	json_t *o = json_object();

	if (!brief) {
		json_object_set_new(o, "stdout", output_text(
		    &r->output[JOB_STDOUT], "stdout"));
		json_object_set_new(o, "stderr", output_text(
		    &r->output[JOB_STDERR], "stderr"));
	}
	json_object_set_new(o, "value", r->value == NULL ? json_null() :
	    json_text(r->value, r->value_len));
	json_object_set_new(o, "error", error_of(r));
	if (!brief) {
		json_object_set_new(o, "images", file_list(r->images,
		    r->nimages));
		json_object_set_new(o, "files", file_list(r->files,
		    r->nfiles));
	}
	if (r->files_left_out > 0)
		json_object_set_new(o, "files_left_out",
		    json_integer(r->files_left_out));
	if (note != NULL)
		json_object_set_new(o, "note", json_string(note));
	json_object_set_new(o, "receipt", result_receipt(r));
	return o;
}

/* As a shell and snekbox count: 128 and the signal; what was stopped was
 * killed.  null is for a program that could not be run. */
static json_t *
returncode(const struct job_result *r)
{
	switch (r->verdict) {
	case VERDICT_OK:
		return json_integer(0);
	case VERDICT_TIMEOUT:
	case VERDICT_CPU:
	case VERDICT_OUTPUT:
	case VERDICT_MEMORY:	/* a MemoryError, too */
		return json_integer(128 + SIGKILL);
	case VERDICT_LOST:
	case VERDICT_INSTALL:
	case VERDICT_INTERNAL:
	case VERDICT_BUSY:
	case VERDICT_CANCELLED:
		return json_null();
	default:
		break;
	}
	if (r->signal > 0)
		return json_integer(128 + r->signal);
	if (r->exit_code >= 0)
		return json_integer(r->exit_code);
	return json_integer(r->verdict == VERDICT_DENIED ? 128 + SIGSYS :
	    128 + SIGKILL);
}

static void
add_eval_files(json_t *list, const struct job_file *files, size_t n)
{
	char *data;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!files[i].whole)
			continue;
		data = base64_encode(files[i].data, files[i].len);
		json_array_append_new(list, json_pack("{s:o, s:I, s:s}",
		    "path", json_text(files[i].name, strlen(files[i].name)),
		    "size", (json_int_t)files[i].size, "content", data));
		free(data);
	}
}

json_t *
run_answer_eval(const struct job_result *r, const char *output, size_t len)
{
	json_t *files = json_array(), *all;
	size_t total;
	char *text;
	FILE *f = open_memstream(&text, &total);

	fwrite(output, 1, len, f);
	if (r->traceback != NULL)
		fputs(r->traceback, f);
	fclose(f);
	add_eval_files(files, r->images, r->nimages);
	add_eval_files(files, r->files, r->nfiles);
	all = json_pack("{s:o, s:o, s:o}", "stdout", json_text(text, total),
	    "returncode", returncode(r), "files", files);
	free(text);
	return all;
}
