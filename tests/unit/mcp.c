/* The protocol, from lines in to lines out, on a dispatcher without
 * processes. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <event2/event.h>

#include "clock.h"
#include "conf.h"
#include "dispatcher.h"
#include "fake_dispatcher.h"
#include "json.h"
#include "mcp.h"
#include "mem.h"
#include "rpc_id_scan.h"
#include "unit.h"

/* Far beyond what any case takes: a loop that never ends fails. */
#define GUARD_SECONDS	30
#define SENT_MAX	4096

/* A peer, and what it was sent since it was last looked at. */
struct peer {
	struct event_base	*base;
	struct conf		*conf;
	struct dispatcher	*d;
	struct mcp		*mcp;
	struct session		*session;
	char			*sent[SENT_MAX];
	size_t			 nsent;
	unsigned		 settled;
};

static void
carry(void *arg, const char *text, size_t len)
{
	struct peer *p = arg;
	size_t i;

	/* Whatever it is: one line of ASCII, and no member is null. */
	for (i = 0; i < len; i++)
		assert_uint_in_range(text[i], 0x20, 0x7e);
	assert_null(strstr(text, ":null"));
	assert_true(p->nsent < SENT_MAX);
	p->sent[p->nsent++] = xmemdupz(text, len);
}

static void
settled(void *arg)
{
	struct peer *p = arg;

	p->settled++;
}

static const struct mcp_carrier carrier = { carry, settled, NULL, NULL };

static void
on_guard(evutil_socket_t fd, short what, void *arg)
{
	fprintf(stderr, "the loop did not end in %d s\n", GUARD_SECONDS);
	abort();
}

static struct peer *
begin(const char *override)
{
	static const struct timeval guard = { GUARD_SECONDS, 0 };
	const char *overrides[] = { "python.env=system", override, NULL };
	struct peer *p = xcalloc(1, sizeof *p);
	char *why;

	p->base = event_base_new();
	p->conf = conf_load(NULL, overrides, &why);
	if (p->conf == NULL)
		fail_msg("%s", why);
	p->d = dispatcher_new(p->base, p->conf, &why);
	p->mcp = mcp_new(p->base, p->conf, p->d);
	p->session = session_new(p->mcp, &carrier, p, "peer");
	event_base_once(p->base, -1, EV_TIMEOUT, on_guard, NULL, &guard);
	return p;
}

static void
forget(struct peer *p)
{
	while (p->nsent > 0)
		free(p->sent[--p->nsent]);
}

static void
end(struct peer *p)
{
	forget(p);
	session_free(&p->session);
	assert_int_equal(dispatcher_jobs(p->d), 0);
	mcp_free(&p->mcp);
	dispatcher_free(&p->d);
	conf_unref(&p->conf);
	event_base_free(p->base);
	free(p);
}

static void
say(struct peer *p, const char *line)
{
	session_receive(p->session, line, strlen(line));
}

/* Runs the loop until no request waits for its answer. */
static void
settle(struct peer *p)
{
	while (session_open(p->session) > 0)
		event_base_loop(p->base, EVLOOP_ONCE);
}

/* All that was sent since the last time, one message a line. */
static const char *
heard(struct peer *p)
{
	static char all[65536];
	size_t i, at = 0;

	all[0] = '\0';
	for (i = 0; i < p->nsent; i++)
		at += snprintf(all + at, sizeof all - at, "%s%s",
		    i == 0 ? "" : "\n", p->sent[i]);
	assert_true(at < sizeof all);
	forget(p);
	return all;
}

static void
expect(struct peer *p, const char *line, const char *want)
{
	const char *got;

	say(p, line);
	settle(p);
	got = heard(p);
	if (strcmp(got, want) != 0)
		fail_msg("%s\ngot  %s\nwant %s", line, got, want);
}

/* The same, but only parts of what comes back. */
static void
expect_part(struct peer *p, const char *line, const char *part)
{
	const char *got;

	say(p, line);
	settle(p);
	got = heard(p);
	if (strstr(got, part) == NULL)
		fail_msg("%s\ngot  %s\nwant %s", line, got, part);
}

#define R		"{\"jsonrpc\":\"2.0\","
#define RESULT(id, x)	R "\"id\":" id ",\"result\":" x "}"
#define CALL(id, params)						\
	R "\"id\":" id ",\"method\":\"tools/call\",\"params\":{" params "}}"
#define CODE(code)							\
	"\"name\":\"run_python\",\"arguments\":{\"code\":\"" code "\"}"
#define RUN(id, code)	CALL(id, CODE(code))
#define RUN_TOKEN(id, code, token)					\
	CALL(id, CODE(code) ",\"_meta\":{\"progressToken\":" token "}")
#define CANCEL(id)							\
	R "\"method\":\"notifications/cancelled\","			\
	"\"params\":{\"requestId\":" id "}}"
#define INIT(version)							\
	R "\"id\":0,\"method\":\"initialize\",\"params\":{"		\
	"\"protocolVersion\":\"" version "\",\"capabilities\":{},"	\
	"\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"
#define PING(id)	R "\"id\":" id ",\"method\":\"ping\"}"

