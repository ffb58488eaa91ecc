/* Answers: from what a job left behind to what a client is sent. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "json.h"
#include "mem.h"
#include "result.h"
#include "run_store.h"
#include "unit.h"

#define PNG	"\x89PNG\r\n\x1a\n....."

static const struct result_options plain;

static char *
str(const char *s)
{
	return (char *)s;
}

static void
set_output(struct job_output *o, const char *text)
{
	o->head = str(text);
	o->head_len = o->total = strlen(text);
}

static struct job_file
file(const char *name, const char *data, size_t len)
{
	struct job_file f = { str(name), str(""), str(data), len, len, 1,
	    NULL, 0, NULL, NULL, 0 };

	return f;
}

/* The content, one block after the other, as "text:...|image:...". */
static char *
summary(const json_t *result)
{
	const json_t *content = json_object_get(result, "content"), *b, *res;
	char *all = xstrdup(""), *next;
	const char *type, *what;
	size_t i;

	json_array_foreach(content, i, b) {
		type = json_string_value(json_object_get(b, "type"));
		res = json_object_get(b, "resource");
		what = json_string_value(json_object_get(b, "text"));
		if (what == NULL)
			what = json_string_value(json_object_get(b,
			    "mimeType"));
		if (what == NULL)
			what = json_string_value(json_object_get(res, "uri"));
		xasprintf(&next, "%s%s%s:%s", all, i == 0 ? "" : "|", type,
		    what);
		free(all);
		all = next;
	}
	return all;
}

static json_t *
receipt(const json_t *result)
{
	return json_object_get(json_object_get(result, "_meta"),
	    "adder/receipt");
}

static void
expect(const struct job_result *r, const char *note, const char *want)
{
	json_t *result = result_of_job(r, note, &plain);
	char *got = summary(result), *line;
	size_t len;

	assert_string_equal(got, want);
	assert_int_equal(json_is_true(json_object_get(result, "isError")),
	    r->verdict != VERDICT_OK);
	line = json_line(result, &len);
	assert_null(strstr(line, "null"));
	assert_true(len < 10 * 1024 * 1024);
	free(line);
	free(got);
	json_decref(result);
}

static struct job_result
ok(void)
{
	struct job_result r = { .verdict = VERDICT_OK, .reason = str(""),
	    .run_id = "r1" };

	return r;
}

static void
test_order(void **state)
{
	struct job_result r = ok();
	struct job_file image = file("1", PNG, sizeof PNG);
	struct job_file files[] = { file("a b.csv", "1,2\n", 4),
	    file("d/z.bin", "\0\1", 2), file("p.jpg", "\xff\xd8\xff", 3) };

	set_output(&r.output[JOB_STDOUT], "out\n");
	set_output(&r.output[JOB_STDERR], "warn\n");
	r.value = str("42");
	r.value_len = 2;
	r.images = &image;
	r.nimages = 1;
	r.files = files;
	r.nfiles = 3;
	r.files_left_out = 2;
	expect(&r, "note", "text:out\n|text:value: 42|text:stderr:\nwarn\n"
	    "|text:note|image:image/png|text:files: a b.csv (4 bytes, "
	    "attached), d/z.bin (2 bytes, attached), p.jpg (3 bytes, shown), "
	    "2 more left out|resource:adder://run/r1/a%20b.csv"
	    "|resource:adder://run/r1/d/z.bin|image:image/jpeg");
}

static void
test_silence(void **state)
{
	struct job_result r = ok();

	expect(&r, NULL, "text:The program ran to its end and printed "
	    "nothing.  Use print() to show what you want to see.");
	r.value = str("'a\nb'");
	r.value_len = 5;
	expect(&r, NULL, "text:value:\n'a\nb'");
}

static void
test_failure(void **state)
{
	struct job_result r = ok();

	r.verdict = VERDICT_EXCEPTION;
	r.reason = str("It failed at line 3.");
	r.exc_type = str("ValueError");
	r.exc_message = str("bad");
	expect(&r, NULL, "text:ValueError: bad|text:It failed at line 3.");
	r.traceback = str("Traceback:\n  x\nValueError: bad\n");
	set_output(&r.output[JOB_STDOUT], "so far");
	expect(&r, NULL, "text:so far|text:Traceback:\n  x\nValueError: bad"
	    "|text:It failed at line 3.");
	r = ok();
	r.verdict = VERDICT_TIMEOUT;
	r.reason = str("Too slow.");
	expect(&r, "Lowered.", "text:Too slow.|text:Lowered.");
}

