#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fixture_private.h"
#include "json.h"
#include "result.h"

/*
 * A call that asks its client something, on its own stream, and is answered
 * once that has answered.  What was asked is remembered by the ids of both:
 * the call may be gone when the client's answer comes.
 */
#define ASKED_MAX	64

struct asked {
	const void	*root;		/* whose client; only compared */
	json_t		*call;		/* its id; NULL: unused */
	uint64_t	 number;
	const char	*format;	/* of the tool's text */
};

static struct asked asked[ASKED_MAX];
static uint64_t numbers;

static void
remember(struct call *c, const char *format)
{
	struct asked *a = &asked[++numbers % ASKED_MAX];

	json_decref(a->call);
	a->root = session_root(c->session);
	a->call = json_incref(c->id);
	a->number = numbers;
	a->format = format;
}

static json_t *
ask(struct request *r, const char *capability, const char *method,
    json_t *params, const char *format)
{
	const struct mcp_headers *h = r->session->headers;
	json_t *message;
	struct call *c;

	if (r->era == ERA_MODERN || (h != NULL && !h->streams) ||
	    !fixture_client_has(r, capability)) {
		json_decref(params);
		return result_of_error("This client cannot be asked that.");
	}
	c = call_new(r);
	remember(c, format);
	message = rpc_notification(method, params);
	json_object_set_new(message, "id", json_integer(numbers));
	session_send(c->session, message);
	return NULL;
}

json_t *
fixture_sampling(struct request *r)
{
	const char *prompt = json_string_value(json_object_get(
	    json_object_get(r->params, "arguments"), "prompt"));

	return ask(r, "sampling", "sampling/createMessage", json_pack(
	    "{s:[{s:s, s:{s:s, s:s}}], s:i}", "messages", "role", "user",
	    "content", "type", "text", "text", prompt != NULL ? prompt : "",
	    "maxTokens", 100), "LLM response: %s");
}

static json_t *
elicit(struct request *r, const char *message, const char *schema)
{
	return ask(r, "elicitation", "elicitation/create", json_pack(
	    "{s:s, s:o}", "message", message, "requestedSchema",
	    fixture_json(schema)), "Elicitation completed: %s");
}

json_t *
fixture_elicitation(struct request *r)
{
	const char *message = json_string_value(json_object_get(
	    json_object_get(r->params, "arguments"), "message"));

	return elicit(r, message != NULL ? message : "", "{'type': 'object', "
	    "'properties': {'username': {'type': 'string'}, 'email': "
	    "{'type': 'string'}}, 'required': ['username', 'email']}");
}

json_t *
fixture_defaults(struct request *r)
{
	return elicit(r, "Please look through these.", "{'type': 'object', "
	    "'properties': {"
	    "'name': {'type': 'string', 'default': 'John Doe'}, "
	    "'age': {'type': 'integer', 'default': 30}, "
	    "'score': {'type': 'number', 'default': 95.5}, "
	    "'status': {'type': 'string', 'enum': ['active', 'inactive', "
	    "'pending'], 'default': 'active'}, "
	    "'verified': {'type': 'boolean', 'default': true}}}");
}

json_t *
fixture_enums(struct request *r)
{
	return elicit(r, "Please choose.", "{'type': 'object', 'properties': {"
	    "'untitledSingle': {'type': 'string', 'enum': ['option1', "
	    "'option2', 'option3']}, "
	    "'titledSingle': {'type': 'string', 'oneOf': ["
	    "{'const': 'value1', 'title': 'First Option'}, "
	    "{'const': 'value2', 'title': 'Second Option'}]}, "
	    "'legacyEnum': {'type': 'string', 'enum': ['opt1', 'opt2', "
	    "'opt3'], 'enumNames': ['Option One', 'Option Two', "
	    "'Option Three']}, "
	    "'untitledMulti': {'type': 'array', 'items': {'type': 'string', "
	    "'enum': ['option1', 'option2', 'option3']}}, "
	    "'titledMulti': {'type': 'array', 'items': {'anyOf': ["
	    "{'const': 'value1', 'title': 'First Choice'}, "
	    "{'const': 'value2', 'title': 'Second Choice'}]}}}}");
}

/* Whatever it was asked for, the tool's result shows it. */
static json_t *
result_of(const struct asked *a, const json_t *message)
{
	const json_t *answer = json_object_get(message, "result");
	const char *text = json_string_value(json_object_get(json_object_get(
	    answer, "content"), "text"));
	char *whole = json_dumps(answer != NULL ? answer : json_object_get(
	    message, "error"), JSON_COMPACT | JSON_ENCODE_ANY);
	json_t *line, *result;

	/* A format of ours. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	line = json_textf(a->format, text != NULL ? text :
	    whole != NULL ? whole : "nothing");
#pragma GCC diagnostic pop
	result = result_of_text(json_string_value(line));
	if (answer == NULL)
		json_object_set_new(result, "isError", json_true());
	json_decref(line);
	free(whole);
	return result;
}

void
fixture_answered(struct session *s, const json_t *message)
{
	uint64_t number = json_integer_value(json_object_get(message, "id"));
	struct asked *a = &asked[number % ASKED_MAX];
	struct call *c;

	if (a->call == NULL || a->number != number ||
	    a->root != session_root(s))
		return;
	c = call_find(s, a->call);
	json_decref(a->call);
	a->call = NULL;
	if (c != NULL && c->job == NULL && c->listen == NULL)
		call_answer(c, rpc_result(c->id, era_finish(c->era, 0,
		    result_of(a, message))));
}