static void
test_negotiation(void **state)
{
	static const struct {
		const char	*asked, *want;
	} cases[] = {
		{ "2024-11-05", "2024-11-05" }, { "2025-03-26", "2025-03-26" },
		{ "2025-06-18", "2025-06-18" }, { "2025-11-25", "2025-11-25" },
		{ "2024-10-07", "2025-11-25" }, { "2026-07-28", "2025-11-25" },
		{ "2099-01-01", "2025-11-25" }, { "garbage", "2025-11-25" },
		{ "", "2025-11-25" }
	};
	struct peer *p = begin(NULL);
	char line[256], want[256];
	json_t *answer;
	size_t i;

	/* On one connection: each initialize negotiates anew. */
	for (i = 0; i < NITEMS(cases); i++) {
		snprintf(line, sizeof line, INIT("%s"), cases[i].asked);
		snprintf(want, sizeof want, R "\"id\":0,\"result\":{"
		    "\"protocolVersion\":\"%s\",\"capabilities\":{"
		    "\"tools\":{\"listChanged\":true},\"logging\":{},"
		    "\"resources\":{\"listChanged\":true,"
		    "\"subscribe\":true},"
		    "\"prompts\":{},\"completions\":{}},\"serverInfo\":{"
		    "\"name\":\"adder\",", cases[i].want);
		expect_part(p, line, want);
	}
	say(p, INIT("2025-11-25"));
	answer = json_loads(heard(p), 0, NULL);
	assert_uint_in_range(json_string_length(json_object_get(json_object_get(
	    answer, "result"), "instructions")), 100, 2047);
	json_decref(answer);
	expect_part(p, R "\"id\":1,\"method\":\"initialize\"}",
	    "\"code\":-32602");
	expect_part(p, R "\"id\":1,\"method\":\"initialize\",\"params\":{"
	    "\"protocolVersion\":20251125}}", "\"code\":-32602");
	end(p);
}

static void
test_methods(void **state)
{
	static const struct {
		const char	*method, *params, *want;
	} cases[] = {
#define OK(x)		"\"id\":\"i\",\"result\":" x
#define ERROR(code)	"\"id\":\"i\",\"error\":{\"code\":" code ","
	{ "ping", "{}", OK("{}") },
	{ "ping", "null", OK("{}") },
	{ "tools/list", "{}", OK("{\"tools\":[{\"name\":\"run_python\"") },
	{ "tools/list", "{\"cursor\":null}", OK("{\"tools\":[{") },
	{ "tools/list", "{\"cursor\":\"x\"}", ERROR("-32602") },
	{ "tools/list", "{\"cursor\":\"\"}", ERROR("-32602") },
	{ "tools/list", "{\"cursor\":1}", ERROR("-32602") },
	{ "resources/list", "{}", OK("{\"resources\":[]}") },
	{ "resources/list", "{\"cursor\":\"x\"}", ERROR("-32602") },
	{ "resources/templates/list", "{}",
	    OK("{\"resourceTemplates\":[{\"uriTemplate\":"
	    "\"adder://run/{run_id}/{+path}\",") },
	{ "prompts/list", "{}", OK("{\"prompts\":[]}") },
	{ "prompts/get", "{\"name\":\"x\"}", ERROR("-32602") },
	{ "prompts/get", "{}", ERROR("-32602") },
	{ "resources/read", "{\"uri\":\"adder://x\"}", ERROR("-32002") },
	{ "resources/read", "{\"uri\":\"adder://x\"}",
	    "\"data\":{\"uri\":\"adder://x\"}" },
	{ "resources/read", "{}", ERROR("-32602") },
	{ "completion/complete", "{\"ref\":{\"type\":\"ref/prompt\","
	    "\"name\":\"x\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}}",
	    OK("{\"completion\":{\"values\":[],\"total\":0,"
	    "\"hasMore\":false}}") },
	{ "completion/complete", "{}", ERROR("-32602") },
	{ "logging/setLevel", "{\"level\":\"debug\"}", OK("{}") },
	{ "logging/setLevel", "{\"level\":\"emergency\"}", OK("{}") },
	{ "logging/setLevel", "{\"level\":\"loud\"}", ERROR("-32602") },
	{ "logging/setLevel", "{\"level\":\"loud\"}",
	    "or emergency, but is \\\"loud\\\".\"" },
	{ "logging/setLevel", "{\"level\":1}", ", but is 1.\"" },
	{ "logging/setLevel", "{}", ", but is missing.\"" },
	{ "adder/status", "{}", "\"python\":\"3.11.2\"" },
	{ "server/discover", "{}", ERROR("-32601") },
	{ "resources/subscribe", "{\"uri\":\"x\"}", ERROR("-32002") },
	{ "resources/subscribe", "{\"uri\":7}", ERROR("-32602") },
	{ "resources/subscribe", "{\"uri\":7.5}", "The parameter uri must be a "
	    "string, but is 7.5.\"" },
	{ "resources/read", "{\"uri\":{}}", "but is an object.\"" },
	{ "resources/unsubscribe", "{\"uri\":\"x\"}", OK("{}") },
	{ "resources/unsubscribe", "{}", ERROR("-32602") },
	{ "subscriptions/listen", "{\"notifications\":{}}",
	    ERROR("-32601") },
	{ "no/such", "{}", ERROR("-32601") },
	{ "", "{}", ERROR("-32601") },
	{ "tools/call", "{}", ERROR("-32602") },
	{ "tools/call", "{\"name\":\"nope\"}", ERROR("-32602") },
	{ "tools/call", "{\"name\":7}", ERROR("-32602") },
	{ "tools/call", "{\"name\":\"run_python\",\"arguments\":[]}",
	    ERROR("-32602") },
	{ "tools/call", "{\"name\":\"run_python\",\"arguments\":\"{}\"}",
	    ERROR("-32602") },
	{ "tools/call", "{\"name\":\"run_python\",\"arguments\":null}",
	    "code is missing" },
	{ "tools/call", "{\"name\":\"run_python\"}", "\"isError\":true" },
	{ "tools/call", "{\"name\":\"list_packages\",\"arguments\":null}",
	    "numpy 2.4.0" },
	{ "tools/call", "{\"name\":\"run_python\",\"arguments\":{"
	    "\"code\":\"out hi\"},\"task\":{\"ttl\":1},\"x\":1}",
	    OK("{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],"
	    "\"isError\":false,\"_meta\":{\"adder/receipt\":{"
	    "\"verdict\":\"ok\",\"exit_code\":0,") },
	{ "tools/call", "{\"name\":\"run_python\",\"arguments\":{"
	    "\"code\":\"raise KeyError\",\"timeout\":900}}",
	    OK("{\"content\":[{\"type\":\"text\",\"text\":\"Traceback\"},"
	    "{\"type\":\"text\",\"text\":\"The program failed.\"},"
	    "{\"type\":\"text\",\"text\":\"The timeout of 900 s was lowered "
	    "to 60 s, the most that this server grants.\"}],"
	    "\"isError\":true,\"_meta\":{\"adder/receipt\":{"
	    "\"verdict\":\"exception\",\"exception\":\"KeyError\",") }
	};
	struct peer *p = begin(NULL);
	char line[512];
	size_t i;

	/* Before any initialize, too. */
	for (i = 0; i < NITEMS(cases); i++) {
		snprintf(line, sizeof line, R "\"id\":\"i\",\"method\":\"%s\","
		    "\"params\":%s}", cases[i].method, cases[i].params);
		expect_part(p, line, cases[i].want);
	}
	end(p);
}

