#ifndef ADDER_PREFAULT_H
#define ADDER_PREFAULT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Prefaulting.  A fork of a compacted zygote starts with empty page tables
 * (compact.h), and its first use of a library faults in each page that it
 * reads or writes.  Small programs are rehearsed in forks of the zygote;
 * what they touched, the pages that most of them touched first, is touched
 * ahead by idle workers when adderd has nothing else to do.
 */

/* Pages next to each other: the number of the first (an address without the
 * bits within a page), how many they are, and whether they are written. */
struct prefault_range {
	uint64_t	first : 52;
	uint64_t	pages : 11;
	uint64_t	written : 1;
};

#define PREFAULT_RANGES_MAX	12288
#define PREFAULT_RANGE_PAGES	1024

/* What prefault_record() found, in pages. */
struct prefault_counts {
	unsigned	ranges;
	unsigned	written;
	unsigned	read;
	unsigned	failed;		/* programs */
};

enum { PREFAULT_ALL, PREFAULT_WRITTEN };

/*
 * In the zygote: has rehearse(i) called in a fork of its own for each i below
 * n, and keeps for the workers to come what at least two of them touched, or
 * one wrote to that takes short (PREFAULT_ALL).  Of one that returns
 * PREFAULT_WRITTEN only that counts, of one that returns -1 nothing.
 * prepare() comes before it in each fork: what a worker touches in any case
 * is not recorded.  Needs /proc.  -1 with errno; then workers have nothing to
 * touch.
 */
int	prefault_record(unsigned n, void (*prepare)(void),
	    int (*rehearse)(unsigned i), struct prefault_counts *);

/* In a worker: touches about this many pages more, fewer where interrupted()
 * says so in between; the number of those that it has a copy of now. */
unsigned prefault_step(unsigned pages, int (*interrupted)(void));
/* Whether there are more. */
int	prefault_has_more(void);

/* --- prefault_record.c fills these */

extern struct prefault_range	prefault_ranges[PREFAULT_RANGES_MAX];
extern unsigned			prefault_nranges;

#endif
