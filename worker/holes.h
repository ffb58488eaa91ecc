#ifndef ADDER_HOLES_H
#define ADDER_HOLES_H

#include <stddef.h>

/*
 * Imports leave free memory scattered over all that they used.  A worker
 * that allocates would write to a page of its own for nearly each small
 * object; with the holes filled, what it allocates lies side by side, at the
 * end.
 */

/* In the zygote, before it forks: fills them for good.  Bytes that this
 * took. */
size_t	holes_fill(void);

#endif
