#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "fixture_private.h"
#include "json.h"
#include "mem.h"

#define PIXEL								\
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AA"	\
	"AAMBAQDJ/pLvAAAAAElFTkSuQmCC"

/* What the list methods have more; by method, then member. */
static const char lists[] =
    "{'prompts/list': {'prompts': ["
    "{'name': 'test_simple_prompt', 'description': 'A text.'}, "
    "{'name': 'test_prompt_with_arguments', 'description': 'Two words.', "
    "'arguments': [{'name': 'arg1', 'description': 'The first.', "
    "'required': true}, {'name': 'arg2', 'description': 'The second.', "
    "'required': true}]}, "
    "{'name': 'test_prompt_with_embedded_resource', 'description': "
    "'A resource.', 'arguments': [{'name': 'resourceUri', 'description': "
    "'Its name.', 'required': true}]}, "
    "{'name': 'test_prompt_with_image', 'description': 'A picture.'}, "
    "{'name': 'test_input_required_result_prompt', 'description': "
    "'Asks for more.'}]}, "
    "'resources/list': {'resources': ["
    "{'uri': 'test://static-text', 'name': 'static-text', 'description': "
    "'A text.', 'mimeType': 'text/plain'}, "
    "{'uri': 'test://static-binary', 'name': 'static-binary', "
    "'description': 'A picture.', 'mimeType': 'image/png'}, "
    "{'uri': 'test://watched-resource', 'name': 'watched-resource', "
    "'description': 'To be watched.', 'mimeType': 'text/plain'}]}, "
    "'resources/templates/list': {'resourceTemplates': ["
    "{'uriTemplate': 'test://template/{id}/data', 'name': 'template', "
    "'description': 'Data of an id.', 'mimeType': 'application/json'}]}}";

void
fixture_data_list(const char *method, json_t *result)
{
	json_t *all = fixture_json(lists), *more;
	const char *member;

	json_object_foreach(json_object_get(all, method), member, more)
		json_array_extend(json_object_get(result, member), more);
	json_decref(all);
}

static const char *
argument(const struct request *r, const char *name)
{
	return json_string_value(json_object_get(json_object_get(r->params,
	    "arguments"), name));
}

/* A message of a prompt; takes content over. */
static json_t *
says(json_t *content)
{
	return json_pack("{s:s, s:o}", "role", "user", "content", content);
}

static json_t *
text_block(json_t *text)
{
	return json_pack("{s:s, s:o}", "type", "text", "text", text);
}

static json_t *
with_arguments(struct request *r)
{
	const char *one = argument(r, "arg1"), *two = argument(r, "arg2");

	if (one == NULL || two == NULL)
		return mcp_fail(r, RPC_INVALID_PARAMS, NULL,
		    "The prompt needs the arguments arg1 and arg2.");
	return json_pack("{s:[o]}", "messages", says(text_block(json_textf(
	    "Prompt with arguments: arg1='%s', arg2='%s'", one, two))));
}

static json_t *
with_resource(struct request *r)
{
	const char *uri = argument(r, "resourceUri");

	if (uri == NULL)
		return mcp_fail(r, RPC_INVALID_PARAMS, NULL,
		    "The prompt needs the argument resourceUri.");
	return json_pack("{s:[o, o]}", "messages", says(json_pack(
	    "{s:s, s:{s:s, s:s, s:s}}", "type", "resource", "resource",
	    "uri", uri, "mimeType", "text/plain", "text",
	    "Embedded resource content for testing.")), says(text_block(
	    json_string("Please process the embedded resource above."))));
}

