#ifndef ADDER_SCALE_H
#define ADDER_SCALE_H

#include <stdint.h>

/*
 * From here on pictures that are larger than can be shown, in pixels either
 * way or in bytes, are sent with a smaller one of them if that can be made.
 * side 0: none is looked at.  No Python exception may be pending when a
 * picture is sent.
 */
void	scale_begin(uint64_t side, uint64_t bytes);

#endif
