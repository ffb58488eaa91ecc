#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "json.h"
#include "mem.h"
#include "result.h"
#include "result_parts.h"
#include "units.h"
#include "utf8.h"

static const char	silent[] =
    "The program ran to its end and printed nothing.  Use print() to show "
    "what you want to see.";

/* The texts of a result that share a budget. */
enum text { TEXT_STDOUT, TEXT_VALUE, TEXT_STDERR, TEXT_TRACEBACK, TEXTS };

/* A sentence of ours, whatever the budget. */
static void
add_string(struct parts *p, const char *s)
{
	if (s != NULL && s[0] != '\0')
		parts_text(p, NULL, "text", s, strlen(s), SIZE_MAX);
}

static size_t
traceback_length(const struct job_result *r)
{
	size_t len = r->traceback == NULL ? 0 : strlen(r->traceback);

	while (len > 1 && r->traceback[len - 1] == '\n')
		len--;
	return len;
}

/* The reason has the message of the exception. */
static int
says_all(const struct job_result *r)
{
	return r->exc_message != NULL && r->exc_message[0] != '\0' &&
	    r->reason != NULL && strstr(r->reason, r->exc_message) != NULL;
}

/* The traceback without the newline at its end, or the little there is. */
static void
add_exception(struct parts *p, const struct job_result *r, size_t max)
{
	size_t len = traceback_length(r);
	char *text;

	if (len > 0)
		parts_text(p, NULL, "traceback", r->traceback, len, max);
	else if (r->exc_type != NULL && !says_all(r)) {
		xasprintf(&text, "%s: %s", r->exc_type,
		    r->exc_message == NULL ? "" : r->exc_message);
		add_string(p, text);
		free(text);
	}
}

/*
 * Divides the budget: who needs no more than an even share gets what it
 * needs, and what it leaves is for the others.
 */
static void
share(size_t budget, const size_t want[TEXTS], size_t got[TEXTS])
{
	size_t even, left = budget, waiting = TEXTS;
	int i, progress = 1;

	for (i = 0; i < TEXTS; i++)
		got[i] = SIZE_MAX;
	if (budget == 0)
		return;
	while (progress) {
		progress = 0;
		even = waiting == 0 ? 0 : left / waiting;
		for (i = 0; i < TEXTS; i++)
			if (got[i] == SIZE_MAX && want[i] <= even) {
				got[i] = want[i];
				left -= want[i];
				waiting--;
				progress = 1;
				break;
			}
	}
	for (i = 0; i < TEXTS; i++)
		if (got[i] == SIZE_MAX)
			got[i] = left / waiting;
}

/* Bytes that a stream takes as text. */
static size_t
output_length(const struct job_output *out)
{
	return utf8_clean_length(out->head, out->head_len) +
	    utf8_clean_length(out->tail, out->tail_len);
}