static void
test_ids(void **state)
{
	static const char *const ids[] = { "1", "\"1\"", "0", "-5", "\"\"",
	    "9007199254740993", "\"\\u00E9\\n\"" };
	struct peer *p = begin(NULL);
	char line[128], want[128];
	size_t i;

	for (i = 0; i < NITEMS(ids); i++) {
		snprintf(line, sizeof line, PING("%s"), ids[i]);
		snprintf(want, sizeof want, RESULT("%s", "{}"), ids[i]);
		expect(p, line, want);
	}
	end(p);
}

static void
test_never_answered(void **state)
{
	static const char *const lines[] = {
		R "\"method\":\"notifications/initialized\"}",
		R "\"method\":\"notifications/unknown\",\"params\":[1]}",
		R "\"method\":\"notifications/roots/list_changed\"}",
		R "\"method\":\"tools/list\"}",
		R "\"id\":4,\"method\":\"notifications/cancelled\"}",
		CANCEL("99"), CANCEL("null"), CANCEL("{}"),
		R "\"method\":\"notifications/cancelled\"}",
		R "\"method\":\"notifications/cancelled\",\"params\":7}",
		R "\"id\":1,\"result\":{}}",
		R "\"id\":1,\"error\":{\"code\":1,\"message\":\"x\"}}"
	};
	struct peer *p = begin(NULL);
	size_t i;

	for (i = 0; i < NITEMS(lines); i++)
		expect(p, lines[i], "");
	end(p);
}

static void
test_bad_lines(void **state)
{
	static const struct {
		const char	*line, *want;
	} cases[] = {
		{ "nonsense", R "\"error\":{\"code\":-32700," },
		{ "7", R "\"error\":{\"code\":-32600," },
		{ "[]", R "\"error\":{\"code\":-32600," },
		{ "[" PING("1") "]", R "\"error\":{\"code\":-32600," },
		{ R "\"id\":null,\"method\":\"ping\"}",
		    R "\"error\":{\"code\":-32600," },
		{ R "\"id\":3,\"method\":\"ping\",}",
		    R "\"id\":3,\"error\":{\"code\":-32700," },
		{ R "\"id\":\"a\",\"method\":\"ping\",\"params\":7}",
		    R "\"id\":\"a\",\"error\":{\"code\":-32600," }
	};
	struct peer *p = begin(NULL);
	size_t i;

	for (i = 0; i < NITEMS(cases); i++) {
		expect_part(p, cases[i].line, cases[i].want);
		expect(p, PING("1"), RESULT("1", "{}"));
	}
	end(p);
}

static void
test_overlong(void **state)
{
	static const struct {
		const char	*text, *id;
	} cases[] = {
		{ "", "" },
		{ "xxxx\"id\":1", "" },
		{ "[{\"id\":1}", "" },
		{ "{\"id\":1", "" },
		{ "{\"id\":1,", "\"id\":1," },
		{ "{\"id\" : 1 2", "\"id\":1," },
		{ "{\"id\":1.5,", "" },
		{ "{\"id\":null,\"a\":2}", "" },
		{ "{\"id\":{\"id\":3},", "" },
		{ "{\"id\":[3],", "" },
		{ "{\"id\":\"a\\\"}\"", "\"id\":\"a\\\"}\"," },
		{ "{\"a\":\"id\",\"b\":7,", "" },
		{ "{\"a\":{\"id\":5},\"b\":[{\"id\":6}],\"\\\"id\":8,",
		    "" },
		{ "{\"params\":{\"id\":5,\"s\":\"}}]\\\\\"},\"id\":-9}",
		    "\"id\":-9," },
		{ "}]{\"id\":4}", "\"id\":4," }
	};
	struct peer *p = begin(NULL);
	char want[256];
	size_t i, j;

	for (i = 0; i < NITEMS(cases); i++) {
		struct rpc_id_scan scan = { 0 };

		for (j = 0; cases[i].text[j] != '\0'; j++)
			rpc_id_scan(&scan, cases[i].text + j, 1);
		session_overlong(p->session, 70000, 65536, &scan);
		snprintf(want, sizeof want, R "%s\"error\":{\"code\":-32600,"
		    "\"message\":\"The message has 70000 bytes, more than the "
		    "limit of 65536 (message.max)", cases[i].id);
		assert_non_null(strstr(heard(p), want));
	}
	end(p);
}

