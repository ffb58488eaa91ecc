/* JSON-RPC: every kind of message, and every way in which one is wrong. */
#include "config.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "json_repair.h"
#include "jsonrpc.h"
#include "mem.h"
#include "unit.h"

/* What session_receive() would do with one line: "request", "notification",
 * "response", or the code of the error, and the id as it is written. */
static void
judge(const char *line, size_t len, char *out, size_t size)
{
	static const char *const kinds[] = { "request", "notification",
	    "response", "-32600" };
	struct rpc_message m = { .kind = RPC_INVALID };
	struct rpc_fault fault;
	json_t *value = rpc_parse(line, len, &fault), *id;
	char *text;
	size_t n;

	if (value == NULL) {
		assert_true(strlen(fault.why) > 0);
		snprintf(out, size, "%d", fault.code);
		id = fault.id;
	} else {
		rpc_classify(value, &m);
		assert_true((m.kind == RPC_INVALID) == (m.why != NULL));
		snprintf(out, size, "%s", kinds[m.kind]);
		id = m.id;
	}
	if (id != NULL) {
		text = json_line(id, &n);
		snprintf(out + strlen(out), size - strlen(out), " %s", text);
		free(text);
	}
	json_decref(fault.id);
	json_decref(value);
}

static void
test_lines(void **state)
{
	static const struct {
		const char	*line;
		const char	*want;
	} cases[] = {
#define R "{\"jsonrpc\":\"2.0\","
	{ R "\"id\":1,\"method\":\"ping\"}", "request 1" },
	{ R "\"id\":\"1\",\"method\":\"ping\"}", "request \"1\"" },
	{ R "\"id\":\"\",\"method\":\"ping\"}", "request \"\"" },
	{ R "\"id\":-7,\"method\":\"ping\"}", "request -7" },
	{ R "\"id\":9223372036854775807,\"method\":\"a\"}",
	    "request 9223372036854775807" },
	{ R "\"id\":\"\\u00e9\\u0000\",\"method\":\"a\"}",
	    "request \"\\u00E9\\u0000\"" },
	{ R "\"id\":1,\"method\":\"a\",\"params\":null}", "request 1" },
	{ R "\"id\":1,\"method\":\"a\",\"params\":{}}", "request 1" },
	{ R "\"id\":1,\"method\":\"a\",\"x\":[1]}", "request 1" },
	{ " \t{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"} ",
	    "request 1" },
	{ R "\"method\":\"notifications/initialized\"}", "notification" },
	{ R "\"method\":\"unknown\"}", "notification" },
	{ R "\"method\":\"a\",\"params\":[]}", "notification" },
	{ "{\"method\":\"notifications/x\",\"id\":null}", "notification" },
	{ R "\"id\":3,\"method\":\"notifications/x\"}", "notification 3" },
	{ R "\"id\":1,\"result\":{}}", "response 1" },
	{ R "\"id\":1,\"error\":{}}", "response 1" },
	/* Valid JSON, but no request. */
	{ "1", "-32600" }, { "\"x\"", "-32600" }, { "null", "-32600" },
	{ "true", "-32600" }, { "1.5", "-32600" }, { "{}", "-32600" },
	{ R "\"id\":1}", "-32600 1" },
	{ R "\"id\":1,\"method\":7}", "-32600 1" },
	{ R "\"id\":1,\"method\":null}", "-32600 1" },
	{ R "\"id\":\"x\",\"method\":[]}", "-32600 \"x\"" },
	{ "{\"id\":1,\"method\":\"a\"}", "-32600 1" },
	{ "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"a\"}", "-32600 1" },
	{ "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"a\"}", "-32600 1" },
	{ R "\"id\":null,\"method\":\"a\"}", "-32600" },
	{ R "\"id\":1.5,\"method\":\"a\"}", "-32600" },
	{ R "\"id\":1e2,\"method\":\"a\"}", "-32600" },
	{ R "\"id\":true,\"method\":\"a\"}", "-32600" },
	{ R "\"id\":[1],\"method\":\"a\"}", "-32600" },
	{ R "\"id\":{},\"method\":\"a\"}", "-32600" },
	{ R "\"id\":1,\"method\":\"a\",\"params\":[]}", "-32600 1" },
	{ R "\"id\":1,\"method\":\"a\",\"params\":\"x\"}", "-32600 1" },
	{ R "\"id\":1,\"method\":\"a\",\"params\":0}", "-32600 1" },
	/* Not JSON. */
	{ "", "-32700" }, { "x", "-32700" }, { "{", "-32700" },
	{ "GET / HTTP/1.1", "-32700" }, { "{\"a\":}", "-32700" },
	{ "[1,2", "-32700" }, { "\xff\xfe", "-32700" },
	{ "{} {}", "-32700" }, { "{'id':1}", "-32700" },
	/* Not JSON, but the id can be read. */
	{ R "\"id\":5,\"method\":\"a\",}", "-32700 5" },
	{ R "\"id\":\"k\",\"method\":\"\xff\"}", "-32700 \"k\"" },
	{ R "\"id\":5,\"params\":{\"id\":6},\"method\":\"a\"",
	    "-32700 5" },
	{ R "\"params\":{\"id\":6,},\"id\":5}", "-32700 5" },
	{ R "\"params\":{\"id\":6,}}", "-32700" },
	{ R "\"params\":{\"a\":\"\\\"id\\\":7\",}}", "-32700" },
	{ R "\"id\":5,\"method\":\"\x01\"}", "-32700 5" },
	{ R "\"id\":5,\"a\":\"\\q\"}", "-32700 5" },
	{ R "\"id\":null,}", "-32700" }, { R "\"id\":1.5,}", "-32700" },
	{ R "\"id\" : \"a\\\"b\" ,}", "-32700 \"a\\\"b\"" },
	{ R "\"id\":5,\"\\u0000\":1}", "-32700 5" },
	{ "[{\"id\":1,}]", "-32700" },
	/* JSON that jansson refuses, made good. */
	{ R "\"id\":1,\"method\":\"a\",\"params\":{\"x\":\"\\ud800\"}}",
	    "request 1" },
	{ R "\"id\":1,\"method\":\"a\",\"params\":"
	    "{\"x\":123456789012345678901234567890}}", "request 1" },
	{ R "\"id\":1,\"method\":\"a\",\"params\":{\"x\":1e999}}",
	    "request 1" },
	/* An id that no 64-bit integer holds cannot be given back. */
	{ R "\"id\":99999999999999999999,\"method\":\"a\"}", "-32600" }
#undef R
	};
	char got[128];
	size_t i;

	for (i = 0; i < NITEMS(cases); i++) {
		/* A copy of just that size, for the sanitizer. */
		char *copy = xmemdupz(cases[i].line, strlen(cases[i].line));

		judge(copy, strlen(copy), got, sizeof got);
		if (strcmp(got, cases[i].want) != 0)
			fail_msg("%s: %s, not %s", cases[i].line, got,
			    cases[i].want);
		free(copy);
	}
}

