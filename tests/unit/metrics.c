/* The text that Prometheus reads. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatcher.h"
#include "mem.h"
#include "metrics.h"
#include "unit.h"

static void
expect_line(const char *text, const char *line)
{
	char *want;

	xasprintf(&want, "\n%s\n", line);
	if (strstr(text, want) == NULL)
		fail_msg("no line \"%s\" in\n%s", line, text);
	free(want);
}

static void
add(struct metrics *m, enum verdict v, uint64_t wall_us, uint64_t queue_us)
{
	struct job_result r = { .verdict = v, .wall_us = wall_us,
	    .cpu_us = wall_us / 2, .queue_us = queue_us };

	r.output[JOB_STDOUT].total = 1000;
	r.output[JOB_STDERR].total = 1;
	metrics_job(m, &r);
}

static void
test_values(void **state)
{
	struct metrics m = { 0 };
	struct dispatcher_status st = { .workers_idle = 3,
	    .workers_prefaulted = 1, .workers_busy = 2,
	    .workers_starting = 1, .queued = 7, .queue_age_us = 1500000,
	    .generation = 4, .ready = 1, .zygote_restarts = 3,
	    .zygote_import_ms = 573, .metrics = &m };
	size_t len;
	char *text;

	st.calls[VERDICT_OK] = 2;
	st.calls[VERDICT_BUSY] = 1;
	/* On a bound, above the last one, and one that never ran. */
	add(&m, VERDICT_OK, 1000, 999);
	add(&m, VERDICT_OK, 61000000, 1001);
	add(&m, VERDICT_BUSY, 0, 30000000);
	text = metrics_text(&st, 5, &len);
	assert_int_equal(strlen(text), len);
	expect_line(text, "adder_ready 1");
	expect_line(text, "adder_workers{state=\"idle\"} 3");
	expect_line(text, "adder_workers{state=\"busy\"} 2");
	expect_line(text, "adder_workers{state=\"starting\"} 1");
	expect_line(text, "adder_workers_prefaulted 1");
	expect_line(text, "adder_queue_length 7");
	expect_line(text, "adder_queue_age_seconds 1.500000");
	expect_line(text, "adder_clients 5");
	expect_line(text, "adder_generation 4");
	expect_line(text, "adder_zygote_restarts_total 3");
	expect_line(text, "adder_zygote_import_seconds 0.573");
	expect_line(text, "adder_calls_total{verdict=\"ok\"} 2");
	expect_line(text, "adder_calls_total{verdict=\"busy\"} 1");
	expect_line(text, "adder_calls_total{verdict=\"timeout\"} 0");
	expect_line(text, "adder_run_seconds_bucket{le=\"0.001\"} 1");
	expect_line(text, "adder_run_seconds_bucket{le=\"60\"} 1");
	expect_line(text, "adder_run_seconds_bucket{le=\"+Inf\"} 2");
	expect_line(text, "adder_run_seconds_sum 61.001000");
	expect_line(text, "adder_run_seconds_count 2");
	expect_line(text, "adder_cpu_seconds_count 2");
	expect_line(text, "adder_queue_seconds_bucket{le=\"0.001\"} 1");
	expect_line(text, "adder_queue_seconds_bucket{le=\"0.0025\"} 2");
	expect_line(text, "adder_queue_seconds_count 3");
	expect_line(text, "adder_output_bytes_total{stream=\"stdout\"} 3000");
	expect_line(text, "adder_output_bytes_total{stream=\"stderr\"} 3");
	free(text);
}

/* Every series has its help and type before it, once. */
static void
test_format(void **state)
{
	struct metrics m = { 0 };
	struct dispatcher_status st = { .metrics = &m };
	char *text, *rest, *line, name[64] = "", type[16];
	size_t len, samples = 0;

	rest = text = metrics_text(&st, 0, &len);
	assert_int_equal(text[len - 1], '\n');
	text[len - 1] = '\0';
	while ((line = strsep(&rest, "\n")) != NULL) {
		if (strncmp(line, "# HELP ", 7) == 0) {
			assert_int_equal(sscanf(line, "# HELP %63s", name),
			    1);
			line = strsep(&rest, "\n");
			assert_int_equal(sscanf(line, "# TYPE %63s %15s",
			    name, type), 2);
			continue;
		}
		assert_int_equal(strncmp(line, name, strlen(name)), 0);
		assert_non_null(strchr(line, ' '));
		samples++;
	}
	assert_true(samples > 40);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
