#include "config.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "fixture_private.h"
#include "json.h"
#include "log.h"
#include "result.h"

/*
 * Requests that are answered by what they still need, and repeated with it.
 * A state is a name that cannot be guessed for what we remember: one that is
 * not ours, or of something else, is refused.
 */
#define ROUNDS_MAX	2
#define STATES_MAX	256

#define ELICIT(message, member, type)					\
	"{'method': 'elicitation/create', 'params': {'message': '"	\
	message "', 'requestedSchema': {'type': 'object', "		\
	"'properties': {'" member "': {'type': '" type "'}}, "		\
	"'required': ['" member "']}}}"
#define SAMPLE(text)							\
	"{'method': 'sampling/createMessage', 'params': {'messages': "	\
	"[{'role': 'user', 'content': {'type': 'text', 'text': '" text	\
	"'}}], 'maxTokens': 100}}"
#define ROOTS	"{'method': 'roots/list', 'params': {}}"

static const struct rounds {
	const char	*name;
	int		 has_state;
	const char	*needs[ROUNDS_MAX];	/* by key; NULL: no more */
} all[] = {
	{ "test_streaming_elicitation", 0,
	    { "{'user_name': " ELICIT("What is your name?", "name", "string")
	    "}" } },
	{ "test_input_required_result_elicitation", 0,
	    { "{'user_name': " ELICIT("What is your name?", "name", "string")
	    "}" } },
	{ "test_input_required_result_sampling", 0,
	    { "{'capital_question': " SAMPLE("What is the capital of France?")
	    "}" } },
	{ "test_input_required_result_list_roots", 0,
	    { "{'client_roots': " ROOTS "}" } },
	{ "test_input_required_result_request_state", 1,
	    { "{'confirm': " ELICIT("Please confirm", "ok", "boolean")
	    "}" } },
	{ "test_input_required_result_multiple_inputs", 1,
	    { "{'user_name': " ELICIT("What is your name?", "name", "string")
	    ", 'greeting': " SAMPLE("Generate a greeting")
	    ", 'client_roots': " ROOTS "}" } },
	{ "test_input_required_result_multi_round", 1,
	    { "{'step1': " ELICIT("Step 1: What is your name?", "name",
	    "string") "}",
	    "{'step2': " ELICIT("Step 2: What is your favorite color?",
	    "color", "string") "}" } },
	{ "test_input_required_result_tampered_state", 1,
	    { "{'confirm': " ELICIT("Please confirm", "ok", "boolean")
	    "}" } },
	{ "test_input_required_result_capabilities", 0,
	    { "{'name': " ELICIT("What is your name?", "name", "string")
	    ", 'greeting': " SAMPLE("Generate a greeting") "}" } },
	{ "test_input_required_result_prompt", 0,
	    { "{'user_context': " ELICIT("What context should the prompt use?",
	    "context", "string") "}" } }
};

static struct state {
	char			 token[33];
	const struct rounds	*of;
	size_t			 round;
} states[STATES_MAX];
static size_t nstates;

static const char *
state_new(const struct rounds *of, size_t round)
{
	struct state *s = &states[nstates++ % STATES_MAX];
	unsigned char random[16];
	size_t i;

	if (getrandom(random, sizeof random, 0) != sizeof random)
		fatal("no random bytes");
	for (i = 0; i < sizeof random; i++)
		snprintf(s->token + 2 * i, 3, "%02x", random[i]);
	s->of = of;
	s->round = round;
	return s->token;
}

static const struct state *
state_find(const struct rounds *of, const json_t *token)
{
	const char *text = json_string_value(token);
	size_t i;

	for (i = 0; text != NULL && i < STATES_MAX; i++)
		if (states[i].of == of && strcmp(states[i].token, text) == 0)
			return &states[i];
	return NULL;
}

/* Of what is needed, what this client can be asked for. */
static json_t *
needs_of(const struct request *r, const char *text)
{
	static const struct {
		const char	*method;
		const char	*capability;
	} methods[] = {
		{ "elicitation/create", "elicitation" },
		{ "sampling/createMessage", "sampling" },
		{ "roots/list", "roots" }
	};
	json_t *needs = fixture_json(text), *need;
	const char *key;
	void *next;
	size_t i;

	json_object_foreach_safe(needs, next, key, need)
		for (i = 0; i < sizeof methods / sizeof methods[0]; i++)
			if (strcmp(json_string_value(json_object_get(need,
			    "method")), methods[i].method) == 0 &&
			    !fixture_client_has(r, methods[i].capability)) {
				json_object_del(needs, key);
				break;
			}
	return needs;
}

static int
has_all(const struct request *r, json_t *needs)
{
	const json_t *given = json_object_get(r->params, "inputResponses");
	const char *key;
	json_t *need;

	json_object_foreach(needs, key, need)
		if (!json_is_object(json_object_get(given, key)))
			return 0;
	return 1;
}

/* Takes needs over. */
static json_t *
ask_for(struct request *r, const struct rounds *of, size_t round,
    json_t *needs)
{
	json_t *result;

	if (json_object_size(needs) == 0) {
		json_decref(needs);
		return fixture_missing(r, "elicitation");
	}
	result = json_pack("{s:s, s:o}", "resultType", "input_required",
	    "inputRequests", needs);
	if (of->has_state)
		json_object_set_new(result, "requestState",
		    json_string(state_new(of, round)));
	return result;
}

static const struct rounds *
rounds_find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof all / sizeof all[0]; i++)
		if (strcmp(all[i].name, name) == 0)
			return &all[i];
	fatalx("a fixture has no rounds: %s", name);
}

/* Takes done over. */
json_t *
fixture_rounds(struct request *r, json_t *done)
{
	const struct rounds *of = rounds_find(json_string_value(
	    json_object_get(r->params, "name")));
	const json_t *token = json_object_get(r->params, "requestState");
	const struct state *state = NULL;
	json_t *needs;
	size_t round;

	if (of->has_state && token != NULL &&
	    (state = state_find(of, token)) == NULL) {
		json_decref(done);
		return mcp_fail(r, RPC_INVALID_PARAMS, NULL, "The "
		    "requestState is none of this server's.");
	}
	for (round = state != NULL ? state->round : 0; round < ROUNDS_MAX &&
	    of->needs[round] != NULL; round++) {
		needs = needs_of(r, of->needs[round]);
		if (json_object_size(needs) == 0 || !has_all(r, needs) ||
		    (of->has_state && state == NULL)) {
			json_decref(done);
			return ask_for(r, of, round, needs);
		}
		json_decref(needs);
	}
	return done;
}

json_t *
fixture_round_tool(struct request *r)
{
	if (r->era != ERA_MODERN)
		return result_of_error("This is for clients of 2026-07-28.");
	return fixture_rounds(r, result_of_text("That is all: state-ok."));
}