/* Values that jansson would refuse reach the tool all the same. */
static void
test_odd_arguments(void **state)
{
	struct peer *p = begin(NULL);

	expect_part(p, RUN("1", "out \\ud800x"), "\"text\":\"\\uFFFDx\"");
	expect_part(p, R "\"id\":1,\"method\":\"tools/call\",\"params\":{"
	    "\"name\":\"run_python\",\"arguments\":{\"code\":\"out x\","
	    "\"timeout\":99999999999999999999}}}",
	    "above 0 and up to 86400, not 1e+20; the most");
	expect_part(p, R "\"id\":1,\"method\":\"tools/call\",\"params\":{"
	    "\"name\":\"run_python\",\"arguments\":{\"code\":\"out x\","
	    "\"timeout\":1e999}}}", "not 1.79769313486232e+308;");
	end(p);
}

static void
test_ping_while_running(void **state)
{
	struct peer *p = begin(NULL);

	say(p, RUN("1", "hold"));
	event_base_loop(p->base, EVLOOP_ONCE);
	say(p, PING("2"));
	assert_string_equal(heard(p), RESULT("2", "{}"));
	assert_int_equal(session_open(p->session), 1);
	end(p);
}

static void
test_cancel(void **state)
{
	struct peer *p = begin(NULL);

	say(p, RUN("1", "hold"));
	say(p, RUN("\"1\"", "hold"));
	event_base_loop(p->base, EVLOOP_ONCE);
	/* By type and value, and only those that are there. */
	say(p, CANCEL("\"2\""));
	say(p, CANCEL("2"));
	assert_int_equal(fake_cancelled(p->d), 0);
	say(p, CANCEL("\"1\""));
	assert_int_equal(fake_cancelled(p->d), 1);
	assert_int_equal(session_open(p->session), 1);
	say(p, CANCEL("\"1\""));
	assert_int_equal(fake_cancelled(p->d), 1);
	say(p, CANCEL("1"));
	assert_int_equal(session_open(p->session), 0);
	assert_string_equal(heard(p), "");
	/* Before the loop has started it, and then the id is free again. */
	say(p, RUN("1", "out x"));
	say(p, CANCEL("1"));
	expect_part(p, RUN("1", "out y"), "\"text\":\"y\"");
	assert_int_equal(fake_cancelled(p->d), 3);
	end(p);
}

static void
test_duplicate_id(void **state)
{
	struct peer *p = begin(NULL);

	say(p, RUN("1", "hold"));
	say(p, RUN("1", "out x"));
	assert_non_null(strstr(heard(p), "\"id\":1,\"error\":{"
	    "\"code\":-32600"));
	say(p, PING("1"));
	assert_non_null(strstr(heard(p), "\"id\":1,\"error\":{"
	    "\"code\":-32600"));
	say(p, PING("\"1\""));
	assert_string_equal(heard(p), RESULT("\"1\"", "{}"));
	assert_int_equal(dispatcher_jobs(p->d), 1);
	end(p);
}

static void
test_batch(void **state)
{
	struct peer *p = begin(NULL);
	const char *got;

	say(p, INIT("2025-03-26"));
	forget(p);
	expect(p, "[" PING("1") ",{\"jsonrpc\":\"2.0\","
	    "\"method\":\"notifications/initialized\"}," PING("\"b\"") "]",
	    "[" RESULT("1", "{}") "," RESULT("\"b\"", "{}") "]");
	expect(p, "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]",
	    "");
	/* The answers wait for the slowest; wrong ones are answered, too. */
	say(p, "[" RUN("1", "out slow") ",3,[]," PING("2") "]");
	assert_string_equal(heard(p), "");
	settle(p);
	assert_int_equal(p->nsent, 1);
	got = heard(p);
	assert_int_equal(got[0], '[');
	assert_non_null(strstr(got, "\"id\":1,\"result\""));
	assert_non_null(strstr(got, "\"id\":2,\"result\""));
	assert_non_null(strstr(got, R "\"error\":{\"code\":-32600"));
	/* What is cancelled is left out. */
	say(p, "[" RUN("1", "hold") "," PING("2") "," RUN("3", "hold") "]");
	say(p, CANCEL("1"));
	assert_string_equal(heard(p), "");
	say(p, CANCEL("3"));
	assert_string_equal(heard(p), "[" RESULT("2", "{}") "]");
	say(p, "[" RUN("1", "hold") "]");
	say(p, CANCEL("1"));
	assert_string_equal(heard(p), "");
	expect_part(p, "[" INIT("2025-11-25") "]",
	    "[" R "\"id\":0,\"error\":{\"code\":-32600");
	expect_part(p, "[]", R "\"error\":{\"code\":-32600");
	expect_part(p, "[" RUN("1", "out a") "," RUN("1", "out b") "]",
	    "\"id\":1,\"error\":{\"code\":-32600");
	end(p);
}

static void
test_batch_refused(void **state)
{
	static const char *const versions[] = { "2024-11-05", "2025-06-18",
	    "2025-11-25" };
	struct peer *p = begin(NULL);
	char line[256], *big, *at;
	size_t i;

	for (i = 0; i < NITEMS(versions); i++) {
		snprintf(line, sizeof line, INIT("%s"), versions[i]);
		say(p, line);
		forget(p);
		expect_part(p, "[" PING("1") "]",
		    R "\"error\":{\"code\":-32600,");
	}
	say(p, INIT("2025-03-26"));
	forget(p);
	at = big = xmalloc(4096);
	*at++ = '[';
	for (i = 0; i < 1001; i++)
		at += sprintf(at, "%s1", i == 0 ? "" : ",");
	strcpy(at, "]");
	expect_part(p, big, R "\"error\":{\"code\":-32600,\"message\":\"A "
	    "batch must not have more than 1000 messages.\"");
	free(big);
	end(p);
}

/* The number of each progress notification in turn; checks that it grows and
 * that it has the token as it was given. */
