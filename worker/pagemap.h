#ifndef ADDER_PAGEMAP_H
#define ADDER_PAGEMAP_H

#include <stddef.h>
#include <stdint.h>

/* Which pages of its private memory this process has touched. */

enum page_touch { PAGE_READ = 1, PAGE_WRITTEN = 2 };

struct touched_page {
	uint64_t	number;		/* its address / the size of a page */
	uint64_t	how;		/* PAGE_READ or PAGE_WRITTEN */
};

/* Memory next to each other, in numbers of pages: first, and one after. */
struct page_run {
	uint64_t	first, end;
};

/* The private memory that may be read, but the kernel's own and the stack,
 * in *list (the caller frees); -1 with errno.  Needs /proc. */
int	pagemap_runs(struct page_run **list, size_t *n);
/*
 * The pages of these runs that are present, by address, in *list (the caller
 * frees); -1 with errno.  Present and no page of a file is taken for written
 * (/proc/PID/pagemap, proc(5): those bits need no privilege).  Needs /proc.
 */
int	pagemap_touched(const struct page_run *, size_t nruns,
	    struct touched_page **list, size_t *n);

#endif
