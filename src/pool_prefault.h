#ifndef ADDER_POOL_PREFAULT_H
#define ADDER_POOL_PREFAULT_H

#include <stdint.h>

#include "worker_proc.h"

struct conf;
struct refill_state;

/*
 * When idle workers touch ahead what their jobs will need, and which: those
 * at the head of the pool, one at a time and a little at a time, while no
 * worker is to be made and a CPU has nothing else to do.
 */

#define PREFAULT_NOT_NOW	UINT64_MAX

/* How long to wait before a worker may be asked, microseconds, beside so many
 * calls of sessions; 0 for not at all, PREFAULT_NOT_NOW until something
 * happens. */
uint64_t	pool_prefault_wait_us(const struct refill_state *,
		    unsigned calls);
/* Whether one of the first heads workers has anything left to touch. */
int		pool_prefault_is_due(const struct worker_list *,
		    uint64_t heads, const struct conf *);
/* Asks the next of the first heads workers for its next pages.  The worker
 * asked, or NULL if none has any left. */
struct worker_proc *pool_prefault_ask(struct worker_list *, uint64_t heads,
		    const struct conf *);

#endif
