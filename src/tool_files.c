#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "beneath.h"
#include "conf.h"
#include "job_input.h"
#include "json.h"
#include "mem.h"
#include "proto.h"
#include "tool.h"
#include "units.h"

/*
 * The files that come with a call, checked here and nowhere else; run_python,
 * /run and /eval all come this way.  What is refused is refused whole, before
 * anything runs.
 */

/* Bytes of a path that a message shows. */
#define SHOWN	60

/* How bytes are told apart where a slash comes before all others, so that
 * what lies in a directory follows the directory. */
static int
by_path(const void *a, const void *b)
{
	const unsigned char *x = (const void *)((const struct job_input *)
	    a)->path;
	const unsigned char *y = (const void *)((const struct job_input *)
	    b)->path;

	while (*x == *y && *x != '\0')
		x++, y++;
	return (*x == '/' ? 1 : *x) - (*y == '/' ? 1 : *y);
}

/* Whether path is name, or lies in a directory of that name. */
static int
is_at_or_in(const char *path, const char *name)
{
	size_t len = strlen(name);

	return strncmp(path, name, len) == 0 &&
	    (path[len] == '\0' || path[len] == '/');
}

/* NULL, or which two paths cannot both be there; sorts the list. */
static char *
check_collisions(struct job_input *list, size_t n)
{
	char *why = NULL;
	size_t i;

	qsort(list, n, sizeof *list, by_path);
	for (i = 1; i < n && why == NULL; i++) {
		if (strcmp(list[i - 1].path, list[i].path) == 0)
			xasprintf(&why, "The argument files has the path "
			    "\"%.*s\" twice; send each file once.", SHOWN,
			    list[i].path);
		else if (is_at_or_in(list[i].path, list[i - 1].path))
			xasprintf(&why, "The argument files has \"%.*s\" both "
			    "as a file and as the directory of \"%.*s\"; "
			    "rename one.", SHOWN, list[i - 1].path, SHOWN,
			    list[i].path);
	}
	return why;
}

static char *
check_path(const json_t *item, size_t at)
{
	const json_t *path = json_object_get(item, "path");
	const char *s = json_string_value(path), *must;
	char *why = NULL;

	if (s == NULL)
		xasprintf(&why, "files[%zu] has no path; each file is an "
		    "object with path and either text or base64.", at);
	else if ((must = beneath_trouble(s, json_string_length(path))) !=
	    NULL)
		xasprintf(&why, "files[%zu] has the path \"%.*s\", but a path "
		    "must %s.", at, SHOWN, s, must);
	else if (is_at_or_in(s, PROGRAM_NAME))
		xasprintf(&why, "files[%zu] has the path \"%.*s\", but "
		    PROGRAM_NAME " is the program itself; choose another "
		    "name.", at, SHOWN, s);
	return why;
}

/* The members that a file may have. */
static char *
check_members(const json_t *item, size_t at)
{
	const json_t *text = json_member(item, "text");
	const json_t *base64 = json_member(item, "base64");
	char *why = NULL;
	json_t *value;
	const char *key;

	json_object_foreach((json_t *)item, key, value)
		if (strcmp(key, "path") != 0 && strcmp(key, "text") != 0 &&
		    strcmp(key, "base64") != 0) {
			xasprintf(&why, "files[%zu] has a member \"%.*s\"; a "
			    "file has path and either text or base64.", at,
			    SHOWN, key);
			return why;
		}
	if ((text == NULL) == (base64 == NULL))
		xasprintf(&why, "files[%zu] has %s; give it one of the two.",
		    at, text == NULL ? "neither text nor base64" :
		    "both text and base64");
	else if (!json_is_string(text != NULL ? text : base64))
		xasprintf(&why, "files[%zu] has %s that is %s; it must be a "
		    "string.", at, text != NULL ? "text" : "base64",
		    json_type_name(text != NULL ? text : base64));
	return why;
}

/* Encoders break long lines. */
static char *
decode(const char *text, size_t len, size_t *out_len)
{
	char *joined = xmalloc(len + 1), *data;
	size_t i, n = 0;

	for (i = 0; i < len; i++)
		if (text[i] == '\0' || strchr(" \t\r\n", text[i]) == NULL)
			joined[n++] = text[i];
	data = base64_decode(joined, n, out_len);
	free(joined);
	return data;
}

/* Takes one file of the argument; NULL, or what is wrong with it. */
static char *
take_file(const json_t *item, size_t at, struct job_input *in)
{
	const json_t *text = json_member(item, "text");
	const json_t *base64 = json_member(item, "base64");
	char *why = check_path(item, at);

	if (why == NULL)
		why = check_members(item, at);
	if (why != NULL)
		return why;
	if (text != NULL) {
		in->len = json_string_length(text);
		in->data = xmemdupz(json_string_value(text), in->len);
	} else
		in->data = decode(json_string_value(base64),
		    json_string_length(base64), &in->len);
	if (in->data == NULL) {
		xasprintf(&why, "files[%zu] has base64 that cannot be "
		    "decoded; use the standard alphabet, with padding.", at);
		return why;
	}
	in->path = xstrdup(json_string_value(json_object_get(item, "path")));
	return NULL;
}

static char *
check_count(const struct conf *conf, size_t n)
{
	char *why = NULL;

	if (n > conf->limits_inputs)
		xasprintf(&why, "The argument files has %zu files, more than "
		    "the limit of %" PRIu64 " (limits.inputs); send fewer, or "
		    "one archive of them.", n, conf->limits_inputs);
	return why;
}

static char *
check_bytes(const struct conf *conf, uint64_t bytes)
{
	uint64_t max = conf->limits_input_bytes;
	const char *key = "limits.input_bytes";
	char limit[32], *why = NULL;

	if (conf->limits_scratch > 0 && conf->limits_scratch < max) {
		max = conf->limits_scratch;
		key = "limits.scratch";
	}
	size_text(max, limit, sizeof limit);
	if (bytes > max)
		xasprintf(&why, "The argument files has %" PRIu64 " bytes or "
		    "more, above the limit of %s (%s); send less.", bytes,
		    limit, key);
	return why;
}

char *
tool_files(const struct conf *conf, const json_t *files,
    struct job_input **list, size_t *n)
{
	size_t i, max = json_array_size(files);
	struct job_input *inputs;
	uint64_t bytes = 0;
	char *why;

	*list = NULL;
	*n = 0;
	if (max == 0)
		return NULL;
	if ((why = check_count(conf, max)) != NULL)
		return why;
	inputs = xcalloc(max, sizeof *inputs);
	for (i = 0; i < max && why == NULL; i++) {
		why = take_file(json_array_get(files, i), i, &inputs[i]);
		bytes += inputs[i].len;
		if (why == NULL)
			why = check_bytes(conf, bytes);
	}
	if (why == NULL)
		why = check_collisions(inputs, max);
	if (why != NULL) {
		job_inputs_free(inputs, max);
		return why;
	}
	*list = inputs;
	*n = max;
	return NULL;
}
