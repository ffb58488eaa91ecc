#include "config.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "prefault.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ	22
#define MADV_POPULATE_WRITE	23
#endif

/* Between two looks at what else there is to do, some 20 microseconds. */
#define PAGES_AT_ONCE		8
#define STACK_BYTES		(96 * 1024)

struct prefault_range	prefault_ranges[PREFAULT_RANGES_MAX];
unsigned		prefault_nranges;

static unsigned		at_range;	/* the next to be touched, */
static unsigned		at_page;	/* and the page in it */

/*
 * As reading or writing each of the pages would (madvise(2), Linux 5.14).  Of
 * pages that are read one will do: the kernel maps those around it that it
 * has at hand (fault_around_bytes, 64 KiB where nobody changed it).
 */
static int
populate(const struct prefault_range *r, unsigned n, size_t size)
{
	uint64_t at = (r->first + at_page) * size;

	return madvise((void *)(uintptr_t)at, r->written ? n * size : size,
	    r->written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
}

/* How many pages that was. */
static unsigned
touch_some(const struct prefault_range *r, size_t size)
{
	unsigned n = r->pages - at_page;

	if (n > PAGES_AT_ONCE)
		n = PAGES_AT_ONCE;
	if (populate(r, n, size) == -1 && errno == EINVAL)
		at_range = prefault_nranges;	/* an older kernel */
	at_page += n;
	return n;
}

/* Programs go deeper than the way that has led here. */
static __attribute__((noinline)) void
touch_stack(size_t size)
{
	volatile char room[STACK_BYTES];
	size_t i;

	for (i = 0; i < sizeof room; i += size)
		room[i] = 0;
}

unsigned
prefault_step(unsigned pages, int (*interrupted)(void))
{
	size_t size = sysconf(_SC_PAGESIZE);
	unsigned done = 0, copied = 0, looked = 0, n;
	const struct prefault_range *r;

	if (at_range == 0)
		touch_stack(size);
	while (at_range < prefault_nranges && done < pages) {
		if (done - looked >= PAGES_AT_ONCE) {
			looked = done;
			/* The CPU may be the one of a job of another. */
			sched_yield();
			if (interrupted())
				break;
		}
		r = &prefault_ranges[at_range];
		n = touch_some(r, size);
		done += n;
		if (r->written)
			copied += n;
		if (at_page == r->pages) {
			at_range++;
			at_page = 0;
		}
	}
	return copied;
}

int
prefault_has_more(void)
{
	return at_range < prefault_nranges;
}
