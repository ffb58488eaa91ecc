/* Tools: what clients see of them, and what becomes of what clients send. */
#include "config.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "dispatcher.h"
#include "fake_dispatcher.h"
#include "job_input.h"
#include "json.h"
#include "mem.h"
#include "run_store.h"
#include "tool.h"
#include "unit.h"

static struct conf *conf;
static struct dispatcher *dispatcher;

struct outcome {
	enum tool_outcome	 outcome;
	int			 is_error;
	char			 text[512];	/* of the answer, or the note */
	struct job_spec		 spec;
};

static void
take_text(struct outcome *o, const json_t *result)
{
	const char *s = json_string_value(json_object_get(json_array_get(
	    json_object_get(result, "content"), 0), "text"));

	o->is_error = json_is_true(json_object_get(result, "isError"));
	snprintf(o->text, sizeof o->text, "%s", s == NULL ? "" : s);
}

/* As tools/call does it. */
static void
call(const char *name, const char *args_text, struct outcome *o)
{
	const struct tool *tool = tool_find(conf, name);
	json_t *args = json_loads(args_text, 0, NULL), *checked;
	struct tool_call c = { .conf = conf, .dispatcher = dispatcher };
	char *why;

	memset(o, 0, sizeof *o);
	assert_non_null(tool);
	checked = tool_check(tool, args, &why);
	json_decref(args);
	if (checked == NULL) {
		o->outcome = TOOL_ANSWER;
		o->is_error = 1;
		snprintf(o->text, sizeof o->text, "%s", why);
		free(why);
		return;
	}
	c.args = checked;
	o->outcome = tool->call(&c);
	if (c.result != NULL)
		take_text(o, c.result);
	else if (c.note != NULL)
		snprintf(o->text, sizeof o->text, "%s", c.note);
	o->spec = c.spec;
	json_decref(c.result);
	json_decref(checked);
	free(c.note);
}

static void
drop(struct outcome *o)
{
	free(o->spec.code);
	free(o->spec.stdin_data);
	free(o->spec.packages);
	job_inputs_free(o->spec.inputs, o->spec.ninputs);
}

