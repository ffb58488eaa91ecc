#ifndef ADDER_FUZZ_H
#define ADDER_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * A fuzz target is one function that takes any bytes and must return 0.  It
 * is linked with libFuzzer (--enable-fuzzing), or with replay.c, which gives
 * it the files of its corpus.
 */
int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* What has to hold for any input. */
#define FUZZ_CHECK(condition)						\
	do {								\
		if (!(condition)) {					\
			fprintf(stderr, "%s:%d: does not hold: %s\n",	\
			    __FILE__, __LINE__, #condition);		\
			abort();					\
		}							\
	} while (0)

#endif
