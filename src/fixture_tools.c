#include "config.h"

#include <string.h>
#include <sys/time.h>

#include <event2/event.h>

#include "fixture_private.h"
#include "json.h"
#include "result.h"

#define PIXEL								\
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AA"	\
	"AAMBAQDJ/pLvAAAAAElFTkSuQmCC"
/* A header of RIFF and no sample. */
#define SILENCE								\
	"UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
/* Lines far enough apart that each makes a message of its own. */
#define LINES(first, second, third)					\
	"import time\nfor line in ('" first "', '" second "', '" third	\
	"'):\n    print(line, flush=True)\n    time.sleep(0.4)\n"

static json_t	*call_missing(struct request *);
static json_t	*call_reconnection(struct request *);
static json_t	*call_change_tools(struct request *);
static json_t	*call_change_prompts(struct request *);

static const struct fixture_tool tools[] = {
	{ "test_simple_text", "Text.", NULL,
	    "print('This is a simple text response for testing.', end='')",
	    NULL, NULL },
	{ "test_image_content", "A picture.", NULL,
	    "import base64\nopen('pixel.png', 'wb').write("
	    "base64.b64decode('" PIXEL "'))\n", NULL, NULL },
	{ "test_audio_content", "A sound.", NULL, NULL, "{'content': "
	    "[{'type': 'audio', 'data': '" SILENCE "', 'mimeType': "
	    "'audio/wav'}]}", NULL },
	{ "test_embedded_resource", "A resource.", NULL, NULL, "{'content': "
	    "[{'type': 'resource', 'resource': {'uri': "
	    "'test://embedded-resource', 'mimeType': 'text/plain', 'text': "
	    "'This is an embedded resource content.'}}]}", NULL },
	{ "test_multiple_content_types", "All of them.", NULL, NULL,
	    "{'content': [{'type': 'text', 'text': "
	    "'Multiple content types test:'}, {'type': 'image', 'data': '"
	    PIXEL "', 'mimeType': 'image/png'}, {'type': 'resource', "
	    "'resource': {'uri': 'test://mixed-content-resource', "
	    "'mimeType': 'application/json', 'text': '[1, 2]'}}]}", NULL },
	{ "test_tool_with_logging", "Says what it does.", NULL,
	    LINES("Tool execution started", "Tool processing data",
	    "Tool execution completed"), NULL, NULL },
	{ "test_logging_tool", "Says what it does.", NULL,
	    "print('one', flush=True)\nprint('two', flush=True)\n"
	    "print('three')\n", NULL, NULL },
	{ "test_tool_with_progress", "Says how far it is.", NULL,
	    LINES("0", "50", "100"), NULL, NULL },
	{ "test_error_handling", "Fails.", NULL, "raise RuntimeError("
	    "'This tool intentionally returns an error for testing')\n",
	    NULL, NULL },
	{ "test_reconnection", "Lets go of its client.", NULL, NULL, NULL,
	    call_reconnection },
	{ "test_sampling", "Asks the client's model.", "{'type': 'object', "
	    "'properties': {'prompt': {'type': 'string'}}, 'required': "
	    "['prompt']}", NULL, NULL, fixture_sampling },
	{ "test_elicitation", "Asks the user.", "{'type': 'object', "
	    "'properties': {'message': {'type': 'string'}}, 'required': "
	    "['message']}", NULL, NULL, fixture_elicitation },
	{ "test_elicitation_sep1034_defaults", "Asks with defaults.", NULL,
	    NULL, NULL, fixture_defaults },
	{ "test_elicitation_sep1330_enums", "Asks to choose.", NULL, NULL,
	    NULL, fixture_enums },
	{ "json_schema_2020_12_tool", "Takes much.", "{'$schema': "
	    "'https://json-schema.org/draft/2020-12/schema', 'type': "
	    "'object', '$defs': {'address': {'$anchor': 'addressDef', "
	    "'type': 'object', 'properties': {'street': {'type': 'string'}, "
	    "'city': {'type': 'string'}}}}, 'properties': {'name': {'type': "
	    "'string'}, 'address': {'$ref': '#/$defs/address'}, "
	    "'contactMethod': {'type': 'string', 'enum': ['phone', "
	    "'email']}, 'phone': {'type': 'string'}, 'email': {'type': "
	    "'string'}}, 'allOf': [{'anyOf': [{'required': ['phone']}, "
	    "{'required': ['email']}]}], 'if': {'properties': "
	    "{'contactMethod': {'const': 'phone'}}, 'required': "
	    "['contactMethod']}, 'then': {'required': ['phone']}, 'else': "
	    "{'required': ['email']}, 'additionalProperties': false}",
	    "print('taken')", NULL, NULL },
	{ "test_missing_capability", "Needs sampling.", NULL, NULL, NULL,
	    call_missing },
	{ "test_trigger_tool_change", "Changes the tools.", NULL, NULL, NULL,
	    call_change_tools },
	{ "test_trigger_prompt_change", "Changes the prompts.", NULL, NULL,
	    NULL, call_change_prompts },
#define ROUNDS(name)							\
	{ name, "Asks for more.", NULL, NULL, NULL, fixture_round_tool }
	ROUNDS("test_streaming_elicitation"),
	ROUNDS("test_input_required_result_elicitation"),
	ROUNDS("test_input_required_result_sampling"),
	ROUNDS("test_input_required_result_list_roots"),
	ROUNDS("test_input_required_result_request_state"),
	ROUNDS("test_input_required_result_multiple_inputs"),
	ROUNDS("test_input_required_result_multi_round"),
	ROUNDS("test_input_required_result_tampered_state"),
	ROUNDS("test_input_required_result_capabilities")
};