static void
test_run_arguments(void **state)
{
	static const struct {
		const char	*args;
		uint64_t	 timeout_ms;	/* 0: a tool error */
		const char	*part;		/* of error or note */
	} cases[] = {
	{ "{\"code\":\"1\"}", 5000, "" },
	{ "{\"code\":\"1\",\"timeout\":null,\"stdin\":null}", 5000, "" },
	{ "{\"code\":\"1\",\"timeout\":2}", 2000, "" },
	{ "{\"code\":\"1\",\"timeout\":0.25}", 250, "" },
	{ "{\"code\":\"1\",\"timeout\":0.0001}", 1, "" },
	{ "{\"code\":\"1\",\"timeout\":60}", 60000, "" },
	{ "{\"code\":\"1\",\"timeout\":\"5\"}", 5000, "" },
	{ "{\"code\":\"1\",\"timeout\":\" 2.5 \"}", 2500, "" },
	{ "{\"code\":\"1\",\"timeout\":\"1e1\"}", 10000, "" },
	{ "{\"code\":\"1\",\"timeout\":\"null\"}", 5000, "" },
	{ "{\"code\":\"1\",\"timeout\":\"\"}", 5000, "" },
	{ "{\"code\":\"1\",\"timeout\":\"\",\"stdin\":\"\",\"files\":\"\","
	    "\"session_id\":\"\",\"dependencies\":\"\",\"policy\":\"\"}", 5000,
	    "" },
	{ "{\"code\":\"1\",\"files\":\"null\",\"dependencies\":\" \"}", 5000,
	    "" },
	{ "{\"code\":\"1\",\"policy\":\" \"}", 0, "must be isolated or" },
	{ "{\"code\":\"1\",\"timeout\":300}", 60000,
	    "The timeout of 300 s was lowered to 60 s" },
	{ "{\"code\":\"1\",\"timeout\":30000}", 60000, "lowered" },
	{ "{\"code\":\"1\",\"timeout\":86400}", 60000, "lowered" },
	{ "{\"code\":\"1\",\"timeout\":0}", 0,
	    "above 0 and up to 86400, not 0;" },
	{ "{\"code\":\"1\",\"timeout\":-3}", 0, "not -3; the most" },
	{ "{\"code\":\"1\",\"timeout\":-0.0}", 0, "above 0" },
	{ "{\"code\":\"1\",\"timeout\":1e20}", 0, "not 1e+20" },
	{ "{\"code\":\"1\",\"timeout\":86401}", 0, "not 86401" },
	{ "{\"code\":\"1\",\"timeout\":\"nan\"}", 0,
	    "must be a number, not a string: \"nan\"" },
	{ "{\"code\":\"1\",\"timeout\":\"inf\"}", 0, "must be a number" },
	{ "{\"code\":\"1\",\"timeout\":\"0x10\"}", 0, "must be a number" },
	{ "{\"code\":\"1\",\"timeout\":\"5s\"}", 0, "must be a number" },
	{ "{\"code\":\"1\",\"timeout\":\"5 5\"}", 0, "must be a number" },
	{ "{\"code\":\"1\",\"timeout\":true}", 0, "not a boolean" },
	{ "{\"code\":\"1\",\"timeout\":[5]}", 0, "not an array" },
	{ "{\"code\":\"\"}", 0, "code is empty" },
	{ "{\"code\":\" \\n\\t\"}", 0, "code is empty" },
	{ "{\"code\":null}", 0, "code is missing" },
	{ "{}", 0, "code is missing" },
	{ "{\"code\":5}", 0, "code must be a string, not a number" },
	{ "{\"code\":[\"1\"]}", 0, "not an array" },
	{ "{\"code\":{\"a\":1}}", 0, "not an object" },
	{ "{\"code\":\"1\",\"stdin\":7}", 0, "stdin must be a string" },
	{ "{\"code\":\"1\",\"image\":\"x\"}", 0,
	    "no argument \"image\"; it takes: code, timeout, stdin, "
	    "files, session_id, dependencies, policy." },
	{ "{\"code\":\"1\",\"policy\":\"restricted\"}", 5000, "" },
	{ "{\"code\":\"1\",\"policy\":\"isolated\"}", 5000, "" },
	{ "{\"code\":\"1\",\"policy\":\"none\"}", 0,
	    "must be isolated or restricted, not \"none\"." },
	{ "{\"Code\":\"1\"}", 0, "no argument \"Code\"" },
	{ "{\"code\":\"1\",\"language\":null}", 5000, "" }
	};
	struct outcome o;
	size_t i;

	for (i = 0; i < NITEMS(cases); i++) {
		call("run_python", cases[i].args, &o);
		if (o.outcome != (cases[i].timeout_ms == 0 ? TOOL_ANSWER :
		    TOOL_JOB) || o.spec.limits.timeout_ms !=
		    cases[i].timeout_ms ||
		    o.is_error != (cases[i].timeout_ms == 0) ||
		    strstr(o.text, cases[i].part) == NULL ||
		    (cases[i].part[0] == '\0' && o.text[0] != '\0'))
			fail_msg("%s: %llu ms, \"%s\"", cases[i].args,
			    (unsigned long long)o.spec.limits.timeout_ms,
			    o.text);
		drop(&o);
	}
}

static void
test_run_spec(void **state)
{
	struct outcome o;

	call("run_python", "{\"code\":\"print(1)\",\"stdin\":\"a\\nb\","
	    "\"timeout\":3}", &o);
	assert_int_equal(o.outcome, TOOL_JOB);
	assert_string_equal(o.spec.code, "print(1)");
	assert_int_equal(o.spec.code_len, 8);
	assert_string_equal(o.spec.stdin_data, "a\nb");
	assert_int_equal(o.spec.stdin_len, 3);
	assert_int_equal(o.spec.limits.cpu_ms, 5000);
	assert_int_equal(o.spec.limits.memory, conf->limits_memory);
	assert_int_equal(o.spec.limits.output, conf->limits_output);
	assert_int_equal(o.spec.limits.scratch, conf->limits_scratch);
	assert_int_equal(o.spec.limits.files, conf->limits_files);
	assert_int_equal(o.spec.limits.pids, conf->limits_pids);
	assert_int_equal(o.spec.limits.fds, conf->limits_fds);
	assert_int_equal(o.spec.policy, POLICY_ISOLATED);
	drop(&o);
	call("run_python", "{\"code\":\"x\"}", &o);
	assert_null(o.spec.stdin_data);
	drop(&o);
}

static void
test_code_length(void **state)
{
	size_t len = conf->limits_code + 1;
	char *code = xmalloc(len + 1), *args;
	struct outcome o;

	memset(code, '#', len);
	code[len] = '\0';
	xasprintf(&args, "{\"code\":\"%s\"}", code);
	call("run_python", args, &o);
	assert_int_equal(o.outcome, TOOL_ANSWER);
	assert_non_null(strstr(o.text, "4194305 bytes long, more than the "
	    "limit of 4194304 (limits.code)"));
	free(args);
	xasprintf(&args, "{\"code\":\"%s\"}", code + 1);
	call("run_python", args, &o);
	assert_int_equal(o.outcome, TOOL_JOB);
	drop(&o);
	free(args);
	free(code);
}

