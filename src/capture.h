#ifndef ADDER_CAPTURE_H
#define ADDER_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

struct job_output;

/*
 * Keeps the beginning and the end of a stream of any length in bounded
 * memory: the first half of the limit as it comes, then a ring of the other
 * half.
 */
struct capture {
	size_t		 limit;		/* bytes kept in all */
	uint64_t	 total;		/* bytes seen */
	char		*head;
	size_t		 head_len, head_size;
	char		*ring;		/* limit / 2 bytes, once needed */
	size_t		 ring_len, ring_at;
};

void	capture_init(struct capture *, size_t limit);
void	capture_free(struct capture *);
void	capture_add(struct capture *, const char *, size_t);
/* Moves what was kept to out, whose strings become the caller's; where
 * nothing was dropped all of it is in out->head. */
void	capture_take(struct capture *, struct job_output *out);

#endif
