#ifndef ADDER_FUZZ_WORKER_H
#define ADDER_FUZZ_WORKER_H

#include <stdint.h>

/*
 * Plays a worker that a program has taken over: sends frames on fd that are
 * right, wrong, cut, too long, out of order, twice or noise, and noise on
 * standard output, all drawn from seed.  May not return.
 */
void	fuzz_worker(int fd, uint64_t seed);

#endif
