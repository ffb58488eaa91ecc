#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "json_repair.h"
#include "jsonrpc.h"
#include "utf8.h"

#define LOAD_FLAGS	(JSON_ALLOW_NUL | JSON_DECODE_ANY)

static json_t *
usable_id(json_t *id)
{
	return json_is_string(id) || json_is_integer(id) ? id : NULL;
}

json_t *
rpc_id_read(const char *text, size_t len)
{
	json_t *id = json_loadb(text, len, LOAD_FLAGS, NULL);

	if (id != NULL && usable_id(id) == NULL) {
		json_decref(id);
		id = NULL;
	}
	return id;
}

static void
explain(struct rpc_fault *fault, const char *text, size_t len,
    const json_error_t *error)
{
	fault->code = RPC_PARSE_ERROR;
	if (json_error_code(error) == json_error_stack_overflow) {
		/* Jansson's own bound, JSON_PARSER_MAX_DEPTH. */
		fault->code = RPC_INVALID_REQUEST;
		snprintf(fault->why, sizeof fault->why,
		    "The message is nested deeper than 2048 levels.");
	} else if (!utf8_valid(text, len)) {
		snprintf(fault->why, sizeof fault->why,
		    "The message is not valid UTF-8.");
	} else {
		snprintf(fault->why, sizeof fault->why,
		    "The message is not valid JSON, at byte %d: %.120s.",
		    error->position, error->text);
	}
}

json_t *
rpc_parse(const char *text, size_t len, struct rpc_fault *fault)
{
	struct json_repair r;
	json_error_t error;
	json_t *value;

	memset(fault, 0, sizeof *fault);
	value = json_loadb(text, len, LOAD_FLAGS, &error);
	if (value != NULL)
		return value;
	json_repair(text, len, &r);
	if (r.changed)
		value = json_loadb(r.text, r.len, LOAD_FLAGS, &error);
	if (value == NULL) {
		explain(fault, text, len, &error);
		fault->id = r.id == NULL ? NULL : rpc_id_read(r.id, r.id_len);
	}
	free(r.text);
	return value;
}

static void
invalid(struct rpc_message *m, const char *why)
{
	m->kind = RPC_INVALID;
	m->why = why;
}

static void
classify_call(const json_t *value, struct rpc_message *m)
{
	json_t *id = json_object_get(value, "id");
	json_t *params = json_member(value, "params");
	const char *version = json_string_value(
	    json_object_get(value, "jsonrpc"));

	/* A message without an id is never answered, right or wrong. */
	if (id == NULL || strncmp(m->method, "notifications/", 14) == 0)
		m->kind = RPC_NOTIFICATION;
	else if (m->id == NULL)
		invalid(m, "The id must be a string or an integer.");
	else if (version == NULL || strcmp(version, "2.0") != 0)
		invalid(m, "The member jsonrpc must be \"2.0\".");
	else if (params != NULL && !json_is_object(params))
		invalid(m, "The member params must be an object.");
	else
		m->kind = RPC_REQUEST;
	m->params = json_is_object(params) ? params : NULL;
}

void
rpc_classify(const json_t *value, struct rpc_message *m)
{
	memset(m, 0, sizeof *m);
	if (!json_is_object(value)) {
		invalid(m, "A message must be a JSON object.");
		return;
	}
	m->id = usable_id(json_object_get(value, "id"));
	m->method = json_string_value(json_object_get(value, "method"));
	if (m->method != NULL)
		classify_call(value, m);
	else if (json_object_get(value, "method") != NULL)
		invalid(m, "The member method must be a string.");
	else if (json_object_get(value, "result") != NULL ||
	    json_object_get(value, "error") != NULL)
		m->kind = RPC_RESPONSE;
	else
		invalid(m, "A request needs the member method.");
}

static json_t *
message(void)
{
	return json_pack("{s:s}", "jsonrpc", "2.0");
}

json_t *
rpc_result(json_t *id, json_t *result)
{
	json_t *m = message();

	json_object_set(m, "id", id);
	json_object_set_new(m, "result", result);
	return m;
}

json_t *
rpc_error(json_t *id, enum rpc_code code, const char *why, json_t *data)
{
	json_t *m = message(), *error = json_object();

	if (id != NULL)
		json_object_set(m, "id", id);
	json_object_set_new(error, "code", json_integer(code));
	json_object_set_new(error, "message", json_text(why, strlen(why)));
	if (data != NULL)
		json_object_set_new(error, "data", data);
	json_object_set_new(m, "error", error);
	return m;
}

json_t *
rpc_notification(const char *method, json_t *params)
{
	json_t *m = message();

	json_object_set_new(m, "method", json_string(method));
	if (params != NULL)
		json_object_set_new(m, "params", params);
	return m;
}
