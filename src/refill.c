#include "config.h"

#include "refill.h"

/* How long ago the last job must have ended: long enough for a client that
 * calls again at once to have done so. */
#define QUIET_US	1000
/* A job that still runs after this long is not a short one, and has to share
 * the CPUs. */
#define PATIENCE_US	20000

static uint64_t
left_us(const struct refill_state *s, uint64_t wait)
{
	uint64_t gone = s->now_us - s->touched_us;

	return gone < wait ? wait - gone : 0;
}

uint64_t
refill_quiet_us(const struct refill_state *s)
{
	return left_us(s, QUIET_US);
}

static uint64_t
wait_us(const struct refill_state *s)
{
	if (s->queued > 0 || s->parked + s->starting < (s->wanted + 1) / 2)
		return 0;
	return left_us(s, s->busy > 0 ? PATIENCE_US : QUIET_US);
}

unsigned
refill_due(const struct refill_state *s, uint64_t *again_us)
{
	unsigned missing, room;

	*again_us = 0;
	if (s->parked + s->starting >= s->wanted ||
	    s->starting >= s->starting_max)
		return 0;
	*again_us = wait_us(s);
	if (*again_us > 0)
		return 0;
	missing = s->wanted - s->parked - s->starting;
	room = s->starting_max - s->starting;
	return missing < room ? missing : room;
}
