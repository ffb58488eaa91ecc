#include "config.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "module_names.h"
#include "packages.h"

static const struct {
	const char	*code;
	const char	*script;	/* NULL: nothing is asked for */
} cases[] = {
	{ "print(1)", NULL },
	{ "# /// script", NULL },
	{ "# /// script\n# dependencies = []\n", NULL },
	{ "x\n# /// script\n# a\n# ///\nprint(1)",
	    "# /// script\\n# a\\n# ///" },
	{ "# /// script\n# a\n# ///", "# /// script\\n# a\\n# ///" },
	/* The last line that ends it before code counts (PEP 723). */
	{ "# /// script\n# ///\n# a\n# ///\nx",
	    "# /// script\\n# ///\\n# a\\n# ///" },
	{ "# /// script\n# a\nx\n# ///\n", NULL },
	{ "# /// scripts\n# ///\n", NULL },
	{ "y # /// script\n# ///\n", NULL },
	{ "# /// script  \r\n#\n# ///\r\n",
	    "# /// script  \\r\\n#\\n# ///" },
	{ "# /// pyproject\n# ///\n# /// script\n# ///\n",
	    "# /// script\\n# ///" },
};

static void
test_block(void **state)
{
	char *line, *why, *got, expected[256];
	size_t i, len;

	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		/* Without the NUL: what lies behind must not be read. */
		len = strlen(cases[i].code);
		line = malloc(len);
		memcpy(line, cases[i].code, len);
		got = packages_of(NULL, line, len, &why);
		free(line);
		assert_null(why);
		if (cases[i].script == NULL) {
			assert_null(got);
			continue;
		}
		snprintf(expected, sizeof expected, "{\"requirements\":[],"
		    "\"script\":\"%s\"}", cases[i].script);
		assert_non_null(got);
		assert_string_equal(got, expected);
		free(got);
	}
}

static void
test_bounds(void **state)
{
	json_t *list = json_array();
	char *why, *got;
	int i;

	assert_null(packages_of(list, "x", 1, &why));
	assert_null(why);
	for (i = 0; i < PACKAGES_MAX; i++)
		json_array_append_new(list, json_string("a"));
	got = packages_of(list, "x", 1, &why);
	assert_non_null(got);
	free(got);
	json_array_append_new(list, json_string("a"));
	assert_null(packages_of(list, "x", 1, &why));
	assert_non_null(strstr(why, "65 packages"));
	free(why);
	json_decref(list);
}

static void
test_same(void **state)
{
	static const struct {
		const char	*list;
		int		 same;
	} sames[] = {
		{ "[\"a\", \"b>1\"]", 1 },
		{ "[\"b>1\", \"a\", \"a\"]", 1 },
		{ "[\"a\"]", 0 },
		{ "[\"a\", \"b>1\", \"c\"]", 0 },
		{ "[\"a\", \"b>2\"]", 0 },
		{ "[]", 0 }
	};
	json_t *list = json_loads(sames[0].list, 0, NULL);
	char *why, *packages = packages_of(list, "", 0, &why), *text;
	size_t i;

	json_decref(list);
	text = packages_text(packages);
	assert_string_equal(text, "[\"a\",\"b>1\"]");
	free(text);
	for (i = 0; i < sizeof sames / sizeof sames[0]; i++) {
		list = json_loads(sames[i].list, 0, NULL);
		assert_int_equal(packages_are(list, packages), sames[i].same);
		json_decref(list);
	}
	free(packages);
}

static void
test_names(void **state)
{
	assert_string_equal(module_package("cv2.x", 3),
	    "opencv-python-headless");
	assert_string_equal(module_package("yaml", 4), "PyYAML");
	assert_null(module_package("cv", 2));
	assert_null(module_package("numpy", 5));
	assert_null(module_package("", 0));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_block),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_same)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
