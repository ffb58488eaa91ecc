#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "fixture_private.h"
#include "log.h"
#include "mem.h"

#define CAPABILITIES	"io.modelcontextprotocol/clientCapabilities"

json_t *
fixture_json(const char *text)
{
	char *copy = xstrdup(text), *p;
	json_error_t error;
	json_t *value;

	for (p = copy; *p != '\0'; p++)
		if (*p == '\'')
			*p = '"';
	value = json_loads(copy, 0, &error);
	if (value == NULL)
		fatalx("a fixture is no JSON: %s: %s", error.text, text);
	free(copy);
	return value;
}

int
fixture_client_has(const struct request *r, const char *capability)
{
	const json_t *has = r->era == ERA_MODERN ? json_object_get(
	    json_object_get(r->params, "_meta"), CAPABILITIES) :
	    session_root(r->session)->client;

	return json_is_object(json_object_get(has, capability));
}

json_t *
fixture_missing(struct request *r, const char *capability)
{
	exchange_status(r->exchange, 400);
	return mcp_fail(r, RPC_MISSING_CAPABILITY, json_pack("{s:{s:{}}}",
	    "requiredCapabilities", capability), "This needs a client that "
	    "declares the capability %s.", capability);
}

static int
run_tool(struct request *r, json_t **result)
{
	const char *name = json_string_value(json_object_get(r->params,
	    "name"));
	const struct fixture_tool *t = name == NULL ? NULL :
	    fixture_tool_find(name);

	if (t == NULL)
		return 0;
	*result = fixture_tool_call(t, r);
	return 1;
}

static int
run(struct request *r, json_t **result)
{
	static const struct {
		const char	*method;
		json_t		*(*run)(struct request *, int *known);
	} methods[] = {
		{ "prompts/get", fixture_prompt },
		{ "resources/read", fixture_read },
		{ "resources/subscribe", fixture_watch },
		{ "completion/complete", fixture_complete }
	};
	int known = 1;
	size_t i;

	if (strcmp(r->method, "tools/call") == 0)
		return run_tool(r, result);
	for (i = 0; i < sizeof methods / sizeof methods[0]; i++)
		if (strcmp(r->method, methods[i].method) == 0) {
			*result = methods[i].run(r, &known);
			return known;
		}
	return 0;
}

static void
add(struct request *r, json_t *result)
{
	json_t *tools, *capabilities = json_object_get(result,
	    "capabilities");

	if (capabilities != NULL)
		json_object_set_new(capabilities, "prompts",
		    json_pack("{s:b}", "listChanged", 1));
	if (strcmp(r->method, "tools/list") == 0) {
		tools = fixture_tool_list();
		json_array_extend(json_object_get(result, "tools"), tools);
		json_decref(tools);
	}
	fixture_data_list(r->method, result);
}

static const struct mcp_fixtures fixtures = { run, add, fixture_answered };

void
fixture_install(struct mcp *m)
{
	log_warnx("serving the fixtures of the conformance suite: this is no "
	    "server for anybody else");
	m->fixtures = &fixtures;
}
