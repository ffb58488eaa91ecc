#ifndef ADDER_PREFAULT_H
#define ADDER_PREFAULT_H

#include <stdio.h>

/*
 * Prefaulting: a rehearsal in a fork of the zygote shows which pages a
 * worker touches between its fork and the end of a small job; each worker
 * then has them mapped in a few calls ahead of its job, instead of by a
 * fault each.  Only with compaction, where a fork starts with empty page
 * tables (compact.h).
 */

/* Forks, lets the child call rehearse(arg), and records the pages that it
 * has touched.  -1 with errno; then workers fault as they go. */
int	prefault_record(void (*rehearse)(void *), void *arg);
/* The number of pages: to be written, to be read. */
void	prefault_counts(unsigned *written, unsigned *read);
/* In a fresh worker: maps them (madvise(2), MADV_POPULATE_WRITE, Linux
 * 5.14). */
void	prefault_apply(void);
/* Of what was recorded, leaves out what is not mapped any more; maps is this
 * process's /proc/self/maps from its beginning. */
void	prefault_forget_unmapped(FILE *maps);

#endif
