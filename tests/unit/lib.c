/* The leaves: units, base64, UTF-8. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "mem.h"
#include "unit.h"
#include "units.h"
#include "utf8.h"

#define BAD	UINT64_MAX

static void
test_sizes(void **state)
{
	static const struct {
		const char	*in;
		uint64_t	 want;
	} cases[] = {
		{ "0", 0 }, { "1", 1 }, { "64k", 65536 }, { "64K", 65536 },
		{ "512m", 512u << 20 }, { "2g", 2ull << 30 },
		{ "1.5k", 1536 }, { "0.5k", 512 },
		{ "", BAD }, { "k", BAD }, { "-1", BAD }, { "+1", BAD },
		{ " 1", BAD }, { "1 ", BAD }, { "1kb", BAD }, { "0x10", BAD },
		{ "1e3", BAD }, { "0.3", BAD }, { "inf", BAD }, { "nan", BAD },
		{ "9999999999999g", BAD }, { "1t", BAD }
	};
	size_t i;

	for (i = 0; i < NITEMS(cases); i++) {
		uint64_t v = BAD;
		int rv = size_parse(cases[i].in, &v);

		if (rv != (cases[i].want == BAD ? -1 : 0) ||
		    (rv == 0 && v != cases[i].want))
			fail_msg("size \"%s\": %d, %llu", cases[i].in, rv,
			    (unsigned long long)v);
	}
}

static void
test_durations(void **state)
{
	static const struct {
		const char	*in;
		uint64_t	 want;
	} cases[] = {
		{ "0", 0 }, { "5", 5000 }, { "5s", 5000 }, { "250ms", 250 },
		{ "0.25", 250 }, { "2m", 120000 }, { "1h", 3600000 },
		{ "1d", 86400000 }, { "1.5S", 1500 },
		{ "", BAD }, { "s", BAD }, { "-5s", BAD }, { "5 s", BAD },
		{ "0.0001", BAD }, { "1w", BAD }, { "1..5", BAD },
		{ "99999999999999d", BAD }
	};
	size_t i;

	for (i = 0; i < NITEMS(cases); i++) {
		uint64_t v = BAD;
		int rv = duration_parse(cases[i].in, &v);

		if (rv != (cases[i].want == BAD ? -1 : 0) ||
		    (rv == 0 && v != cases[i].want))
			fail_msg("duration \"%s\": %d, %llu", cases[i].in, rv,
			    (unsigned long long)v);
	}
}

/* What is printed is read back as the same value. */
static void
test_formats(void **state)
{
	static const uint64_t values[] = { 0, 1, 250, 999, 1000, 1023, 1024,
	    1500, 5000, 60000, 65536, 90000, 3600000, 86400000, 1u << 30,
	    123456789, 1ull << 40 };
	char buf[32];
	uint64_t v;
	size_t i;

	for (i = 0; i < NITEMS(values); i++) {
		size_format(values[i], buf, sizeof buf);
		assert_int_equal(size_parse(buf, &v), 0);
		assert_int_equal(v, values[i]);
		duration_format(values[i], buf, sizeof buf);
		assert_int_equal(duration_parse(buf, &v), 0);
		assert_int_equal(v, values[i]);
	}
	size_text(512u << 20, buf, sizeof buf);
	assert_string_equal(buf, "512 MiB");
	size_text(0, buf, sizeof buf);
	assert_string_equal(buf, "0 bytes");
	size_text(1000, buf, sizeof buf);
	assert_string_equal(buf, "1000 bytes");
	duration_text(60000, buf, sizeof buf);
	assert_string_equal(buf, "60 s");
	duration_text(250, buf, sizeof buf);
	assert_string_equal(buf, "0.25 s");
}