static void
test_receipt(void **state)
{
	static const struct {
		enum verdict	 verdict;
		const char	*exception;
		int		 exit_code, signal;
		const char	*want;
	} cases[] = {
		{ VERDICT_OK, NULL, 0, 0, "\"ok\",\"exit_code\":0" },
		{ VERDICT_EXIT, NULL, 3, 0, "\"exit\",\"exit_code\":3" },
		{ VERDICT_SIGNAL, NULL, -1, 11, "\"signal\",\"signal\":11" },
		{ VERDICT_EXCEPTION, "KeyError", 1, 0,
		    "\"exception\",\"exception\":\"KeyError\"" },
		{ VERDICT_TIMEOUT, NULL, -1, 0, "\"timeout\"" },
		{ VERDICT_BUSY, NULL, -1, 0, "\"busy\"" }
	};
	char want[512], *line;
	struct job_result r;
	json_t *result;
	size_t i, len;

	for (i = 0; i < NITEMS(cases); i++) {
		r = ok();
		r.verdict = cases[i].verdict;
		r.exc_type = str(cases[i].exception);
		r.exit_code = cases[i].exit_code;
		r.signal = cases[i].signal;
		r.wall_us = 1500;
		r.cpu_us = 1;
		r.queue_us = 20000;
		r.peak_kib = 77;
		r.output[JOB_STDOUT].total = 5;
		r.output[JOB_STDOUT].head = str("12345");
		r.output[JOB_STDOUT].head_len = 5;
		snprintf(want, sizeof want, "{\"verdict\":%s,"
		    "\"wall_ms\":1.5,\"cpu_ms\":0.001,\"queue_ms\":20.0,"
		    "\"peak_kib\":77,\"stdout_bytes\":5,\"stderr_bytes\":0,"
		    "\"truncated\":false,\"run_id\":\"r1\"}", cases[i].want);
		result = result_of_job(&r, NULL, &plain);
		line = json_line(receipt(result), &len);
		assert_string_equal(line, want);
		free(line);
		json_decref(result);
	}
}

