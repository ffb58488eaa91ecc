/* What /run and /eval answer. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "json.h"
#include "run_answer.h"
#include "unit.h"

static char *
str(const char *s)
{
	return (char *)s;
}

static void
expect(json_t *got, const char *want)
{
	size_t len;
	char *line = json_line(got, &len);

	assert_string_equal(line, want);
	free(line);
	json_decref(got);
}

#define RECEIPT(verdict, more)						\
	"\"receipt\":{\"verdict\":\"" verdict "\"," more		\
	"\"wall_ms\":0.0,\"cpu_ms\":0.0,\"queue_ms\":0.0,"		\
	"\"stdout_bytes\":9,\"stderr_bytes\":0,\"truncated\":true,"	\
	"\"run_id\":\"r\"}}"

static void
test_run(void **state)
{
	struct job_file image = { str("1.png"), str(""),
	    str("\x89PNG\r\n\x1a\n"), 8, 8, 1, NULL, 0, NULL, NULL, 0 };
	struct job_file files[] = {
	    { str("a.csv"), str(""), str("1,2"), 3, 3, 1, NULL, 0, NULL,
		NULL, 0 },
	    { str("big"), str(""), str(""), 0, 99, 0, NULL, 0, NULL, NULL,
		0 } };
	struct job_result r = { .verdict = VERDICT_EXCEPTION, .exit_code = 1,
	    .reason = str("Why."), .exc_type = str("E"),
	    .exc_message = str(""), .traceback = str("T"), .run_id = "r",
	    .images = &image, .nimages = 1, .files = files, .nfiles = 2,
	    .files_left_out = 3 };

	r.output[JOB_STDOUT] = (struct job_output){ str("ab"), 2, str("yz"),
	    2, 9, 5 };
	expect(run_answer(&r, NULL, 0), "{\"stdout\":\"ab\\n[... 5 bytes of "
	    "stdout left out ...]\\nyz\",\"stderr\":\"\",\"value\":null,"
	    "\"error\":{\"verdict\":\"exception\",\"reason\":\"Why.\","
	    "\"type\":\"E\",\"message\":null,\"traceback\":\"T\"},"
	    "\"images\":[{\"name\":\"1.png\",\"mime\":\"image/png\","
	    "\"size\":8,\"data\":\"iVBORw0KGgo=\"}],\"files\":[{\"name\":"
	    "\"a.csv\",\"mime\":\"text/csv\",\"size\":3,\"data\":\"MSwy\"},"
	    "{\"name\":\"big\",\"mime\":\"application/octet-stream\","
	    "\"size\":99}],\"files_left_out\":3,"
	    RECEIPT("exception", "\"exception\":\"E\","));
	r.verdict = VERDICT_OK;
	r.exit_code = 0;
	r.exc_type = NULL;
	r.value = str("'v'");
	r.value_len = 3;
	r.files_left_out = 0;
	expect(run_answer(&r, "Note.", 1), "{\"value\":\"'v'\",\"error\":null,"
	    "\"note\":\"Note.\"," RECEIPT("ok", "\"exit_code\":0,"));
}

static void
test_returncodes(void **state)
{
	static const struct {
		enum verdict	 verdict;
		int		 exit_code, signal;
		const char	*want;
	} cases[] = {
		{ VERDICT_OK, 0, 0, "0" },
		{ VERDICT_EXIT, 3, 0, "3" },
		{ VERDICT_EXCEPTION, 1, 0, "1" },
		{ VERDICT_TIMEOUT, -1, 9, "137" },
		{ VERDICT_CPU, -1, 24, "137" },
		{ VERDICT_OUTPUT, -1, 9, "137" },
		{ VERDICT_MEMORY, -1, 9, "137" },
		{ VERDICT_MEMORY, 1, 0, "137" },
		{ VERDICT_MEMORY, -1, 0, "137" },
		{ VERDICT_SIGNAL, -1, 11, "139" },
		{ VERDICT_SIGNAL, -1, 6, "134" },
		{ VERDICT_DENIED, -1, 31, "159" },
		{ VERDICT_LOST, -1, 0, "null" },
		{ VERDICT_INTERNAL, -1, 0, "null" }
	};
	struct job_result r;
	char want[128];
	size_t i;

	for (i = 0; i < NITEMS(cases); i++) {
		memset(&r, 0, sizeof r);
		r.verdict = cases[i].verdict;
		r.exit_code = cases[i].exit_code;
		r.signal = cases[i].signal;
		snprintf(want, sizeof want, "{\"stdout\":\"xy\","
		    "\"returncode\":%s,\"files\":[]}", cases[i].want);
		expect(run_answer_eval(&r, "xy", 2), want);
	}
}

static void
test_eval_text(void **state)
{
	struct job_file f = { str("a"), str(""), str("hi"), 2, 2, 1, NULL, 0,
	    NULL, NULL, 0 };
	struct job_result r = { .verdict = VERDICT_EXCEPTION, .exit_code = 1,
	    .traceback = str("Trace\n"), .files = &f, .nfiles = 1 };

	expect(run_answer_eval(&r, "\xff\n", 2), "{\"stdout\":\"\\uFFFD\\n"
	    "Trace\\n\",\"returncode\":1,\"files\":[{\"path\":\"a\","
	    "\"size\":2,\"content\":\"aGk=\"}]}");
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
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_returncodes),
		cmocka_unit_test(test_eval_text),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