json_t *
fixture_prompt(struct request *r, int *known)
{
	const char *name = json_string_value(json_object_get(r->params,
	    "name"));
	json_t *simple = json_pack("{s:[o]}", "messages", says(text_block(
	    json_string("This is a simple prompt for testing."))));

	if (name != NULL && strcmp(name, "test_simple_prompt") == 0)
		return simple;
	if (name != NULL && r->era == ERA_MODERN &&
	    strcmp(name, "test_input_required_result_prompt") == 0)
		return fixture_rounds(r, simple);
	json_decref(simple);
	if (name != NULL && strcmp(name, "test_prompt_with_arguments") == 0)
		return with_arguments(r);
	if (name != NULL &&
	    strcmp(name, "test_prompt_with_embedded_resource") == 0)
		return with_resource(r);
	if (name != NULL && strcmp(name, "test_prompt_with_image") == 0)
		return fixture_json("{'messages': [{'role': 'user', "
		    "'content': {'type': 'image', 'data': '" PIXEL "', "
		    "'mimeType': 'image/png'}}, {'role': 'user', 'content': "
		    "{'type': 'text', 'text': "
		    "'Please analyze the image above.'}}]}");
	*known = 0;
	return NULL;
}

/* NULL if the uri is not of the template; the caller frees. */
static char *
template_id(const char *uri)
{
	static const char start[] = "test://template/", end[] = "/data";
	size_t len = strlen(uri);

	if (len <= sizeof start + sizeof end - 2 ||
	    strncmp(uri, start, sizeof start - 1) != 0 ||
	    strcmp(uri + len - (sizeof end - 1), end) != 0)
		return NULL;
	return xmemdupz(uri + sizeof start - 1, len - sizeof start -
	    sizeof end + 2);
}

static json_t *
read_template(const char *uri, const char *id)
{
	json_t *data = json_pack("{s:s, s:b, s:o}", "id", id, "templateTest",
	    1, "data", json_textf("Data for ID: %s", id));
	char *text = json_dumps(data, JSON_COMPACT);
	json_t *result = json_pack("{s:[{s:s, s:s, s:s}]}", "contents",
	    "uri", uri, "mimeType", "application/json", "text", text);

	free(text);
	json_decref(data);
	return result;
}

json_t *
fixture_read(struct request *r, int *known)
{
	const char *uri = json_string_value(json_object_get(r->params,
	    "uri"));
	json_t *result;
	char *id;

	if (uri != NULL && strcmp(uri, "test://static-binary") == 0)
		return fixture_json("{'contents': [{'uri': "
		    "'test://static-binary', 'mimeType': 'image/png', "
		    "'blob': '" PIXEL "'}]}");
	if (uri != NULL && (strcmp(uri, "test://static-text") == 0 ||
	    strcmp(uri, "test://watched-resource") == 0))
		return json_pack("{s:[{s:s, s:s, s:s}]}", "contents", "uri",
		    uri, "mimeType", "text/plain", "text",
		    "This is the content of the static text resource.");
	id = uri == NULL ? NULL : template_id(uri);
	if (id == NULL) {
		*known = 0;
		return NULL;
	}
	result = read_template(uri, id);
	free(id);
	return result;
}

/* It never changes. */
json_t *
fixture_watch(struct request *r, int *known)
{
	const char *uri = json_string_value(json_object_get(r->params,
	    "uri"));

	if (uri != NULL && strcmp(uri, "test://watched-resource") == 0)
		return json_object();
	*known = 0;
	return NULL;
}

json_t *
fixture_complete(struct request *r, int *known)
{
	static const char *const words[] = { "paris", "park", "party" };
	const char *name = json_string_value(json_object_get(json_object_get(
	    r->params, "ref"), "name"));
	const char *start = json_string_value(json_object_get(
	    json_object_get(r->params, "argument"), "value"));
	json_t *values;
	size_t i, n = sizeof words / sizeof words[0];

	if (name == NULL || start == NULL ||
	    strcmp(name, "test_prompt_with_arguments") != 0) {
		*known = 0;
		return NULL;
	}
	values = json_array();
	for (i = 0; i < n; i++)
		if (strncmp(words[i], start, strlen(start)) == 0)
			json_array_append_new(values, json_string(words[i]));
	return json_pack("{s:{s:i, s:b, s:o}}", "completion", "total",
	    (int)json_array_size(values), "hasMore", 0, "values", values);
}