/* RFC 4648, section 10, and bytes with the high bit. */
static void
test_base64(void **state)
{
	static const struct {
		const char	*in;
		size_t		 len;
		const char	*want;
	} cases[] = {
		{ "", 0, "" }, { "f", 1, "Zg==" }, { "fo", 2, "Zm8=" },
		{ "foo", 3, "Zm9v" }, { "foob", 4, "Zm9vYg==" },
		{ "fooba", 5, "Zm9vYmE=" }, { "foobar", 6, "Zm9vYmFy" },
		{ "\xff\xfe\xfd", 3, "//79" }, { "\0\0\0\0", 4, "AAAAAA==" },
		{ "\xfb\xff", 2, "+/8=" }
	};
	static const char *const bad[] = { "Z", "Zg", "Zg=", "Zh==", "Zm9=",
	    "====", "Z===", "Zg==Zg==", "Zm9v\n", "Zm_v", "=Zm9" };
	size_t i, len;

	for (i = 0; i < NITEMS(cases); i++) {
		char *s = base64_encode(cases[i].in, cases[i].len);

		assert_string_equal(s, cases[i].want);
		assert_int_equal(base64_length(cases[i].len), strlen(s));
		free(s);
		s = base64_decode(cases[i].want, strlen(cases[i].want), &len);
		assert_non_null(s);
		assert_int_equal(len, cases[i].len);
		assert_memory_equal(s, cases[i].in, len + 1);
		free(s);
	}
	for (i = 0; i < NITEMS(bad); i++)
		assert_null(base64_decode(bad[i], strlen(bad[i]), &len));
}

#define R	"\xef\xbf\xbd"

/* As bytes.decode("utf-8", "replace") of CPython gives it. */
static void
test_utf8_clean(void **state)
{
	static const struct {
		const char	*in;
		size_t		 len;
		const char	*want;
		size_t		 want_len;
	} cases[] = {
		{ "abc", 3, "abc", 3 }, { "", 0, "", 0 },
		{ "a\0b", 3, "a\0b", 3 },
		{ "\xc3\xa9", 2, "\xc3\xa9", 2 },
		{ "\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80", 4 },
		{ "\xef\xbf\xbf", 3, "\xef\xbf\xbf", 3 },
		{ "\xff", 1, R, 3 }, { "\x80", 1, R, 3 },
		{ "\xc3", 1, R, 3 }, { "\xc3x", 2, R "x", 4 },
		{ "\xc0\x80", 2, R R, 6 },	/* overlong NUL */
		{ "\xe0\x80\x80", 3, R R R, 9 },	/* overlong */
		{ "\xed\xa0\x80", 3, R R R, 9 },	/* surrogate */
		{ "\xf4\x90\x80\x80", 4, R R R R, 12 },	/* beyond U+10FFFF */
		{ "\xf0\x9f\x98", 3, R, 3 },	/* cut short: one mark */
		{ "\xf0\x9f\x98x", 4, R "x", 4 },
		{ "\xe2\x82\xe2\x82\xac", 5, R "\xe2\x82\xac", 6 }
	};
	size_t i, n;

	for (i = 0; i < NITEMS(cases); i++) {
		char *s = utf8_clean(cases[i].in, cases[i].len, &n);

		if (n != cases[i].want_len ||
		    memcmp(s, cases[i].want, n + 1) != 0)
			fail_msg("case %zu gave %zu bytes: %s", i, n, s);
		assert_int_equal(utf8_valid(cases[i].in, cases[i].len),
		    n == cases[i].len && memcmp(s, cases[i].in, n) == 0);
		assert_true(utf8_valid(s, n));
		free(s);
	}
}

static void
test_utf8_random(void **state)
{
	uint32_t seed = 1;
	char in[64];
	size_t i, n, len;

	for (i = 0; i < 20000; i++) {
		for (len = 0; len < sizeof in; len++)
			in[len] = unit_random(&seed) >> 8;
		len = unit_random(&seed) % sizeof in;
		char *s = utf8_clean(in, len, &n);
		assert_true(utf8_valid(s, n));
		assert_uint_in_range(n, len / 4, 3 * len);
		free(s);
	}
}

static void
test_utf8_cuts(void **state)
{
	/* a, e acute, euro sign, a smiley: 1, 2, 3 and 4 bytes. */
	static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
	static const size_t ends[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10 };
	size_t i;

	for (i = 0; i <= 10; i++) {
		assert_int_equal(utf8_whole_end(text, i), ends[i]);
		assert_true(utf8_valid(text, utf8_whole_end(text, i)));
	}
	assert_int_equal(utf8_whole_start(text + 2, 8), 1);
	assert_int_equal(utf8_whole_start(text + 4, 6), 2);
	assert_int_equal(utf8_whole_start(text + 7, 3), 3);
	assert_int_equal(utf8_whole_start(text + 3, 7), 0);
	assert_int_equal(utf8_whole_start("\x80\x80\x80\x80\x80", 5), 3);
	assert_int_equal(utf8_whole_end("\x80\x80\x80\x80\x80", 5), 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_base64),
		cmocka_unit_test(test_utf8_clean),
		cmocka_unit_test(test_utf8_random),
		cmocka_unit_test(test_utf8_cuts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