static unsigned
check_progress(struct peer *p, const char *token)
{
	double last = -1, now;
	unsigned count = 0;
	char want[64];
	const char *at;
	size_t i;

	snprintf(want, sizeof want, "\"progressToken\":%s,", token);
	for (i = 0; i < p->nsent; i++) {
		if (strstr(p->sent[i], "notifications/progress") == NULL)
			continue;
		assert_non_null(strstr(p->sent[i], want));
		at = strstr(p->sent[i], "\"progress\":");
		assert_non_null(at);
		now = strtod(at + 11, NULL);
		assert_true(now > last);
		last = now;
		count++;
	}
	return count;
}

static void
test_progress(void **state)
{
	struct peer *p = begin(NULL);
	size_t i;

	say(p, RUN_TOKEN("1", "out one\\nout two\\nerr three",
	    "\"t\\u0001\""));
	settle(p);
	/* At once for the first output, then not for every line of it. */
	assert_int_equal(check_progress(p, "\"t\\u0001\""), 1);
	assert_non_null(strstr(p->sent[0], "\"message\":\"one\""));
	assert_non_null(strstr(p->sent[p->nsent - 1], "\"result\""));
	forget(p);
	/* Not without a token, nor with a thing that is none. */
	expect_part(p, RUN("1", "out x"), R "\"id\":1,\"result\"");
	say(p, RUN_TOKEN("1", "out x", "{\"a\":1}"));
	settle(p);
	assert_int_equal(p->nsent, 1);
	forget(p);
	say(p, RUN_TOKEN("1", "out x", "1.5"));
	settle(p);
	assert_int_equal(p->nsent, 1);
	forget(p);
	/* None after the answer, none after a cancel. */
	say(p, RUN_TOKEN("1", "out x\\nhold", "7"));
	event_base_loop(p->base, EVLOOP_ONCE);
	assert_int_equal(check_progress(p, "7"), 1);
	forget(p);
	say(p, CANCEL("1"));
	for (i = 0; i < 10; i++)
		event_base_loop(p->base, EVLOOP_NONBLOCK);
	assert_int_equal(p->nsent, 0);
	end(p);
}

static void
test_heartbeat(void **state)
{
	struct peer *p = begin(NULL);
	uint64_t begun = clock_us();

	say(p, RUN_TOKEN("1", "hold", "7"));
	while (p->nsent < 1)
		event_base_loop(p->base, EVLOOP_ONCE);
	assert_uint_in_range(clock_us() - begun, 1500000, 10000000);
	assert_int_equal(check_progress(p, "7"), 1);
	assert_non_null(strstr(p->sent[0], "\"message\":\"running\""));
	end(p);
}

static void
test_log(void **state)
{
	struct peer *p = begin(NULL);
	const char *got;

	expect_part(p, R "\"id\":1,\"method\":\"logging/setLevel\","
	    "\"params\":{\"level\":\"info\"}}", RESULT("1", "{}"));
	say(p, RUN("1", "no output"));
	settle(p);
	assert_int_equal(p->nsent, 2);
	got = heard(p);
	assert_ptr_equal(strstr(got, R "\"method\":\"notifications/message\","
	    "\"params\":{\"level\":\"info\",\"logger\":\"adder\",\"data\":{"
	    "\"verdict\":\"ok\","), got);
	expect_part(p, R "\"id\":1,\"method\":\"logging/setLevel\","
	    "\"params\":{\"level\":\"warning\"}}", RESULT("1", "{}"));
	say(p, RUN("1", "out x"));
	settle(p);
	assert_int_equal(p->nsent, 1);
	forget(p);
	expect_part(p, RUN("1", "raise E"), "\"level\":\"warning\"");
	end(p);
}

/* Whether the i-th message is output of the request that is live. */
static int
is_live(const struct peer *p, size_t i, const char *level, const char *id,
    const char *logger, const char *text)
{
	char want[256];

	snprintf(want, sizeof want, R "\"method\":\"notifications/message\","
	    "\"params\":{\"level\":\"%s\",\"logger\":\"%s\",\"data\":{"
	    "\"request\":%s,\"text\":\"%s", level, logger, id, text);
	return i < p->nsent &&
	    strncmp(p->sent[i], want, strlen(want)) == 0;
}

#define SET_LEVEL(level)						\
	R "\"id\":1,\"method\":\"logging/setLevel\","			\
	"\"params\":{\"level\":\"" level "\"}}"

static void
test_live(void **state)
{
	struct peer *p = begin(NULL);

	/* Nobody asked, so nothing comes but the answer. */
	say(p, RUN("1", "out x\\nerr y"));
	settle(p);
	assert_int_equal(p->nsent, 1);
	forget(p);
	expect_part(p, SET_LEVEL("info"), RESULT("1", "{}"));
	/* What follows the first piece at once is gathered, and nothing
	 * comes after the answer. */
	say(p, RUN("\"a\"", "out x\\nout y\\nout z\\nerr w"));
	settle(p);
	assert_int_equal(p->nsent, 5);
	assert_true(is_live(p, 0, "info", "\"a\"", "stdout", "x\"}"));
	assert_true(is_live(p, 1, "info", "\"a\"", "stdout", "yz\"}"));
	assert_true(is_live(p, 2, "warning", "\"a\"", "stderr", "w\"}"));
	assert_non_null(strstr(p->sent[4], "\"result\""));
	forget(p);
	/* Of higher levels there is only standard error, then nothing. */
	expect_part(p, SET_LEVEL("warning"), RESULT("1", "{}"));
	say(p, RUN("2", "out x\\nerr y"));
	settle(p);
	assert_int_equal(p->nsent, 2);
	assert_true(is_live(p, 0, "warning", "2", "stderr", "y\"}"));
	forget(p);
	expect_part(p, SET_LEVEL("error"), RESULT("1", "{}"));
	say(p, RUN("3", "out x\\nerr y"));
	settle(p);
	assert_int_equal(p->nsent, 1);
	end(p);
}

