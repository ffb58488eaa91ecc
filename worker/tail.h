#ifndef ADDER_TAIL_H
#define ADDER_TAIL_H

#include <stddef.h>

/*
 * Where the last statement of a program begins, guessed from its lines: the
 * last one that is not indented.  The guess is right if and only if what lies
 * before and what lies behind compile each by itself: a string, a bracket or
 * a compound statement that goes over the cut leaves both sides incomplete.
 */
enum tail_kind {
	TAIL_UNKNOWN,		/* no guess: parse the whole */
	TAIL_SIMPLE,		/* one simple statement, maybe an expression */
	TAIL_COMPOUND		/* if, for, def and their like: no value */
};

/* Looks at UTF-8 text without NUL; *at is the offset. */
enum tail_kind	tail_find(const char *text, size_t len, size_t *at);

#endif