static void
share_text(const struct job_result *r, const struct result_options *o,
    size_t got[TEXTS])
{
	size_t want[TEXTS] = {
		[TEXT_STDOUT] = output_length(&r->output[JOB_STDOUT]),
		[TEXT_VALUE] = utf8_clean_length(r->value, r->value_len),
		[TEXT_STDERR] = output_length(&r->output[JOB_STDERR]),
		[TEXT_TRACEBACK] = utf8_clean_length(r->traceback,
		    traceback_length(r))
	};

	share(o->max_text, want, got);
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

static const char *
fate_name(enum session_fate fate)
{
	switch (fate) {
	case SESSION_KEPT:
		return "kept";
	case SESSION_ROLLED_BACK:
		return "rolled_back";
	case SESSION_GONE:
		return "lost";
	case SESSION_NONE:
		break;
	}
	return NULL;
}

/* What the model has to know of the session; NULL if all is as usual. */
static const char *
fate_text(const struct job_result *r)
{
	switch (r->fate) {
	case SESSION_ROLLED_BACK:
		return "The session is as it was before this call: its "
		    "variables were rolled back.  Files that the call wrote "
		    "or deleted are not restored.";
	case SESSION_GONE:
		return "The session is lost, with its variables and files; "
		    "make another one with sandbox_initialize and run what "
		    "it needs again.";
	default:
		return !r->threads ? NULL : "Threads of this call go on in "
		    "the session.  As long as they do, calls run without a "
		    "way back: one that fails by a time limit or a crash "
		    "loses the session's variables.";
	}
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
	if (fate_name(r->fate) != NULL)
		json_object_set_new(m, "session",
		    json_string(fate_name(r->fate)));
	if (r->run_id[0] != '\0')
		json_object_set_new(m, "run_id", json_string(r->run_id));
	return m;
}

json_t *
result_receipt(const struct job_result *r)
{
	return make_receipt(r, 0);
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

/* For clients that show a model nothing but the structured part: all text
 * again, without pictures.  A result with pictures has none, as such clients
 * would hide them, and a failure has none, as some check it by a schema. */
static json_t *
make_structured(const json_t *content)
{
	const json_t *block, *text;
	json_t *all;
	size_t i, len;
	char *joined;
	FILE *out;

	out = open_memstream(&joined, &len);
	json_array_foreach(content, i, block) {
		text = json_object_get(block, "text");
		if (text == NULL)
			continue;
		if (ftell(out) > 0)
			putc('\n', out);
		fwrite(json_string_value(text), 1, json_string_length(text),
		    out);
	}
	fclose(out);
	all = json_pack("{s:o}", "text", json_text(joined, len));
	free(joined);
	return all;
}

static void
add_texts(struct parts *p, const struct job_result *r, const char *note)
{
	size_t max[TEXTS];

	share_text(r, p->options, max);
	parts_output(p, NULL, "stdout", &r->output[JOB_STDOUT],
	    max[TEXT_STDOUT]);
	if (r->value != NULL)
		parts_text(p, "value", "value", r->value, r->value_len,
		    max[TEXT_VALUE]);
	parts_output(p, "stderr", "stderr", &r->output[JOB_STDERR],
	    max[TEXT_STDERR]);
	add_exception(p, r, max[TEXT_TRACEBACK]);
	if (r->verdict != VERDICT_OK)
		add_string(p, r->reason);
	else if (json_array_size(p->content) == 0 && r->nimages == 0 &&
	    r->nfiles == 0)
		add_string(p, silent);
	add_string(p, fate_text(r));
	add_string(p, note);
}

json_t *
result_of_job(const struct job_result *r, const char *note,
    const struct result_options *options)
{
	/* Structured, all text is there twice. */
	struct parts p = { .content = json_array(), .left =
	    options->structured ? RESULT_BYTES_MAX / 2 : RESULT_BYTES_MAX,
	    .options = options, .run_id = r->run_id };
	json_t *result;

	add_texts(&p, r, note);
	parts_images(&p, r->images, r->nimages);
	parts_files(&p, r->files, r->nfiles, r->files_kept_more,
	    r->files_left_out);
	result = make_result(p.content, r->verdict != VERDICT_OK,
	    make_receipt(r, p.cut));
	if (options->structured && r->verdict == VERDICT_OK && p.shown == 0)
		json_object_set_new(result, "structuredContent",
		    make_structured(p.content));
	return result;
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
result_of_session(const char *handle, uint64_t ttl_ms, const char *note)
{
	char ttl[32];

	duration_text(ttl_ms, ttl, sizeof ttl);
	return json_pack("{s:[{s:s, s:o}], s:b, s:{s:s}}", "content",
	    "type", "text", "text", json_textf("session_id: %s\nGive it to "
	    "run_python as session_id.  The session ends after %s without a "
	    "call.%s%s", handle, ttl, note != NULL ? "  " : "",
	    note != NULL ? note : ""), "isError", 0, "structuredContent",
	    "session_id", handle);
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
