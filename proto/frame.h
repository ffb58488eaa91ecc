#ifndef ADDER_FRAME_H
#define ADDER_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "proto.h"

/* One frame as it lies in a buffer; payload points into that buffer. */
struct frame {
	enum frame_type	 type;
	const char	*payload;
	size_t		 len;
};

/* Name of a type for logs; "unknown" for a number outside the list. */
const char	*frame_name(unsigned type);
/* NULL if a frame of this type and payload length may travel in this
 * direction, else the reason why not (a static string). */
const char	*frame_rule(unsigned type, enum frame_dir, size_t len);
/*
 * Finds the first frame in len bytes.  Returns the bytes that it takes, 0 if
 * more are needed (*need is then the total, never above the type's cap), or
 * -1 with *why set: the header is against the rules, which is decided
 * before any payload is read.
 */
long		 frame_split(const void *buf, size_t len, enum frame_dir,
		    struct frame *, size_t *need, const char **why);
void		 frame_header(char out[FRAME_HEADER_BYTES], enum frame_type,
		    size_t len);

#endif
