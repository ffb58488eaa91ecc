#ifndef ADDER_PICTURE_SIZE_H
#define ADDER_PICTURE_SIZE_H

#include <stddef.h>
#include <stdint.h>

/* The longer side in pixels of a PNG, JPEG, GIF or WebP, as its header has
 * it; 0 if it is none of these or has no such header. */
uint32_t	picture_side(const char *data, size_t len);

#endif
