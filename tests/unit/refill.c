#include "config.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "refill.h"

/* A pool of eight at rest since long ago. */
static const struct refill_state rest = { .parked = 8, .wanted = 8,
    .starting_max = 2, .touched_us = 1000000, .now_us = 9000000 };

static void
expect(const struct refill_state *s, unsigned n, uint64_t again)
{
	uint64_t again_us;

	assert_int_equal(refill_due(s, &again_us), n);
	assert_int_equal(again_us, again);
}

static void
test_full(void **state)
{
	struct refill_state s = rest;

	expect(&s, 0, 0);
	s.parked = 7;
	s.starting = 1;
	expect(&s, 0, 0);
	s.parked = 12;
	s.starting = 0;
	expect(&s, 0, 0);
}

static void
test_as_many_as_may_start(void **state)
{
	struct refill_state s = rest;

	s.parked = 7;
	expect(&s, 1, 0);
	s.parked = 1;
	expect(&s, 2, 0);
	s.starting = 1;
	expect(&s, 1, 0);
	s.starting = 2;
	expect(&s, 0, 0);
}

/* While a short job runs, and for a moment after it, half a pool will do. */
static void
test_quiet(void **state)
{
	struct refill_state s = rest;

	s.parked = 7;
	s.busy = 1;
	s.now_us = s.touched_us + 300;
	expect(&s, 0, 19700);
	s.busy = 0;
	expect(&s, 0, 700);
	assert_int_equal(refill_quiet_us(&s), 700);
	s.now_us = s.touched_us + 1000;
	expect(&s, 1, 0);
	assert_int_equal(refill_quiet_us(&s), 0);
	s.busy = 1;
	s.now_us = s.touched_us + 20000;
	expect(&s, 1, 0);
}

static void
test_short_of_workers(void **state)
{
	struct refill_state s = rest;

	s.busy = 5;
	s.now_us = s.touched_us + 10;
	s.parked = 4;
	expect(&s, 0, 19990);
	s.parked = 3;
	expect(&s, 2, 0);
	/* Somebody waits: at once. */
	s.parked = 7;
	s.queued = 1;
	expect(&s, 1, 0);
	/* A pool of one has no half. */
	s = rest;
	s.wanted = 1;
	s.parked = 0;
	s.busy = 1;
	s.now_us = s.touched_us;
	expect(&s, 1, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_as_many_as_may_start),
		cmocka_unit_test(test_quiet),
		cmocka_unit_test(test_short_of_workers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