static void
test_nul_bytes(void **state)
{
	static const char escaped[] = "{\"jsonrpc\":\"2.0\",\"id\":1,"
	    "\"method\":\"a\",\"params\":{\"c\":\"x\\u0000y\"}}";
	static const char raw[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"a\":\"\0\"}";
	struct rpc_fault fault;
	json_t *value = rpc_parse(escaped, sizeof escaped - 1, &fault), *c;
	char got[64];

	assert_non_null(value);
	c = json_object_get(json_object_get(value, "params"), "c");
	assert_int_equal(json_string_length(c), 3);
	assert_memory_equal(json_string_value(c), "x\0y", 3);
	json_decref(value);
	judge(raw, sizeof raw - 1, got, sizeof got);
	assert_string_equal(got, "-32700 1");
}

static char *
nested(size_t depth, size_t *len)
{
	static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":8,"
	    "\"method\":\"a\",\"params\":{\"x\":";
	char *s = xmalloc(sizeof head + 2 * depth + 2);

	*len = sizeof head - 1;
	memcpy(s, head, *len);
	memset(s + *len, '[', depth);
	memset(s + *len + depth, ']', depth);
	*len += 2 * depth;
	memcpy(s + *len, "}}", 2);
	*len += 2;
	return s;
}

static void
test_depth(void **state)
{
	static const struct {
		size_t		 depth;
		const char	*want;
	} cases[] = {
		{ 2000, "request 8" }, { 3000, "-32600 8" },
		{ 1000000, "-32600 8" }
	};
	char got[64], *s;
	size_t i, len;

	for (i = 0; i < NITEMS(cases); i++) {
		s = nested(cases[i].depth, &len);
		judge(s, len, got, sizeof got);
		assert_string_equal(got, cases[i].want);
		free(s);
	}
}

static void
test_repair(void **state)
{
	static const struct {
		const char	*in;
		const char	*want;	/* NULL if nothing is to change */
	} cases[] = {
		{ "\"\\ud800\"", "\"\\ufffd\"" },
		{ "\"\\udc00x\"", "\"\\ufffdx\"" },
		{ "\"\\uD83D\\uDE00\"", NULL },
		{ "\"\\ud83d\\ud83d\\ude00\"",
		    "\"\\ufffd\\ud83d\\ude00\"" },
		{ "\"\\ude00\\ud83d\"", "\"\\ufffd\\ufffd\"" },
		{ "\"\\\\ud800\"", NULL },	/* a backslash, then text */
		{ "\"\\ud8\"", NULL }, { "\"\\u\"", NULL }, { "\"\\", NULL },
		{ "\"\\ud800", "\"\\ufffd" },
		{ "9223372036854775807", NULL },
		{ "-9223372036854775808", NULL },
		{ "9223372036854775808", "9223372036854775808.0" },
		{ "-9223372036854775809", "-9223372036854775809.0" },
		{ "1e308", NULL }, { "1e-999", NULL }, { "0.1", NULL },
		{ "1e309", "1.7976931348623157e308" },
		{ "-1E+999", "-1.7976931348623157e308" },
		{ "[\"99999999999999999999\"]", NULL },
		{ "[1,99999999999999999999]", "[1,99999999999999999999.0]" },
		{ "-", NULL }, { "--1", NULL }, { "", NULL }, { "[}", NULL }
	};
	struct json_repair r;
	size_t i;

	for (i = 0; i < NITEMS(cases); i++) {
		const char *want = cases[i].want;
		char *copy = xmemdupz(cases[i].in, strlen(cases[i].in));

		json_repair(copy, strlen(copy), &r);
		if (r.changed != (want != NULL) || r.len != strlen(
		    want == NULL ? copy : want) || memcmp(r.text,
		    want == NULL ? copy : want, r.len) != 0)
			fail_msg("%s became %.*s", copy, (int)r.len, r.text);
		free(r.text);
		free(copy);
	}
}

static void
test_repaired_values(void **state)
{
	static const char line[] = "{\"s\":\"a\\ud800b\",\"i\":1"
	    "00000000000000000000,\"r\":-1e400}";
	struct rpc_fault fault;
	json_t *v = rpc_parse(line, sizeof line - 1, &fault);

	assert_non_null(v);
	assert_string_equal(json_string_value(json_object_get(v, "s")),
	    "a\xef\xbf\xbd" "b");
	assert_true(json_real_value(json_object_get(v, "i")) == 1e20);
	assert_true(json_real_value(json_object_get(v, "r")) == -DBL_MAX);
	json_decref(v);
}

static void
test_random_lines(void **state)
{
	static const char words[] = "{}[]:,\"\\ud80id19e.-+ \xc3\xa9\xff\0";
	uint32_t seed = 6;
	char line[64], got[512], *copy;
	size_t i, n, len;

	for (i = 0; i < 50000; i++) {
		len = unit_random(&seed) % sizeof line;
		for (n = 0; n < len; n++)
			line[n] = words[unit_random(&seed) % sizeof words];
		copy = xmemdupz(line, len);
		judge(copy, len, got, sizeof got);
		free(copy);
	}
}

static void
expect(json_t *message, const char *want)
{
	size_t len;
	char *line = json_line(message, &len);

	assert_string_equal(line, want);
	assert_int_equal(len, strlen(want));
	free(line);
	json_decref(message);
}

static void
test_building(void **state)
{
	json_t *id = json_string("a");

	expect(rpc_result(id, json_object()),
	    "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}");
	expect(rpc_error(id, RPC_INVALID_PARAMS, "no", json_pack("{s:i}",
	    "x", 1)), "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{"
	    "\"code\":-32602,\"message\":\"no\",\"data\":{\"x\":1}}}");
	/* No id is no member, not null; bad text is made good. */
	expect(rpc_error(NULL, RPC_PARSE_ERROR, "\xff", NULL),
	    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,"
	    "\"message\":\"\\uFFFD\"}}");
	expect(rpc_notification("n", NULL),
	    "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}");
	/* One line of ASCII, whatever is in it. */
	expect(rpc_notification("n", json_pack("{s:s, s:f}", "a",
	    "\xe2\x80\xa8\n\xf0\x9f\x98\x80", "b", 0.1)),
	    "{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"a\":"
	    "\"\\u2028\\n\\uD83D\\uDE00\",\"b\":0.1}}");
	json_decref(id);
}

/* The cost of a text is what its line takes; its ends cost no more. */
static void
test_text_cost(void **state)
{
	static const char text[] = "a\"\\\n\x01\x7f\xc3\xa9\xe2\x82\xac"
	    "\xf0\x9f\x98\x80z";
	json_t *value = json_text(text, sizeof text - 1);
	size_t len, i, n;
	char *line = json_line(value, &len);

	assert_int_equal(json_text_cost(text, sizeof text - 1), len - 2);
	for (i = 0; i <= len; i++) {
		n = json_text_prefix(text, sizeof text - 1, i);
		assert_true(json_text_cost(text, n) <= i);
		json_decref(value);
		assert_non_null(value = json_stringn(text, n));
		n = json_text_suffix(text, sizeof text - 1, i);
		assert_true(json_text_cost(text + sizeof text - 1 - n, n) <=
		    i);
		json_decref(value);
		assert_non_null(value = json_stringn(text + sizeof text - 1 -
		    n, n));
	}
	assert_int_equal(json_text_prefix(text, sizeof text - 1, len),
	    sizeof text - 1);
	assert_int_equal(json_text_suffix(text, sizeof text - 1, len),
	    sizeof text - 1);
	json_decref(value);
	free(line);
}

static int
init(void **state)
{
	json_init();
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_nul_bytes),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_repair),
		cmocka_unit_test(test_repaired_values),
		cmocka_unit_test(test_random_lines),
		cmocka_unit_test(test_building),
		cmocka_unit_test(test_text_cost),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