/* While a program runs on, what waits is sent after a moment. */
static void
test_live_gap(void **state)
{
	struct peer *p = begin(NULL);
	uint64_t begun;

	expect_part(p, SET_LEVEL("debug"), RESULT("1", "{}"));
	begun = clock_us();
	say(p, RUN("4", "out x\\nout y\\nhold"));
	while (p->nsent < 2)
		event_base_loop(p->base, EVLOOP_ONCE);
	assert_true(clock_us() - begun >= 49000);
	assert_true(is_live(p, 0, "info", "4", "stdout", "x\"}"));
	assert_true(is_live(p, 1, "info", "4", "stdout", "y\"}"));
	forget(p);
	/* A cancelled call says nothing any more. */
	say(p, CANCEL("4"));
	assert_int_equal(p->nsent, 0);
	end(p);
}

/* More than a message holds: the rest is counted. */
static void
test_live_skipped(void **state)
{
	struct peer *p = begin(NULL);
	char long_line[20001], *line;

	expect_part(p, SET_LEVEL("info"), RESULT("1", "{}"));
	memset(long_line, 'l', 20000);
	long_line[20000] = '\0';
	xasprintf(&line, R "\"id\":5,\"method\":\"tools/call\",\"params\":{"
	    "\"name\":\"run_python\",\"arguments\":{\"code\":"
	    "\"out %s\"}}}", long_line);
	say(p, line);
	free(line);
	settle(p);
	assert_true(is_live(p, 0, "info", "5", "stdout", "lll"));
	assert_non_null(strstr(p->sent[0], "\"skipped\":11808}"));
	end(p);
}

static void
test_hold(void **state)
{
	struct peer *p = begin(NULL);

	say(p, RUN_TOKEN("1", "hold", "7"));
	session_hold(p->session, 1);
	assert_int_equal(fake_paused(p->d), 1);
	/* A new one is paused from the start, and says nothing meanwhile. */
	say(p, RUN_TOKEN("2", "out x\\nhold", "8"));
	assert_int_equal(fake_paused(p->d), 2);
	event_base_loop(p->base, EVLOOP_ONCE);
	assert_int_equal(p->nsent, 0);
	session_hold(p->session, 0);
	assert_int_equal(fake_paused(p->d), 0);
	end(p);
}

static void
test_calls_max(void **state)
{
	struct peer *p = begin("clients.calls_max=2");

	say(p, RUN("1", "hold"));
	say(p, RUN("2", "hold"));
	say(p, RUN("3", "out x"));
	assert_non_null(strstr(heard(p), "\"id\":3,\"result\":{\"content\":[{"
	    "\"type\":\"text\",\"text\":\"This connection has 2 calls"));
	say(p, RUN("3", "out x"));
	assert_non_null(strstr(heard(p), "\"verdict\":\"busy\""));
	say(p, CANCEL("1"));
	say(p, RUN("3", "out x"));
	while (p->nsent == 0)
		event_base_loop(p->base, EVLOOP_ONCE);
	assert_non_null(strstr(heard(p), "\"text\":\"x\""));
	end(p);
}

#define PACKAGES(id)	CALL(id, "\"name\":\"list_packages\"")

static void
test_packages_wait(void **state)
{
	struct peer *p = begin(NULL);

	fake_set_ready(p->d, 0);
	say(p, PACKAGES("1"));
	say(p, PACKAGES("2"));
	event_base_loop(p->base, EVLOOP_ONCE);
	assert_int_equal(p->nsent, 0);
	say(p, CANCEL("2"));
	fake_set_ready(p->d, 1);
	settle(p);
	assert_int_equal(p->nsent, 1);
	assert_non_null(strstr(heard(p), "\"id\":1,\"result\":{\"content\":[{"
	    "\"type\":\"text\",\"text\":\"Python 3.11.2\\nnumpy"));
	end(p);
}

static void
test_disconnect(void **state)
{
	struct peer *p = begin(NULL);

	say(p, INIT("2025-03-26"));
	say(p, "[" RUN("1", "hold") "," PING("2") "]");
	say(p, RUN("5", "hold"));
	fake_set_ready(p->d, 0);
	say(p, PACKAGES("6"));
	event_base_loop(p->base, EVLOOP_ONCE);
	forget(p);
	session_free(&p->session);
	assert_null(p->session);
	assert_int_equal(fake_cancelled(p->d), 2);
	assert_int_equal(p->nsent, 0);
	p->session = session_new(p->mcp, &carrier, p, "peer");
	end(p);
}

static void
test_abort(void **state)
{
	struct peer *p = begin(NULL);
	unsigned before;
	const char *got;

	say(p, RUN("1", "hold"));
	say(p, RUN("\"x\"", "hold"));
	before = p->settled;
	session_abort(p->session, "Over.");
	assert_int_equal(p->settled, before + 1);
	got = heard(p);
	assert_string_equal(got, R "\"id\":1,\"error\":{\"code\":-32603,"
	    "\"message\":\"Over.\"}}\n" R "\"id\":\"x\",\"error\":{"
	    "\"code\":-32603,\"message\":\"Over.\"}}");
	assert_int_equal(fake_cancelled(p->d), 2);
	end(p);
}

static void
test_status(void **state)
{
	struct peer *p = begin(NULL);
	json_t *answer, *st;

	say(p, RUN("1", "out x"));
	settle(p);
	forget(p);
	say(p, R "\"id\":1,\"method\":\"adder/status\"}");
	answer = json_loads(heard(p), 0, NULL);
	st = json_object_get(answer, "result");
	assert_true(json_is_true(json_object_get(st, "ready")));
	assert_int_equal(json_integer_value(json_object_get(
	    json_object_get(st, "calls"), "ok")), 1);
	assert_int_equal(json_integer_value(json_object_get(st, "clients")),
	    1);
	assert_true(json_is_integer(json_object_get(json_object_get(st,
	    "workers"), "idle")));
	assert_true(json_is_string(json_object_get(st, "packages")));
	json_decref(answer);
	end(p);
}

