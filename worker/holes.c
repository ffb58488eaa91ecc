#include "config.h"

#include "pycompat.h"

#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "holes.h"

/* Objects up to this many bytes come from pools of CPython's own, of one
 * size in steps each (Objects/obmalloc.c). */
#define SMALL_MAX	512
#define SMALL_STEP	16
/* A pool is at most this large, and less its head is filled with blocks. */
#define POOL_BYTES	(16 * 1024)
#define POOL_HEAD	64
/* Enough is enough, in bytes for a size. */
#define FILL_MAX	(16 * 1024 * 1024)
/* Larger than this, libc maps memory instead. */
#define LARGE_MAX	(64 * 1024)

/* Blocks of one size until as many as a pool holds lie in a row, which is a
 * pool that was free; that one is given back. */
static size_t
fill_size(size_t size)
{
	size_t want = (POOL_BYTES - POOL_HEAD) / size - 1, row = 0, n = 0;
	char *row_end = NULL, *p;

	while (row < want && n * size < FILL_MAX) {
		p = PyObject_Malloc(size);
		if (p == NULL)
			break;
		row = p == row_end ? row + 1 : 1;
		row_end = p + size;
		n++;
	}
	/* From the last, so that the first is given out first. */
	for (n -= row; row > 0; row--)
		PyObject_Free(row_end -= size);
	return n * size;
}

/* Chunks of one size until one comes from the untouched end. */
static size_t
fill_chunks(size_t size, const char *end)
{
	size_t n = 0;
	char *p;

	while (n * size < FILL_MAX && (p = malloc(size)) != NULL) {
		if (p >= end) {
			free(p);
			break;
		}
		n++;
	}
	return n * size;
}

size_t
holes_fill(void)
{
	size_t size, total = 0;
	char *end;

	for (size = SMALL_STEP; size <= SMALL_MAX; size += SMALL_STEP)
		total += fill_size(size);
	end = (char *)sbrk(0) - mallinfo2().keepcost;
	for (size = LARGE_MAX; size >= 32; size /= 2)
		total += fill_chunks(size - sizeof(void *), end);
	return total;
}
