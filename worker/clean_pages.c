#include "config.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clean_pages.h"

/* Of an entry of /proc/self/pagemap (proc(5)). */
#define PAGE_PRESENT	(1ull << 63)
#define PAGE_OF_FILE	(1ull << 61)
#define ENTRIES		512

/* The runs of such pages among n entries that begin at an address. */
static void
drop_runs(const uint64_t *entries, size_t n, uintptr_t at, size_t page)
{
	const uint64_t clean = PAGE_PRESENT | PAGE_OF_FILE;
	size_t i, from = 0;

	for (i = 0; i <= n; i++) {
		if (i < n && (entries[i] & clean) == clean)
			continue;
		if (i > from)
			madvise((void *)(at + from * page), (i - from) * page,
			    MADV_DONTNEED);
		from = i + 1;
	}
}

static void
drop_mapping(int pagemap, uintptr_t start, uintptr_t end, size_t page)
{
	uint64_t entries[ENTRIES];
	uintptr_t at;
	size_t n;

	for (at = start; at < end; at += n * page) {
		n = (end - at) / page;
		if (n > ENTRIES)
			n = ENTRIES;
		if (pread(pagemap, entries, n * sizeof entries[0],
		    (off_t)(at / page * sizeof entries[0])) !=
		    (ssize_t)(n * sizeof entries[0]))
			return;
		drop_runs(entries, n, at, page);
	}
}

void
clean_pages_drop(FILE *maps, FILE *pagemap)
{
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned long start, end;
	char line[512], perms[8];

	while (fgets(line, sizeof line, maps) != NULL)
		if (sscanf(line, "%lx-%lx %7s", &start, &end, perms) == 3 &&
		    perms[0] == 'r' && perms[3] == 'p' && line[0] != 'f')
			drop_mapping(fileno(pagemap), start, end, page);
}