static void
test_packages(void **state)
{
	static const struct {
		const char	*args;
		const char	*want;
	} cases[] = {
	{ "{}", "Python 3.11.2\nnumpy 2.4.0\nNumExpr 1.0\nscipy 1.17\n" },
	{ "{\"filter\":null}",
	    "Python 3.11.2\nnumpy 2.4.0\nNumExpr 1.0\nscipy 1.17\n" },
	{ "{\"filter\":\"NUM\"}",
	    "Python 3.11.2\nnumpy 2.4.0\nNumExpr 1.0\n" },
	{ "{\"filter\":\"2.4\"}",
	    "Python 3.11.2\nNo package has \"2.4\" in its name.\n" }
	};
	struct outcome o;
	size_t i;

	for (i = 0; i < NITEMS(cases); i++) {
		call("list_packages", cases[i].args, &o);
		assert_int_equal(o.outcome, TOOL_ANSWER);
		assert_int_equal(o.is_error, 0);
		assert_string_equal(o.text, cases[i].want);
	}
	call("list_packages", "{\"filter\":1}", &o);
	assert_int_equal(o.is_error, 1);
	fake_set_ready(dispatcher, 0);
	call("list_packages", "{}", &o);
	assert_int_equal(o.outcome, TOOL_WAIT);
	fake_set_ready(dispatcher, 1);
}

static void
check_schema(const json_t *schema)
{
	const json_t *properties = json_object_get(schema, "properties"), *p;
	const char *name, *type;

	assert_string_equal(json_string_value(json_object_get(schema,
	    "type")), "object");
	assert_true(json_is_object(properties));
	json_object_foreach((json_t *)properties, name, p) {
		type = json_string_value(json_object_get(p, "type"));
		assert_true(strcmp(type, "string") == 0 ||
		    strcmp(type, "number") == 0 ||
		    strcmp(type, "array") == 0);
		assert_true(strlen(json_string_value(json_object_get(p,
		    "description"))) > 0);
		/* Nothing that some client's model refuses. */
		assert_int_equal(json_object_size(p), 2 +
		    (strcmp(type, "array") == 0));
		assert_int_equal(json_object_get(p, "items") != NULL,
		    strcmp(type, "array") == 0);
	}
	assert_null(json_object_get(schema, "$schema"));
	assert_true(json_is_false(json_object_get(schema,
	    "additionalProperties")));
}

static struct conf *
conf_with(const char *override)
{
	const char *overrides[] = { "python.env=system", override, NULL };
	struct conf *c;
	char *why;

	c = conf_load(NULL, overrides, &why);
	assert_non_null(c);
	return c;
}

static void
check_list(const struct conf *c, size_t count)
{
	static const char *const hints[] = { "readOnlyHint",
	    "destructiveHint", "idempotentHint", "openWorldHint" };
	json_t *list = tool_list(c), *t;
	const char *name;
	regex_t re;
	size_t i, n;

	assert_int_equal(regcomp(&re, "^[a-zA-Z0-9_-]{1,30}$",
	    REG_EXTENDED | REG_NOSUB), 0);
	assert_int_equal(json_array_size(list), count);
	json_array_foreach(list, i, t) {
		name = json_string_value(json_object_get(t, "name"));
		assert_int_equal(regexec(&re, name, 0, NULL, 0), 0);
		assert_non_null(tool_find(c, name));
		assert_uint_in_range(json_string_length(json_object_get(t,
		    "description")), 20, 2047);
		assert_true(json_string_length(json_object_get(t,
		    "title")) > 0);
		for (n = 0; n < NITEMS(hints); n++)
			assert_true(json_is_boolean(json_object_get(
			    json_object_get(t, "annotations"), hints[n])));
		check_schema(json_object_get(t, "inputSchema"));
		assert_null(json_object_get(t, "outputSchema"));
	}
	json_decref(list);
	regfree(&re);
	assert_null(tool_find(c, "no_such_tool"));
}

static void
test_list(void **state)
{
	struct conf *compat = conf_with("compat.tools=on");

	check_list(conf, 6);
	check_list(compat, 8);
	assert_null(tool_find(conf, "run_python_ephemeral"));
	assert_null(tool_find(conf, "execute_python_code"));
	conf_unref(&compat);
}

