#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "json.h"
#include "mem.h"
#include "result.h"
#include "result_parts.h"

static const char	silent[] =
    "The program ran to its end and printed nothing.  Use print() to show "
    "what you want to see.";

static void
add_string(struct parts *p, const char *label, const char *s)
{
	if (s != NULL && s[0] != '\0')
		parts_text(p, label, s, strlen(s));
}

/* The traceback without the newline at its end, or the little there is. */
static void
add_exception(struct parts *p, const struct job_result *r)
{
	char *text;
	size_t len;

	if (r->traceback != NULL && r->traceback[0] != '\0') {
		len = strlen(r->traceback);
		while (len > 1 && r->traceback[len - 1] == '\n')
			len--;
		parts_text(p, NULL, r->traceback, len);
	} else if (r->exc_type != NULL) {
		xasprintf(&text, "%s: %s", r->exc_type,
		    r->exc_message == NULL ? "" : r->exc_message);
		add_string(p, NULL, text);
		free(text);
	}
}

static json_t *
milliseconds(uint64_t us)
{
	return json_real((double)us / 1000.0);
}

static void
add_ending(json_t *receipt, const struct job_result *r)
{
	if (r->exc_type != NULL)
		json_object_set_new(receipt, "exception",
		    json_text(r->exc_type, strlen(r->exc_type)));
	else if (r->signal > 0)
		json_object_set_new(receipt, "signal",
		    json_integer(r->signal));
	else if (r->exit_code >= 0)
		json_object_set_new(receipt, "exit_code",
		    json_integer(r->exit_code));
}

/* Members that do not apply are absent: clients refuse null. */
static json_t *
make_receipt(const struct job_result *r, int cut)
{
	const struct job_output *out = &r->output[JOB_STDOUT];
	const struct job_output *err = &r->output[JOB_STDERR];
	json_t *m = json_object();

	json_object_set_new(m, "verdict",
	    json_string(verdict_name(r->verdict)));
	add_ending(m, r);
	json_object_set_new(m, "wall_ms", milliseconds(r->wall_us));
	json_object_set_new(m, "cpu_ms", milliseconds(r->cpu_us));
	json_object_set_new(m, "queue_ms", milliseconds(r->queue_us));
	if (r->peak_kib > 0)
		json_object_set_new(m, "peak_kib", json_integer(r->peak_kib));
	json_object_set_new(m, "stdout_bytes", json_integer(out->total));
	json_object_set_new(m, "stderr_bytes", json_integer(err->total));
	json_object_set_new(m, "truncated", json_boolean(cut ||
	    out->dropped > 0 || err->dropped > 0));
	if (r->run_id[0] != '\0')
		json_object_set_new(m, "run_id", json_string(r->run_id));
	return m;
}

static json_t *
make_result(json_t *content, int is_error, json_t *receipt)
{
	json_t *result = json_pack("{s:o, s:b}", "content", content,
	    "isError", is_error);

	if (receipt != NULL)
		json_object_set_new(result, "_meta",
		    json_pack("{s:o}", "adder/receipt", receipt));
	return result;
}

json_t *
result_of_job(const struct job_result *r, const char *note)
{
	struct parts p = { json_array(), RESULT_BYTES_MAX, 0 };

	parts_output(&p, NULL, "stdout", &r->output[JOB_STDOUT]);
	if (r->value != NULL)
		parts_text(&p, "value", r->value, r->value_len);
	parts_output(&p, "stderr", "stderr", &r->output[JOB_STDERR]);
	add_exception(&p, r);
	if (r->verdict != VERDICT_OK)
		add_string(&p, NULL, r->reason);
	else if (json_array_size(p.content) == 0 && r->nimages == 0 &&
	    r->nfiles == 0)
		add_string(&p, NULL, silent);
	add_string(&p, NULL, note);
	parts_images(&p, r->images, r->nimages);
	parts_files(&p, r->run_id, r->files, r->nfiles, r->files_left_out);
	return make_result(p.content, r->verdict != VERDICT_OK,
	    make_receipt(r, p.cut));
}

static json_t *
one_text(const char *text)
{
	return json_pack("[{s:s, s:o}]", "type", "text", "text",
	    json_text(text, strlen(text)));
}

json_t *
result_of_text(const char *text)
{
	return make_result(one_text(text), 0, NULL);
}

json_t *
result_of_error(const char *text)
{
	return make_result(one_text(text), 1, NULL);
}

json_t *
result_of_refusal(enum verdict verdict, const char *text)
{
	return make_result(one_text(text), 1, json_pack("{s:s}", "verdict",
	    verdict_name(verdict)));
}