/* New limits hold for the next call, and for what clients are told. */
static void
test_new_conf(void **state)
{
	static const char *const overrides[] = { "python.env=system",
	    "limits.timeout_max=7s", NULL };
	struct peer *p = begin(NULL);
	struct conf *c;
	char *why;

	c = conf_load(NULL, overrides, &why);
	assert_non_null(c);
	mcp_set_conf(p->mcp, c);
	conf_unref(&c);
	expect_part(p, R "\"id\":1,\"method\":\"tools/list\"}", "at most 7 s");
	end(p);
}

/* Whatever is said, the connection lives on. */
static void
test_random_lines(void **state)
{
	static const char *const words[] = { "{", "}", "[", "]", ",", ":",
	    "\"id\"", "1", "\"method\"", "\"tools/call\"", "\"params\"",
	    "\"jsonrpc\"", "\"2.0\"", "null", "\"name\"", "\"run_python\"",
	    "\"arguments\"", "\"code\"", "\"out x\"", "\"_meta\"",
	    "\"progressToken\"", "\"initialize\"", "\"2025-03-26\"",
	    "\"protocolVersion\"", "\"notifications/cancelled\"",
	    "\"requestId\"", "\xff", "\\" };
	struct peer *p = begin(NULL);
	uint32_t seed = 7;
	char line[512];
	size_t i, n;

	say(p, INIT("2025-03-26"));
	for (i = 0; i < 20000; i++) {
		line[0] = '\0';
		if (i % 2 == 0)
			strcpy(line, R "\"id\":1,\"method\":\"tools/call\",");
		for (n = unit_random(&seed) % 16; n > 0; n--)
			strcat(line, words[unit_random(&seed) %
			    NITEMS(words)]);
		if (i % 2 == 0)
			strcat(line, "}");
		say(p, line);
		settle(p);
		forget(p);
	}
	expect(p, PING("1"), RESULT("1", "{}"));
	end(p);
}

#define CLAIM(version)							\
	"\"_meta\":{"							\
	"\"io.modelcontextprotocol/protocolVersion\":" version		\
	",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define MODERN	CLAIM("\"2026-07-28\"")
#define INFO	"\"io.modelcontextprotocol/serverInfo\":{\"name\":\"adder\""

#define H(version, method, name)					\
	&(const struct mcp_headers){ version, method, name, 1 }

static const struct era_case {
	const char	*method;
	const char	*params;
	int		 status;
	const char	*part;
	const struct mcp_headers *headers;
} era_cases[] = {
	/* Without headers, as on a socket. */
	{ "server/discover", MODERN, 200, "\"supportedVersions\":["
	    "\"2026-07-28\",\"2025-11-25\",\"2025-06-18\",\"2025-03-26\","
	    "\"2024-11-05\"]", NULL },
	{ "server/discover", MODERN, 200, "\"resultType\":\"complete\","
	    "\"ttlMs\":60000,\"cacheScope\":\"private\"", NULL },
	{ "tools/list", MODERN, 200, "\"ttlMs\":60000", NULL },
	{ "tools/list", MODERN, 200, INFO, NULL },
	{ "prompts/list", MODERN, 200, "\"ttlMs\":60000", NULL },
	{ "resources/list", MODERN, 200, "\"ttlMs\":0", NULL },
	{ "resources/templates/list", MODERN, 200, "\"cacheScope\"", NULL },
	{ "resources/read", "\"uri\":\"x:y\"," MODERN, 200, ERROR("-32602"),
	    NULL },
	{ "resources/read", "\"uri\":\"x:y\"", 200, ERROR("-32002"),
	    NULL },
	{ "tools/call", CODE("out hi") "," MODERN, 200, "\"text\":\"hi\"",
	    NULL },
	{ "tools/call", CODE("out hi") "," MODERN, 200,
	    "\"resultType\":\"complete\"", NULL },
	{ "tools/call", "\"name\":\"list_packages\"," MODERN, 200, INFO,
	    NULL },
	{ "tools/call", "\"name\":\"nope\"," MODERN, 200, ERROR("-32602"),
	    NULL },
	{ "ping", MODERN, 404, ERROR("-32601"), NULL },
	{ "initialize", "\"protocolVersion\":\"2025-11-25\"," MODERN, 404,
	    ERROR("-32601"), NULL },
	{ "logging/setLevel", "\"level\":\"info\"," MODERN, 404,
	    ERROR("-32601"), NULL },
	{ "tools/list", CLAIM("\"2025-11-25\""), 400, ERROR("-32022"),
	    NULL },
	{ "tools/list", CLAIM("\"2099-01-01\""), 400,
	    "\"requested\":\"2099-01-01\"", NULL },
	{ "tools/list", CLAIM("7"), 400, ERROR("-32602"), NULL },
	{ "tools/list", "\"_meta\":{\"io.modelcontextprotocol/"
	    "protocolVersion\":\"2026-07-28\"}", 400, ERROR("-32602"),
	    NULL },
	/* With headers, as over HTTP. */
	{ "tools/list", MODERN, 400, ERROR("-32020"), H(NULL, NULL, NULL) },
	{ "tools/list", MODERN, 200, "run_python",
	    H("2026-07-28", "tools/list", NULL) },
	{ "tools/list", MODERN, 400, ERROR("-32020"),
	    H("2025-11-25", "tools/list", NULL) },
	{ "tools/list", CLAIM("\"2099-01-01\""), 400, ERROR("-32020"),
	    H("2026-07-28", "tools/list", NULL) },
	{ "tools/list", MODERN, 400, ERROR("-32020"),
	    H(NULL, "tools/list", NULL) },
	{ "tools/list", MODERN, 400, ERROR("-32020"),
	    H("2026-07-28", NULL, NULL) },
	{ "tools/list", MODERN, 400, ERROR("-32020"),
	    H("2026-07-28", "Tools/List", NULL) },
	{ "tools/call", CODE("out hi") "," MODERN, 200, "\"text\":\"hi\"",
	    H("2026-07-28", "tools/call", "run_python") },
	{ "tools/call", CODE("out hi") "," MODERN, 200, "\"text\":\"hi\"",
	    H("2026-07-28", "tools/call", "=?base64?cnVuX3B5dGhvbg==?=") },
	{ "tools/call", CODE("out hi") "," MODERN, 400, ERROR("-32020"),
	    H("2026-07-28", "tools/call", NULL) },
	{ "tools/call", CODE("out hi") "," MODERN, 400, ERROR("-32020"),
	    H("2026-07-28", "tools/call", "run") },
	{ "resources/read", "\"uri\":\"x:y\"," MODERN, 400, ERROR("-32020"),
	    H("2026-07-28", "resources/read", "x:z") },
	{ "tools/list", "", 400, ERROR("-32602"),
	    H("2026-07-28", NULL, NULL) },
	{ "tools/list", "", 400, ERROR("-32602"),
	    H("2099-01-01", NULL, NULL) },
	{ "tools/list", "", 400, ERROR("-32600"),
	    H("2025-01-01", NULL, NULL) },
	{ "tools/list", "", 400, ERROR("-32600"),
	    H("2025-03-26", NULL, NULL) },
	{ "tools/list", "", 400, ERROR("-32600"), H(NULL, NULL, NULL) },
	{ "initialize", "\"protocolVersion\":\"2025-11-25\"", 400,
	    ERROR("-32020"), H("2026-07-28", NULL, NULL) },
	{ "initialize", "\"protocolVersion\":\"2025-11-25\"", 200,
	    "\"serverInfo\"", H("2025-01-01", NULL, NULL) },
	/* From here on there is a session. */
	{ "tools/list", "", 200, "run_python",
	    H("2025-03-26", NULL, NULL) },
	{ "initialize", "\"protocolVersion\":\"2026-07-28\"", 200,
	    "\"protocolVersion\":\"2025-11-25\"", NULL },
};

