#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base64.h"
#include "http_run_private.h"
#include "json.h"
#include "json_repair.h"
#include "mem.h"
#include "proto.h"
#include "tool.h"
#include "utf8.h"

/*
 * What clients of snekbox send: {"input": code} or {"args": ["-c", code]},
 * or, as the bot that it was made for, {"args": ["main.py"]} with that file
 * among {"files": [{"path", "content"}]}.  Its errors are {"title",
 * "description"}.
 */

/* A program, and the files that it finds, as run_python has them. */
struct eval {
	json_t	*code;
	json_t	*files;
};

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

static void
eval_clear(struct eval *e)
{
	json_decref(e->code);
	json_decref(e->files);
}

/* The file's content as the text of a program. */
static const char *
take_script(struct eval *e, const json_t *content)
{
	const char *text = json_string_value(content);
	size_t len;
	char *code;

	code = text == NULL ? NULL : base64_decode(text,
	    json_string_length(content), &len);
	if (code == NULL)
		return "'content' of a file must be a string in base64";
	if (utf8_valid(code, len))
		e->code = json_text(code, len);
	free(code);
	return e->code == NULL ? "the program must be UTF-8 text" : NULL;
}

/* Takes one file; that of the program is not there twice.  NULL, or what is
 * wrong. */
static const char *
take_file(struct eval *e, const json_t *file, const char *script)
{
	const json_t *path = json_object_get(file, "path");
	const json_t *content = json_member(file, "content");
	const char *name = json_string_value(path), *why = NULL;

	if (name == NULL)
		return "'path' of a file must be a string";
	if (script != NULL && strcmp(name, script) == 0)
		why = take_script(e, content);
	if (strcmp(name, PROGRAM_NAME) != 0)
		json_array_append_new(e->files, json_pack("{s:O, s:O?}",
		    "path", path, "base64", content));
	else if (script == NULL || strcmp(script, PROGRAM_NAME) != 0)
		why = "a file '" PROGRAM_NAME "' is the program itself here: "
		    "'args' must be its name";
	return why;
}

static const char *
take_files(struct eval *e, const json_t *files, const char *script)
{
	const char *why = NULL;
	const json_t *file;
	size_t i;

	if (files != NULL && !json_is_array(files))
		return "'files' must be an array of objects";
	e->files = json_array();
	json_array_foreach(files, i, file)
		if (why == NULL)
			why = take_file(e, file, script);
	return why;
}

/* Sets *script to the file that args names, or *code to what it holds. */
static const char *
take_args(const json_t *args, const json_t *input, const json_t **code,
    const char **script)
{
	const char *first = json_string_value(json_array_get(args, 0));
	size_t n = json_array_size(args) + (input != NULL);

	if (!json_is_array(args))
		return "'args' must be an array of strings";
	if (first != NULL && strcmp(first, "-c") == 0 && n == 2) {
		*code = input != NULL ? input : json_array_get(args, 1);
		return json_is_string(*code) ? NULL :
		    "'args' must be an array of strings";
	}
	if (first != NULL && first[0] != '-' && n == 1) {
		*script = first;
		return NULL;
	}
	return "'args' must be [\"-c\"] with 'input', [\"-c\", program], or "
	    "the name of one of 'files': no other options are taken by this "
	    "server";
}

/* NULL, or what is wrong with the request. */
static const char *
read_body(const json_t *body, struct eval *e)
{
	const json_t *input = json_member(body, "input");
	const json_t *args = json_member(body, "args"), *code = input;
	const char *script = NULL, *why = NULL;

	if (!json_is_object(body))
		return "The body must be an object.";
	if (input == NULL && args == NULL)
		return "'input' or 'args' is a required property";
	if (input != NULL && !json_is_string(input))
		return "'input' must be a string";
	if (json_member(body, "executable_path") != NULL)
		return "'executable_path' is not taken by this server: there "
		    "is one interpreter";
	if (args != NULL)
		why = take_args(args, input, &code, &script);
	if (why == NULL)
		why = take_files(e, json_member(body, "files"), script);
	if (why == NULL && script == NULL)
		e->code = json_incref((json_t *)code);
	if (why == NULL && e->code == NULL)
		why = "'args' names a program that is not among 'files'";
	return why;
}

static void
run_code(struct http_run *h, struct http_request *r, const struct eval *e)
{
	json_t *args = json_pack("{s:O}", "files", e->files);
	struct tool_call t;

	run_prepare(h, r, args, &t);
	if (tool_run_code(&t, e->code, NULL, NULL) == TOOL_JOB)
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
	struct eval e = { NULL, NULL };
	const char *text, *why;
	json_t *body;
	size_t len;

	if (!http_content_is(r, "application/json")) {
		refuse(r, 415, "415 Unsupported Media Type",
		    "The body must be application/json.");
		return;
	}
	text = http_body(r, &len);
	body = json_load(text, len, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
	if (body == NULL) {
		refuse(r, 400, "Invalid JSON",
		    "The body could not be parsed as JSON.");
		return;
	}
	why = read_body(body, &e);
	if (why != NULL)
		refuse_data(r, why);
	else
		run_code(arg, r, &e);
	eval_clear(&e);
	json_decref(body);
}
