#include "config.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "json.h"
#include "mem.h"
#include "tool.h"

static const struct tool *const tools[] = {
	&tool_run_python, &tool_read_file, &tool_list_packages,
	&tool_sandbox_initialize, &tool_sandbox_stop, &tool_sandbox_fork,
	&tool_ephemeral, &tool_execute
};

#define NTOOLS	(sizeof tools / sizeof tools[0])

static int
is_offered(const struct tool *t, const struct conf *conf)
{
	return (!t->compat || conf->compat_tools) &&
	    (!t->session || conf->sessions_max > 0);
}

const struct tool *
tool_find(const struct conf *conf, const char *name)
{
	size_t i;

	for (i = 0; i < NTOOLS; i++)
		if (is_offered(tools[i], conf) &&
		    strcmp(tools[i]->name, name) == 0)
			return tools[i];
	return NULL;
}

static const char *const type_names[] = {
	[TOOL_STRING] = "string",
	[TOOL_NUMBER] = "number",
	[TOOL_STRINGS] = "array",
	[TOOL_FILES] = "array"
};

/* What an argument must be, for the sentence that says so. */
static const char *const type_words[] = {
	[TOOL_STRING] = "a string",
	[TOOL_NUMBER] = "a number",
	[TOOL_STRINGS] = "an array of strings",
	[TOOL_FILES] = "an array of objects with path and text or base64"
};

/* What the items of an array are; NULL for other types. */
static json_t *
items_schema(enum tool_type type)
{
	if (type == TOOL_STRINGS)
		return json_pack("{s:s}", "type", "string");
	if (type != TOOL_FILES)
		return NULL;
	return json_pack("{s:s, s:{s:{s:s, s:s}, s:{s:s, s:s}, "
	    "s:{s:s, s:s}}, s:[s], s:b}",
	    "type", "object", "properties",
	    "path", "type", "string", "description", "Relative path.",
	    "text", "type", "string", "description", "The content, if it is "
	    "text.",
	    "base64", "type", "string", "description", "The content in "
	    "base64, if it is not.",
	    "required", "path", "additionalProperties", 0);
}

/* A flat object of plain types: what every client's model accepts. */
static json_t *
schema(const struct tool *t)
{
	json_t *properties = json_object(), *required = json_array();
	json_t *s, *items;
	size_t i;

	for (i = 0; i < t->nparams; i++) {
		const struct tool_param *p = &t->params[i];

		json_object_set_new(properties, p->name, json_pack(
		    "{s:s, s:s}", "type", type_names[p->type], "description",
		    p->help));
		if ((items = items_schema(p->type)) != NULL)
			json_object_set_new(json_object_get(properties,
			    p->name), "items", items);
		if (p->required)
			json_array_append_new(required, json_string(p->name));
	}
	s = json_pack("{s:s, s:o}", "type", "object", "properties",
	    properties);
	if (json_array_size(required) > 0)
		json_object_set(s, "required", required);
	json_decref(required);
	json_object_set_new(s, "additionalProperties", json_false());
	return s;
}

json_t *
tool_list(const struct conf *conf)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < NTOOLS; i++) {
		json_t *t, *about;

		if (!is_offered(tools[i], conf))
			continue;
		t = json_pack("{s:s}", "name", tools[i]->name);
		about = tools[i]->describe(conf);
		json_object_update(t, about);
		json_decref(about);
		json_object_set_new(t, "inputSchema", schema(tools[i]));
		json_array_append_new(list, t);
	}
	return list;
}

json_t *
tool_annotations(const char *title, int read_only, int idempotent)
{
	/* Nothing leaves the sandbox: no network, no files of the host. */
	return json_pack("{s:s, s:b, s:b, s:b, s:b}", "title", title,
	    "readOnlyHint", read_only, "destructiveHint", 0,
	    "idempotentHint", idempotent, "openWorldHint", 0);
}

/* The number that a string holds, by JSON's grammar but for blanks around
 * it; NULL if there is none. */
static json_t *
number_of(const char *s)
{
	json_t *value = json_loads(s, JSON_DECODE_ANY |
	    JSON_DECODE_INT_AS_REAL, NULL);

	if (json_is_number(value))
		return value;
	json_decref(value);
	return NULL;
}

/* The first item of another type, with *at its index; NULL if there is
 * none. */
static const json_t *
stray_item(const json_t *value, json_type type, size_t *at)
{
	const json_t *item;
	size_t i;

	json_array_foreach(value, i, item)
		if (json_typeof(item) != type) {
			*at = i;
			return item;
		}
	return NULL;
}