static void
test_compat(void **state)
{
	struct conf *saved = conf;
	struct outcome o;

	conf = conf_with("compat.tools=on");
	call("execute_python_code", "{\"python_code\":\"1+1\"}", &o);
	assert_int_equal(o.outcome, TOOL_JOB);
	drop(&o);
	call("run_python_ephemeral", "{\"code\":\"1\",\"image\":\"x\","
	    "\"dependencies\":\"[]\"}", &o);
	assert_int_equal(o.outcome, TOOL_JOB);
	drop(&o);
	call("run_python_ephemeral", "{\"code\":\"1\","
	    "\"dependencies\":[\"six\"]}", &o);
	assert_int_equal(o.outcome, TOOL_JOB);
	assert_string_equal(o.spec.packages,
	    "{\"requirements\":[\"six\"],\"script\":\"\"}");
	drop(&o);
	call("run_python_ephemeral", "{\"code\":\"1\","
	    "\"dependencies\":[1]}", &o);
	assert_true(o.is_error);
	assert_non_null(strstr(o.text, "must be an array of strings, but "
	    "dependencies[0] is a number."));
	call("execute_python_code", "{\"code\":\"1\"}", &o);
	assert_true(o.is_error);
	conf_unref(&conf);
	conf = saved;
}

/* The first two texts of what read_file answers. */
static void
read_part(struct run_store *store, const char *args_text, char *text,
    char *where)
{
	json_t *args = json_loads(args_text, 0, NULL), *content;
	struct tool_call c = { .conf = conf, .store = store, .args = args };

	assert_int_equal(tool_read_file.call(&c), TOOL_ANSWER);
	content = json_object_get(c.result, "content");
	snprintf(text, 256, "%s", json_string_value(json_object_get(
	    json_array_get(content, 0), "text")));
	snprintf(where, 256, "%s", json_array_size(content) < 2 ? "" :
	    json_string_value(json_object_get(json_array_get(content, 1),
	    "text")));
	json_decref(c.result);
	json_decref(args);
}

#define READ(more)	"{\"uri\":\"adder://run/r/t\"" more "}"

static void
test_read(void **state)
{
	static const struct {
		const char	*args, *text, *where;
	} cases[] = {
		{ READ(""), "ab\xe2\x82\xac" "cd",
		    "[bytes 0 to 7 of 7, the end]" },
		{ READ(",\"limit\":2"), "ab",
		    "[bytes 0 to 2 of 7; to go on: offset 2]" },
		/* No character is cut in two, but one byte at least is read. */
		{ READ(",\"limit\":4"), "ab",
		    "[bytes 0 to 2 of 7; to go on: offset 2]" },
		{ READ(",\"offset\":3"), "cd",
		    "[bytes 5 to 7 of 7, the end]" },
		{ READ(",\"offset\":2,\"limit\":1"), "\xef\xbf\xbd",
		    "[bytes 2 to 3 of 7; to go on: offset 3]" },
		{ READ(",\"offset\":7"), "", "[bytes 7 to 7 of 7, the end]" },
		{ READ(",\"offset\":8"), "The offset 8 lies behind the end, "
		    "which is at 7 bytes.", "" },
		{ READ(",\"offset\":-1"), "The argument offset must be a "
		    "number of bytes from 0 to 1000000000000000, not -1.",
		    "" },
		{ READ(",\"offset\":1e300"), "The argument offset must be a "
		    "number of bytes from 0 to 1000000000000000, not 1e+300.",
		    "" },
		{ READ(",\"limit\":0.5"), "The argument limit must be a number "
		    "of bytes from 1 to 1000000000000000, not 0.5.", "" }
	};
	struct run_store *store = run_store_new();
	char text[256], where[256];
	size_t i;

	run_store_bound(store, 10000, 3600000000ULL);
	run_store_add(store, "r", NULL, "t", "text/plain",
	    xstrdup("ab\xe2\x82\xac" "cd"), 7);
	for (i = 0; i < NITEMS(cases); i++) {
		read_part(store, cases[i].args, text, where);
		assert_string_equal(text, cases[i].text);
		assert_string_equal(where, cases[i].where);
	}
	read_part(store, "{\"uri\":\"adder://run/r/u\"}", text, where);
	assert_non_null(strstr(text, "There is nothing of the URI "
	    "\"adder://run/r/u\""));
	run_store_free(&store);
}

static int
init(void **state)
{
	static const char *const overrides[] = { "python.env=system", NULL };
	char *why;

	json_init();
	conf = conf_load(NULL, overrides, &why);
	dispatcher = dispatcher_new(NULL, conf, &why);
	return conf == NULL ? -1 : 0;
}

static int
end(void **state)
{
	dispatcher_free(&dispatcher);
	conf_unref(&conf);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_arguments),
		cmocka_unit_test(test_run_spec),
		cmocka_unit_test(test_code_length),
		cmocka_unit_test(test_packages),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_compat),
		cmocka_unit_test(test_read),
	};

	return cmocka_run_group_tests(tests, init, end);
}