#define NTOOLS	(sizeof tools / sizeof tools[0])

json_t *
fixture_tool_list(void)
{
	json_t *list = json_array(), *schema;
	size_t i;

	for (i = 0; i < NTOOLS; i++) {
		schema = fixture_json(tools[i].schema != NULL ?
		    tools[i].schema : "{'type': 'object', 'properties': {}, "
		    "'additionalProperties': false}");
		json_array_append_new(list, json_pack("{s:s, s:s, s:o}",
		    "name", tools[i].name, "description", tools[i].about,
		    "inputSchema", schema));
	}
	return list;
}

const struct fixture_tool *
fixture_tool_find(const char *name)
{
	size_t i;

	for (i = 0; i < NTOOLS; i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}

/* As if the client had called run_python with this request. */
static json_t *
run_program(struct request *r, const char *program)
{
	struct request inner = *r;
	json_t *result;

	inner.params = json_pack("{s:s, s:{s:s}}", "name", "run_python",
	    "arguments", "code", program);
	json_object_set(inner.params, "_meta", json_object_get(r->params,
	    "_meta"));
	result = mcp_tools_call(&inner);
	r->error = inner.error;
	json_decref(inner.params);
	return result;
}

json_t *
fixture_tool_call(const struct fixture_tool *t, struct request *r)
{
	if (t->call != NULL)
		return t->call(r);
	if (t->result != NULL)
		return fixture_json(t->result);
	return run_program(r, t->program);
}

static json_t *
call_missing(struct request *r)
{
	if (!fixture_client_has(r, "sampling"))
		return fixture_missing(r, "sampling");
	return result_of_text("It is there.");
}

static json_t *
call_change_tools(struct request *r)
{
	mcp_changed(r->session->mcp, CHANGED_TOOLS, NULL);
	return result_of_text("The tools count as changed.");
}

static json_t *
call_change_prompts(struct request *r)
{
	mcp_changed(r->session->mcp, CHANGED_PROMPTS, NULL);
	return result_of_text("The prompts count as changed.");
}

/* Its program runs on while nobody is there to hear of it. */
static json_t *
call_reconnection(struct request *r)
{
	const struct session *s = r->session;
	json_t *result = run_program(r, "import time\ntime.sleep(0.3)\n"
	    "print('The client came back, or never left.')\n");

	if (result == NULL && r->error == NULL && r->era == ERA_LEGACY &&
	    s->carrier->cut != NULL)
		s->carrier->cut(s->arg);
	return result;
}
