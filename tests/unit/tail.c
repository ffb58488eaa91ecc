#include "config.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tail.h"

static const struct {
	const char	*text;
	enum tail_kind	 kind;
	size_t		 at;
} cases[] = {
	{ "", TAIL_UNKNOWN, 0 },
	{ "\n\n", TAIL_UNKNOWN, 0 },
	{ "# x", TAIL_UNKNOWN, 0 },
	{ "  x", TAIL_UNKNOWN, 0 },
	{ "x", TAIL_SIMPLE, 0 },
	{ "x\n", TAIL_SIMPLE, 0 },
	{ "a = 1\nx", TAIL_SIMPLE, 6 },
	{ "a = 1\nx\n\n# end\n", TAIL_SIMPLE, 6 },
	{ "a = 1\nprint(\n  a,\n)\n", TAIL_SIMPLE, 6 },
	{ "a\n\"x\"", TAIL_SIMPLE, 2 },
	{ "a\n-b", TAIL_SIMPLE, 2 },
	{ "a\n\xc3\xa9", TAIL_UNKNOWN, 0 },
	{ "a\n)", TAIL_SIMPLE, 0 },
	{ "a\nfor x in y:\n\tz\n", TAIL_COMPOUND, 2 },
	{ "a\nforx", TAIL_SIMPLE, 2 },
	{ "a\nif x: y", TAIL_COMPOUND, 2 },
	{ "if x:\n  y\nelse:\n  z\n", TAIL_UNKNOWN, 0 },
	{ "match x:\n  case 1: y\n", TAIL_UNKNOWN, 0 },
	{ "await x", TAIL_UNKNOWN, 0 },
	{ "@d\ndef f(): pass\n", TAIL_COMPOUND, 3 },
	{ "a; b", TAIL_UNKNOWN, 0 },
	{ "a; b\nc", TAIL_SIMPLE, 5 },
	{ "a\r\nb", TAIL_UNKNOWN, 0 },
	{ "from __future__ import annotations\nx", TAIL_UNKNOWN, 0 },
	{ "a\nx is 3", TAIL_UNKNOWN, 0 },
	{ "a\nb \\\n + 1", TAIL_UNKNOWN, 0 },
};

static void
test_cases(void **state)
{
	size_t i, at;

	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const char *text = cases[i].text;
		enum tail_kind kind = tail_find(text, strlen(text), &at);

		if (kind != cases[i].kind)
			fail_msg("\"%s\": kind %d", text, kind);
		if (kind != TAIL_UNKNOWN && at != cases[i].at)
			fail_msg("\"%s\": at %zu", text, at);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
