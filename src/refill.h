#ifndef ADDER_REFILL_H
#define ADDER_REFILL_H

#include <stdint.h>

/*
 * When idle workers are made.  Making one takes the CPUs for longer than a
 * short job does, so that it would delay the very calls that made room for
 * it: as long as the pool is half full, refilling waits for a quiet moment.
 */

struct refill_state {
	unsigned	starting;	/* workers being made, */
	unsigned	parked;		/* idle ones, */
	unsigned	busy;		/* those with a job */
	unsigned	wanted;		/* starting and idle ones together */
	unsigned	starting_max;	/* made at once */
	unsigned	queued;		/* jobs that wait */
	uint64_t	touched_us;	/* when a job last began or ended, */
	uint64_t	now_us;		/* by the same clock */
};

/* How many workers to begin now.  *again_us: if not 0, the time after which
 * to ask again though nothing has happened. */
unsigned	refill_due(const struct refill_state *, uint64_t *again_us);

/* How long it is until no job has begun or ended for a while,
 * microseconds. */
uint64_t	refill_quiet_us(const struct refill_state *);

#endif
