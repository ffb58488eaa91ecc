#include "config.h"

#include <string.h>

#include "conf.h"
#include "json.h"
#include "tool.h"

/*
 * run_python under the names, and with the arguments, that other servers
 * taught people: run_python_ephemeral of the Docker based ones,
 * execute_python_code of those on snekbox.  What the former call a
 * container_id is a session_id here, and a container has an image.
 */

static const struct tool_param ephemeral_params[] = {
	{ "code", TOOL_STRING, 1,
	    "The Python program.  Print what you want to see." },
	{ "dependencies", TOOL_STRINGS, 0,
	    "Packages to install for the program, such as \"networkx\"." },
	{ "image", TOOL_STRING, 0,
	    "Has no effect: there are no container images here." }
};

static const struct tool_param execute_params[] = {
	{ "python_code", TOOL_STRING, 1,
	    "The Python program.  Print what you want to see." }
};

static json_t *
describe(const struct conf *conf)
{
	json_t *about = tool_run_python.describe(conf);

	json_object_set_new(about, "title", json_string("Run Python "
	    "(by another name)"));
	return about;
}

static enum tool_outcome
call_ephemeral(struct tool_call *c)
{
	return tool_run_code(c, json_object_get(c->args, "code"), NULL, NULL);
}

static enum tool_outcome
call_execute(struct tool_call *c)
{
	return tool_run_code(c, json_object_get(c->args, "python_code"), NULL,
	    NULL);
}

static int
takes(const struct tool *t, const char *name)
{
	size_t i;

	for (i = 0; i < t->nparams; i++)
		if (strcmp(t->params[i].name, name) == 0)
			return 1;
	return 0;
}

json_t *
tool_compat_args(const struct conf *conf, const struct tool *t, json_t *args)
{
	json_t *id = json_member(args, "container_id"), *ours;

	if (!conf->compat_tools || (id == NULL &&
	    json_object_get(args, "image") == NULL))
		return json_incref(args);
	ours = json_copy(args);
	if (id != NULL && takes(t, "session_id") &&
	    json_member(args, "session_id") == NULL) {
		json_object_set(ours, "session_id", id);
		json_object_del(ours, "container_id");
	}
	if (t == &tool_sandbox_initialize)
		json_object_del(ours, "image");
	return ours;
}

const struct tool tool_ephemeral = {
	"run_python_ephemeral", ephemeral_params,
	sizeof ephemeral_params / sizeof ephemeral_params[0], describe,
	call_ephemeral, 1, 0
};

const struct tool tool_execute = {
	"execute_python_code", execute_params,
	sizeof execute_params / sizeof execute_params[0], describe,
	call_execute, 1, 0
};
