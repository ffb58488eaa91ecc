#ifndef ADDER_UNIT_H
#define ADDER_UNIT_H

/* cmocka wants these before its own header. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka 2 has this name for it, and a warning for the old one. */
#ifndef assert_uint_in_range
#define assert_uint_in_range	assert_in_range
#endif

#define NITEMS(a)	(sizeof (a) / sizeof (a)[0])

/* A generator of our own: the same bytes in every run, everywhere. */
static inline uint32_t
unit_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

#endif
