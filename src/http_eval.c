#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "http_run_private.h"
#include "json.h"
#include "mem.h"
#include "tool.h"

/*
 * What clients of snekbox send: {"input": code} or {"args": ["-c", code]}.
 * Its errors are {"title", "description"}.
 */

static void
refuse(struct http_request *r, int status, const char *title, const char *why)
{
	json_t *body = json_pack("{s:s, s:s}", "title", title, "description",
	    why);
	size_t len;
	char *line = json_line(body, &len);

	http_reply(r, status, "application/json", line, len);
	free(line);
	json_decref(body);
}

static void
refuse_data(struct http_request *r, const char *why)
{
	refuse(r, 400, "Request data failed validation", why);
}

static int
is_plain_code(const json_t *args)
{
	const char *first = json_string_value(json_array_get(args, 0));

	return first != NULL && strcmp(first, "-c") == 0;
}

/* The program of a request; NULL with *why. */
static const json_t *
find_code(const json_t *body, const char **why)
{
	const json_t *input = json_member(body, "input");
	const json_t *args = json_member(body, "args");

	*why = NULL;
	if (!json_is_object(body))
		*why = "The body must be an object.";
	else if (input == NULL && args == NULL)
		*why = "'input' or 'args' is a required property";
	else if (input != NULL && !json_is_string(input))
		*why = "'input' must be a string";
	else if (args != NULL && !json_is_array(args))
		*why = "'args' must be an array of strings";
	else if (json_array_size(json_member(body, "files")) > 0)
		*why = "'files' are not taken by this server: put the data "
		    "into the program";
	else if (json_member(body, "executable_path") != NULL)
		*why = "'executable_path' is not taken by this server: there "
		    "is one interpreter";
	else if (args == NULL)
		return input;
	else if (is_plain_code(args) && json_array_size(args) +
	    (input != NULL) == 2 && (input != NULL ||
	    json_is_string(json_array_get(args, 1))))
		return input != NULL ? input : json_array_get(args, 1);
	else
		*why = "'args' must be [\"-c\"] with 'input', or [\"-c\", "
		    "program]: no other options are taken by this server";
	return NULL;
}

static void
run_code(struct http_run *h, struct http_request *r, const json_t *code)
{
	json_t *args = json_object();
	struct tool_call t;

	run_prepare(h, r, args, &t);
	if (tool_run_code(&t, code, NULL, NULL) == TOOL_JOB)
		run_start(h, r, &t, RUN_EVAL);
	else {
		refuse_data(r, json_string_value(json_object_get(
		    json_array_get(json_object_get(t.result, "content"), 0),
		    "text")));
		json_decref(t.result);
	}
	json_decref(args);
}

void
run_on_eval(struct http_request *r, void *arg)
{
	const json_t *code;
	const char *text, *why;
	json_t *body;
	size_t len;

	if (!http_content_is(r, "application/json")) {
		refuse(r, 415, "415 Unsupported Media Type",
		    "The body must be application/json.");
		return;
	}
	text = http_body(r, &len);
	body = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
	if (body == NULL) {
		refuse(r, 400, "Invalid JSON",
		    "The body could not be parsed as JSON.");
		return;
	}
	code = find_code(body, &why);
	if (code == NULL)
		refuse_data(r, why);
	else
		run_code(arg, r, code);
	json_decref(body);
}