static int
all_are(const json_t *value, json_type type)
{
	size_t at;

	return stray_item(value, type, &at) == NULL;
}

static json_type
item_type(enum tool_type type)
{
	return type == TOOL_FILES ? JSON_OBJECT : JSON_STRING;
}

static char *
wrong_type(const struct tool_param *p, const json_t *value)
{
	const char *text = json_string_value(value);
	const json_t *item = NULL;
	char *why;
	size_t at = 0;

	if (p->type >= TOOL_STRINGS && json_is_array(value))
		item = stray_item(value, item_type(p->type), &at);
	if (item != NULL)
		xasprintf(&why, "The argument %s must be %s, but %s[%zu] is "
		    "%s.", p->name, type_words[p->type], p->name, at,
		    json_type_name(item));
	else
		xasprintf(&why, "The argument %s must be %s, not %s%s%.40s%s.",
		    p->name, type_words[p->type], json_type_name(value),
		    text != NULL ? ": \"" : "", text != NULL ? text : "",
		    text != NULL ? "\"" : "");
	return why;
}

/* A list of such items, which models also send as the text of one; NULL if
 * it is neither. */
static json_t *
list_of(json_t *value, json_type type)
{
	json_t *list;

	if (json_is_array(value) && all_are(value, type))
		return json_incref(value);
	if (!json_is_string(value))
		return NULL;
	list = json_loadb(json_string_value(value), json_string_length(value),
	    JSON_ALLOW_NUL, NULL);
	if (json_is_array(list) && all_are(list, type))
		return list;
	json_decref(list);
	return NULL;
}

static int
is_blank(const char *s)
{
	return s[strspn(s, " \t\r\n")] == '\0';
}

/* The value in its right type (a new reference), NULL with *why if that
 * cannot be, NULL without if it counts as absent. */
static json_t *
coerce(const struct tool_param *p, json_t *value, char **why)
{
	const char *text = json_string_value(value);
	json_t *number;

	/* Some clients have a model write every argument, so that it leaves
	 * out none that it does not mean. */
	if (!p->required && text != NULL && json_string_length(value) == 0)
		return NULL;
	if (p->type == TOOL_STRING && text != NULL)
		return json_incref(value);
	/* Models often put numbers, lists and null into strings. */
	if (p->type != TOOL_STRING && text != NULL && (is_blank(text) ||
	    strcmp(text, "null") == 0))
		return NULL;
	if (p->type == TOOL_NUMBER) {
		if (json_is_number(value))
			return json_incref(value);
		if (text != NULL && (number = number_of(text)) != NULL)
			return number;
	}
	if (p->type >= TOOL_STRINGS && (number = list_of(value,
	    item_type(p->type))) != NULL)
		return number;
	*why = wrong_type(p, value);
	return NULL;
}

static char *
param_names(const struct tool *t)
{
	char *names = xstrdup(""), *longer;
	size_t i;

	for (i = 0; i < t->nparams; i++) {
		xasprintf(&longer, "%s%s%s", names, i == 0 ? "" : ", ",
		    t->params[i].name);
		free(names);
		names = longer;
	}
	return names;
}

static const struct tool_param *
find_param(const struct tool *t, const char *name)
{
	size_t i;

	for (i = 0; i < t->nparams; i++)
		if (strcmp(t->params[i].name, name) == 0)
			return &t->params[i];
	return NULL;
}

static int
check_one(const struct tool *t, const char *name, json_t *value, json_t *out,
    char **why)
{
	const struct tool_param *p = find_param(t, name);
	char *names;

	if (p == NULL) {
		names = param_names(t);
		xasprintf(why, "The tool %s has no argument \"%.60s\"; it "
		    "takes: %s.", t->name, name, names);
		free(names);
		return -1;
	}
	value = coerce(p, value, why);
	if (value != NULL)
		json_object_set_new(out, name, value);
	return *why == NULL ? 0 : -1;
}

json_t *
tool_check(const struct tool *t, const json_t *args, char **why)
{
	json_t *out = json_object(), *value;
	const char *name;
	size_t i;

	*why = NULL;
	json_object_foreach((json_t *)args, name, value)
		if (!json_is_null(value) &&
		    check_one(t, name, value, out, why) == -1)
			break;
	for (i = 0; *why == NULL && i < t->nparams; i++)
		if (t->params[i].required &&
		    json_object_get(out, t->params[i].name) == NULL)
			xasprintf(why, "The argument %s is missing; it is "
			    "needed: %s", t->params[i].name,
			    t->params[i].help);
	if (*why == NULL)
		return out;
	json_decref(out);
	return NULL;
}