static void
test_bytes(void **state)
{
	struct job_result r = ok();
	json_t *result, *text;

	r.output[JOB_STDOUT].head = str("a\0\x1b[1m\xff\xed\xa0\x80z");
	r.output[JOB_STDOUT].head_len = r.output[JOB_STDOUT].total = 11;
	result = result_of_job(&r, NULL, &plain);
	text = json_object_get(json_array_get(json_object_get(result,
	    "content"), 0), "text");
	assert_int_equal(json_string_length(text), 19);
	assert_memory_equal(json_string_value(text), "a\0\x1b[1m"
	    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz", 19);
	json_decref(result);
}

static void
test_gap(void **state)
{
	struct job_result r = ok();
	struct job_output *o = &r.output[JOB_STDOUT];
	json_t *result;

	/* The euro sign is cut on both sides of the gap. */
	o->head = str("begin \xe2\x82");
	o->head_len = 8;
	o->tail = str("\xac end");
	o->tail_len = 5;
	o->dropped = 100;
	o->total = 113;
	expect(&r, NULL, "text:begin \n[... 103 bytes of stdout left out "
	    "...]\n end");
	result = result_of_job(&r, NULL, &plain);
	assert_true(json_is_true(json_object_get(receipt(result),
	    "truncated")));
	json_decref(result);
}

/* However much there is, one message stays below what clients take, and
 * says what it left out. */
static void
test_bounds(void **state)
{
	static const char fills[] = "x\x01\xff\"\n";
	size_t i, len, size = 8 * 1024 * 1024;
	char *big = xmalloc(size), *line, *got;
	struct job_result r;
	struct job_file files[3], image = file("i", big, size);
	json_t *result;

	for (i = 0; i < sizeof fills - 1; i++) {
		memset(big, fills[i], size);
		r = ok();
		r.verdict = VERDICT_EXCEPTION;
		r.reason = str("The reason.");
		r.traceback = xmemdupz(big, 2 * 1024 * 1024);
		r.exc_type = str("E");
		r.value = big;
		r.value_len = size;
		r.output[JOB_STDOUT].head = big;
		r.output[JOB_STDOUT].head_len = size;
		r.output[JOB_STDOUT].tail = big;
		r.output[JOB_STDOUT].tail_len = size;
		r.output[JOB_STDOUT].total = 3 * size;
		r.output[JOB_STDOUT].dropped = size;
		r.output[JOB_STDERR].head = big;
		r.output[JOB_STDERR].head_len = size;
		r.output[JOB_STDERR].total = size;
		r.images = &image;
		r.nimages = 1;
		files[0] = file("f", big, size);
		files[1] = file("g", "x", 1);
		files[2] = file("h", "", 0);
		files[2].whole = 0;
		files[2].size = 1000000;
		r.files = files;
		r.nfiles = 3;
		result = result_of_job(&r, NULL, &plain);
		line = json_line(result, &len);
		assert_uint_in_range(len, 1, 10 * 1024 * 1024 - 1);
		assert_true(json_is_true(json_object_get(receipt(result),
		    "truncated")));
		got = summary(result);
		assert_non_null(strstr(got, "bytes of stdout left out"));
		assert_non_null(strstr(got, "bytes of stderr left out"));
		assert_non_null(strstr(got, "The reason."));
		assert_non_null(strstr(got, "i (8388608 bytes) is left out: "
		    "it is damaged"));
		assert_non_null(strstr(got, "f (8388608 bytes, left out"));
		assert_non_null(strstr(got, "h (1000000 bytes, left out"));
		free(got);
		free(line);
		json_decref(result);
		free(r.traceback);
	}
	free(big);
}

/* A worker's word on a picture's type is not taken for it. */
static void
test_pictures(void **state)
{
	struct job_result r = ok();
	struct job_file images[] = { file("a", "not a png", 9),
	    file("b", PNG, sizeof PNG), file("c", "", 0) };

	images[0].mime = str("image/png");
	r.images = images;
	r.nimages = 3;
	expect(&r, NULL, "image:image/png|text:pictures: a (9 bytes) is left "
	    "out: it is damaged; c (0 bytes) is left out: it is damaged");
}

/* The text of a content block. */
static const char *
text_of(const json_t *result, size_t i)
{
	return json_string_value(json_object_get(json_array_get(
	    json_object_get(result, "content"), i), "text"));
}

static void
test_text_budget(void **state)
{
	struct run_store *store = run_store_new();
	struct result_options o = { .max_text = 1000, .store = store,
	    .links = 1 };
	struct job_result r = ok();
	const struct run_item *item;
	char out[3001], *want, head[501], tail[501];
	json_t *result;
	size_t i;

	run_store_bound(store, 100000, 3600000000ULL);
	for (i = 0; i < 3000; i++)
		out[i] = 'a' + i % 26;
	out[3000] = '\0';
	/* All of the budget is there for one text that needs it. */
	set_output(&r.output[JOB_STDOUT], out);
	result = result_of_job(&r, NULL, &o);
	snprintf(head, sizeof head, "%.500s", out);
	snprintf(tail, sizeof tail, "%.500s", out + 2500);
	xasprintf(&want, "%s\n[... 2000 bytes of stdout left out; to go on: "
	    "read_file {\"uri\": \"adder://run/r1/stdout\", \"offset\": "
	    "500} ...]\n%s", head, tail);
	assert_string_equal(text_of(result, 0), want);
	assert_true(json_is_true(json_object_get(receipt(result),
	    "truncated")));
	item = run_store_find(store, "adder://run/r1/stdout");
	assert_non_null(item);
	assert_int_equal(item->len, 3000);
	assert_memory_equal(item->data, out, 3000);
	free(want);
	json_decref(result);
	/* What fits exactly is not cut, and nothing is kept of it. */
	strcpy(r.run_id, "r2");
	r.output[JOB_STDOUT].head_len = r.output[JOB_STDOUT].total = 1000;
	result = result_of_job(&r, NULL, &o);
	assert_int_equal(strlen(text_of(result, 0)), 1000);
	assert_true(json_is_false(json_object_get(receipt(result),
	    "truncated")));
	assert_null(run_store_find(store, "adder://run/r2/stdout"));
	json_decref(result);
	/* Two long texts have half each, less what a short one takes. */
	strcpy(r.run_id, "r3");
	r.output[JOB_STDOUT].head_len = r.output[JOB_STDOUT].total = 3000;
	r.output[JOB_STDERR] = r.output[JOB_STDOUT];
	r.value = str("'0123456789'");
	r.value_len = 12;
	result = result_of_job(&r, NULL, &o);
	assert_non_null(strstr(text_of(result, 0), "2506 bytes of stdout"));
	assert_string_equal(text_of(result, 1), "value: '0123456789'");
	assert_non_null(strstr(text_of(result, 2), "2506 bytes of stderr"));
	assert_non_null(run_store_find(store, "adder://run/r3/stderr"));
	json_decref(result);
	run_store_free(&store);
}

/* Bytes that are no text take more room as text, and are not cut for that
 * where there is room. */
static void
test_text_of_garbage(void **state)
{
	struct result_options o = { .max_text = 1000 };
	struct job_result r = ok();
	json_t *result;

	set_output(&r.output[JOB_STDOUT], "\xff\xfe\xc0\xaf.");
	set_output(&r.output[JOB_STDERR], "\xed\xa0\x80");
	result = result_of_job(&r, NULL, &o);
	assert_string_equal(text_of(result, 0), "\xef\xbf\xbd\xef\xbf\xbd"
	    "\xef\xbf\xbd\xef\xbf\xbd.");
	assert_true(json_is_false(json_object_get(receipt(result),
	    "truncated")));
	json_decref(result);
}

/* A character is not cut in two, and of what the job itself had not kept
 * the whole text says so. */
static void
test_text_edges(void **state)
{
	struct run_store *store = run_store_new();
	struct result_options o = { .max_text = 10, .store = store };
	struct job_result r = ok();
	const struct run_item *item;
	json_t *result;

	run_store_bound(store, 100000, 3600000000ULL);
	set_output(&r.output[JOB_STDOUT],
	    "abc\xe2\x82\xac" "0123456789" "\xe2\x82\xac" "xyz");
	result = result_of_job(&r, NULL, &o);
	assert_string_equal(text_of(result, 0), "abc\n[... 16 bytes of "
	    "stdout left out; to go on: read_file {\"uri\": "
	    "\"adder://run/r1/stdout\", \"offset\": 3} ...]\nxyz");
	json_decref(result);
	strcpy(r.run_id, "r4");
	set_output(&r.output[JOB_STDOUT], "0123456789");
	r.output[JOB_STDOUT].tail = str("abcdefghij");
	r.output[JOB_STDOUT].tail_len = 10;
	r.output[JOB_STDOUT].dropped = 77;
	r.output[JOB_STDOUT].total = 97;
	result = result_of_job(&r, NULL, &o);
	assert_non_null(strstr(text_of(result, 0), "87 bytes of stdout"));
	item = run_store_find(store, "adder://run/r4/stdout");
	assert_string_equal(item->data, "0123456789\n[... 77 bytes of stdout "
	    "were not kept (limits.output) ...]\nabcdefghij");
	json_decref(result);
	run_store_free(&store);
}

static void
test_links(void **state)
{
	struct run_store *store = run_store_new();
	struct result_options o = { .store = store, .links = 1 };
	struct job_result r = ok();
	struct job_file f = file("d/a b.csv", "1,2\n", 4);
	char *ones = xcalloc(1, 8193);
	struct job_file large = file("d/a b.csv", ones, 8192);
	json_t *result;
	char *got;

	memset(large.data, '1', large.len);
	run_store_bound(store, 10000, 3600000000ULL);
	r.files = &large;
	r.nfiles = 1;
	result = result_of_job(&r, NULL, &o);
	got = summary(result);
	assert_string_equal(got, "text:files: d/a b.csv (8192 bytes, linked: "
	    "read_file reads it)|resource_link:text/csv");
	free(got);
	assert_int_equal(run_store_find(store,
	    "adder://run/r1/d/a%20b.csv")->len, 8192);
	json_decref(result);
	/* A small text is there at once, and kept all the same. */
	r.files = &f;
	run_store_bound(store, 0, 0);
	run_store_bound(store, 10000, 3600000000ULL);
	result = result_of_job(&r, NULL, &o);
	got = summary(result);
	assert_string_equal(got, "text:files: d/a b.csv (4 bytes, attached)|"
	    "resource:adder://run/r1/d/a%20b.csv");
	free(got);
	assert_int_equal(run_store_find(store,
	    "adder://run/r1/d/a%20b.csv")->len, 4);
	json_decref(result);
	r.files = &large;
	/* Older peers, and those who want all, get it at once. */
	o.links = 0;
	result = result_of_job(&r, NULL, &o);
	got = summary(result);
	assert_non_null(strstr(got, "attached)|resource:"));
	free(got);
	json_decref(result);
	/* Where it cannot be kept, too. */
	o.links = 1;
	run_store_bound(store, 0, 0);
	result = result_of_job(&r, NULL, &o);
	got = summary(result);
	assert_non_null(strstr(got, "attached)|resource:"));
	free(got);
	json_decref(result);
	free(ones);
	run_store_free(&store);
}

static void
test_picture_budget(void **state)
{
	struct run_store *store = run_store_new();
	struct result_options o = { .store = store, .links = 1,
	    .max_images = 59 };
	struct job_result r = ok();
	struct job_file images[] = { file("1.png", PNG, sizeof PNG),
	    file("2.png", PNG "a long one", sizeof PNG + 10),
	    file("3.png", PNG, sizeof PNG), file("4.png", PNG, sizeof PNG) };
	json_t *result;
	char *got;

	run_store_bound(store, 10000, 3600000000ULL);
	images[1].small = str(PNG);
	images[1].small_len = sizeof PNG;
	r.images = images;
	r.nimages = 4;
	result = result_of_job(&r, NULL, &o);
	got = summary(result);
	assert_string_equal(got, "image:image/png|image:image/png"
	    "|resource_link:image/png|resource_link:image/png"
	    "|resource_link:image/png|text:pictures: 2.png (24 bytes) is "
	    "shown smaller than it is, and whole at adder://run/r1/2.png; "
	    "3.png (14 bytes) is left out: it is too large, and whole at "
	    "adder://run/r1/3.png; 4.png (14 bytes) is left out: it is too "
	    "large, and whole at adder://run/r1/4.png");
	free(got);
	assert_int_equal(run_store_find(store, "adder://run/r1/2.png")->len,
	    sizeof PNG + 10);
	assert_null(run_store_find(store, "adder://run/r1/1.png"));
	json_decref(result);
	run_store_free(&store);
}

static void
test_structured(void **state)
{
	static const struct result_options o = { .structured = 1 };
	struct job_result r = ok();
	struct job_file image = file("1", PNG, sizeof PNG);
	json_t *result;
	char *line;
	size_t len;

	set_output(&r.output[JOB_STDOUT], "out\n");
	r.value = str("42");
	r.value_len = 2;
	result = result_of_job(&r, NULL, &o);
	line = json_line(json_object_get(result, "structuredContent"), &len);
	assert_string_equal(line, "{\"text\":\"out\\n\\nvalue: 42\"}");
	free(line);
	json_decref(result);
	r.images = &image;
	r.nimages = 1;
	result = result_of_job(&r, NULL, &o);
	assert_null(json_object_get(result, "structuredContent"));
	json_decref(result);
	r.nimages = 0;
	r.verdict = VERDICT_EXIT;
	result = result_of_job(&r, NULL, &o);
	assert_null(json_object_get(result, "structuredContent"));
	json_decref(result);
}

static void
test_refusals(void **state)
{
	json_t *result = result_of_refusal(VERDICT_BUSY, "Later.");
	char *line;
	size_t len;

	line = json_line(result, &len);
	assert_string_equal(line, "{\"content\":[{\"type\":\"text\",\"text\":"
	    "\"Later.\"}],\"isError\":true,\"_meta\":{\"adder/receipt\":{"
	    "\"verdict\":\"busy\"}}}");
	free(line);
	json_decref(result);
	result = result_of_error("No.");
	assert_true(json_is_true(json_object_get(result, "isError")));
	json_decref(result);
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
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_failure),
		cmocka_unit_test(test_receipt),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_pictures),
		cmocka_unit_test(test_text_budget),
		cmocka_unit_test(test_text_of_garbage),
		cmocka_unit_test(test_text_edges),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_picture_budget),
		cmocka_unit_test(test_structured),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
