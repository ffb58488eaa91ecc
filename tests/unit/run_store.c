/* What recent runs left behind, and for how long. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "run_store.h"
#include "unit.h"

#define HOUR_US		3600000000ULL

static int	me, you;

static const struct run_item *
add(struct run_store *s, const char *run, const void *owner, const char *name,
    size_t len)
{
	char *data = xcalloc(1, len + 1);

	memset(data, 'x', len);
	return run_store_add(s, run, owner, name, "text/plain", data, len);
}

static void
test_names(void **state)
{
	static const struct {
		const char	*name, *uri;
	} cases[] = {
		{ "stdout", "adder://run/r/stdout" },
		{ "d/a b.csv", "adder://run/r/d/a%20b.csv" },
		{ "50%?#\xc3\xa9", "adder://run/r/50%25%3F%23%C3%A9" },
		{ "stdout", "adder://run/r/stdout~2" },
		{ "stdout", "adder://run/r/stdout~3" }
	};
	struct run_store *s = run_store_new();
	const struct run_item *item;
	size_t i;

	run_store_bound(s, 10000, HOUR_US);
	for (i = 0; i < NITEMS(cases); i++) {
		item = add(s, "r", &me, cases[i].name, i);
		assert_string_equal(item->uri, cases[i].uri);
		assert_string_equal(item->name, cases[i].name);
		assert_int_equal(item->len, i);
		assert_ptr_equal(run_store_find(s, cases[i].uri), item);
	}
	assert_null(run_store_find(s, "adder://run/r/none"));
	assert_null(run_store_find(s, "adder://run/q/stdout"));
	assert_null(run_store_find(s, "stdout"));
	assert_null(run_store_find(s, ""));
	run_store_free(&s);
	assert_null(s);
}

static void
test_bytes(void **state)
{
	struct run_store *s = run_store_new();

	/* With no bound set there is no room. */
	assert_null(add(s, "a", &me, "f", 1));
	assert_false(run_store_fits(s, 0));
	run_store_bound(s, 10000, HOUR_US);
	assert_true(run_store_fits(s, 9000));
	assert_false(run_store_fits(s, 10000));
	assert_null(add(s, "a", &me, "f", 10000));
	assert_int_equal(run_store_bytes(s), 0);
	assert_non_null(add(s, "a", &me, "f", 3000));
	assert_non_null(add(s, "b", &me, "f", 3000));
	assert_non_null(run_store_find(s, "adder://run/a/f"));
	/* The oldest goes first, never a part of the newest. */
	assert_non_null(add(s, "c", &me, "f", 4000));
	assert_null(run_store_find(s, "adder://run/a/f"));
	assert_non_null(run_store_find(s, "adder://run/b/f"));
	assert_null(add(s, "c", &me, "g", 6000));
	assert_non_null(run_store_find(s, "adder://run/c/f"));
	assert_uint_in_range(run_store_bytes(s), 7000, 10000);
	run_store_bound(s, 5000, HOUR_US);
	assert_null(run_store_find(s, "adder://run/b/f"));
	assert_non_null(run_store_find(s, "adder://run/c/f"));
	run_store_bound(s, 0, HOUR_US);
	assert_int_equal(run_store_bytes(s), 0);
	run_store_free(&s);
}

static void
test_age(void **state)
{
	struct run_store *s = run_store_new();

	run_store_bound(s, 10000, HOUR_US);
	assert_int_equal(run_store_expire(s), 0);
	add(s, "a", &me, "f", 1);
	assert_uint_in_range(run_store_expire(s), HOUR_US / 2, HOUR_US);
	run_store_bound(s, 10000, 0);
	assert_int_equal(run_store_expire(s), 0);
	assert_int_equal(run_store_bytes(s), 0);
	run_store_free(&s);
}

static void
test_lists(void **state)
{
	struct run_store *s = run_store_new();
	const struct run_item *item;

	run_store_bound(s, 10000, HOUR_US);
	add(s, "a", &me, "1", 1);
	add(s, "b", &you, "2", 1);
	add(s, "c", &me, "3", 1);
	add(s, "c", &me, "4", 1);
	item = run_store_next(s, &me, "", 0);
	assert_string_equal(item->name, "1");
	item = run_store_next(s, &me, "", item->serial);
	assert_string_equal(item->name, "3");
	item = run_store_next(s, &me, "", item->serial);
	assert_string_equal(item->name, "4");
	assert_null(run_store_next(s, &me, "", item->serial));
	/* Nobody else finds in a list what somebody left, but it is there. */
	run_store_disown(s, &me);
	assert_null(run_store_next(s, &me, "", 0));
	assert_non_null(run_store_find(s, "adder://run/c/4"));
	assert_non_null(run_store_next(s, &you, "", 0));
	run_store_free(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_age),
		cmocka_unit_test(test_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
