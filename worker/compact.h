#ifndef ADDER_COMPACT_H
#define ADDER_COMPACT_H

#include <stddef.h>

/*
 * Compaction: every private mapping of this process is moved into one memfd
 * and mapped from it, privately, at the place where it was, neighbours
 * joined.  Those that a fork is to wipe stay.
 *
 * Why: fork(2) copies the page tables of mappings that have anonymous pages
 * and one kernel object for each mapping.  A fresh private file mapping has
 * no such pages, so a child starts with empty tables and faults in only what
 * it touches; and a thousand mappings, most of them pieces of libraries,
 * become some thirty.
 *
 * What it costs: neighbours that are joined get the union of their
 * permissions, so that code can be written to.  It is the process that runs
 * a stranger's program: it gives native code for the asking (ctypes) anyway.
 */
struct compact_result {
	size_t	mappings_before;
	size_t	mappings_after;
	size_t	bytes;
};

/* In a process of one thread.  0, or -1 with errno and *step; then nothing
 * has been moved. */
int	compact(struct compact_result *, const char **step);

#endif