/* Each message by itself says what era it is of. */
static void
test_eras(void **state)
{
	struct peer *p = begin(NULL);
	const struct era_case *c;
	struct session *s;
	const char *got;
	char line[1024];

	for (c = era_cases; c < era_cases + NITEMS(era_cases); c++) {
		snprintf(line, sizeof line, R "\"id\":\"i\",\"method\":\"%s\","
		    "\"params\":{%s}}", c->method, c->params);
		s = session_below(p->session, 0, &carrier, p);
		session_receive_http(s, line, strlen(line), c->headers);
		while (session_open(s) > 0)
			event_base_loop(p->base, EVLOOP_ONCE);
		got = heard(p);
		if (strstr(got, c->part) == NULL ||
		    session_status(s) != c->status)
			fail_msg("%s\ngot  %s\nwant %s", line, got, c->part);
		session_free(&s);
	}
	end(p);
}

static void
test_era_batch(void **state)
{
	struct peer *p = begin(NULL);

	say(p, INIT("2025-03-26"));
	forget(p);
	expect_part(p, "[" R "\"id\":1,\"method\":\"tools/list\",\"params\":{"
	    MODERN "}}]", "\"error\":{\"code\":-32600");
	end(p);
}

/* The posts of one session know each other's calls, those of strangers who
 * only have an owner in common do not. */
static void
test_family(void **state)
{
	struct peer *p = begin(NULL);
	struct session *a = session_below(p->session, 1, &carrier, p);
	struct session *b = session_below(p->session, 1, &carrier, p);
	struct session *c = session_below(p->session, 0, &carrier, p);

	session_receive(a, RUN("1", "hold"), strlen(RUN("1", "hold")));
	session_receive(c, CANCEL("1"), strlen(CANCEL("1")));
	assert_int_equal(dispatcher_jobs(p->d), 1);
	session_receive(b, RUN("1", "out x"), strlen(RUN("1", "out x")));
	assert_non_null(strstr(heard(p), "\"code\":-32600"));
	session_receive(b, CANCEL("1"), strlen(CANCEL("1")));
	assert_int_equal(dispatcher_jobs(p->d), 0);
	assert_int_equal(p->nsent, 0);
	session_free(&a);
	session_free(&b);
	session_free(&c);
	end(p);
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
		cmocka_unit_test(test_negotiation),
		cmocka_unit_test(test_methods),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_never_answered),
		cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_overlong),
		cmocka_unit_test(test_odd_arguments),
		cmocka_unit_test(test_ping_while_running),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_duplicate_id),
		cmocka_unit_test(test_batch),
		cmocka_unit_test(test_batch_refused),
		cmocka_unit_test(test_progress),
		cmocka_unit_test(test_heartbeat),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_live),
		cmocka_unit_test(test_live_gap),
		cmocka_unit_test(test_live_skipped),
		cmocka_unit_test(test_hold),
		cmocka_unit_test(test_calls_max),
		cmocka_unit_test(test_packages_wait),
		cmocka_unit_test(test_disconnect),
		cmocka_unit_test(test_abort),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_new_conf),
		cmocka_unit_test(test_random_lines),
		cmocka_unit_test(test_eras),
		cmocka_unit_test(test_era_batch),
		cmocka_unit_test(test_family),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
