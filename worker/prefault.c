#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fdutil.h"
#include "prefault.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif

#define RANGES_MAX	4096
#define AROUND_PAGES	16

/* Of an entry of /proc/self/pagemap (proc(5)). */
#define PAGE_PRESENT	(1ull << 63)
#define PAGE_OF_FILE	(1ull << 61)

struct range {
	uintptr_t	start;
	size_t		pages;
	int		written;
};

static struct range	ranges[RANGES_MAX];
static size_t		nranges;
static unsigned		npages[2];	/* written, read */

static void
add_page(uintptr_t at, int written, size_t page)
{
	struct range *last = nranges > 0 ? &ranges[nranges - 1] : NULL;
	uintptr_t end;

	npages[!written]++;
	if (last != NULL && last->written == written) {
		end = last->start + last->pages * page;
		if (at == end) {
			last->pages++;
			return;
		}
	}
	if (nranges == RANGES_MAX)
		return;
	ranges[nranges].start = at;
	ranges[nranges].pages = 1;
	ranges[nranges++].written = written;
}

static void
note_mapping(int pagemap, uintptr_t start, uintptr_t end, int writable,
    size_t page)
{
	uint64_t entries[512];
	uintptr_t at;
	size_t n, i;
	ssize_t got;

	for (at = start; at < end; at += n * page) {
		n = (end - at) / page;
		if (n > 512)
			n = 512;
		got = pread(pagemap, entries, n * sizeof entries[0],
		    (off_t)(at / page * sizeof entries[0]));
		if (got != (ssize_t)(n * sizeof entries[0]))
			return;
		for (i = 0; i < n; i++)
			if (entries[i] & PAGE_PRESENT)
				add_page(at + i * page,
				    writable && !(entries[i] & PAGE_OF_FILE),
				    page);
	}
}

/* What this process has touched of the memory that the zygote gave it. */
static void
note_all(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, end;
	char line[512], perms[8];

	while (pagemap != -1 && maps != NULL &&
	    fgets(line, sizeof line, maps) != NULL)
		if (sscanf(line, "%lx-%lx %7s", &start, &end, perms) == 3 &&
		    perms[0] == 'r' && perms[3] == 'p' && line[0] != 'f')
			note_mapping(pagemap, start, end, perms[1] == 'w',
			    page);
	if (maps != NULL)
		fclose(maps);
	fd_close(&pagemap);
}

static void
report(int fd)
{
	note_all();
	if (fd_write_all(fd, &nranges, sizeof nranges) == -1 ||
	    fd_write_all(fd, npages, sizeof npages) == -1 ||
	    fd_write_all(fd, ranges, nranges * sizeof ranges[0]) == -1)
		_exit(1);
	_exit(0);
}

int
prefault_record(void (*rehearse)(void *), void *arg)
{
	int fds[2], status, rv = -1;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) == -1)
		return -1;
	pid = fork();
	if (pid == 0) {
		rehearse(arg);
		report(fds[1]);
	}
	close(fds[1]);
	if (pid != -1) {
		if (fd_read_all(fds[0], &nranges, sizeof nranges) == 0 &&
		    nranges <= RANGES_MAX &&
		    fd_read_all(fds[0], npages, sizeof npages) == 0 &&
		    fd_read_all(fds[0], ranges,
		    nranges * sizeof ranges[0]) == 0)
			rv = 0;
		while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
			;
	}
	close(fds[0]);
	if (rv == -1)
		nranges = 0;
	return rv;
}

void
prefault_counts(unsigned *written, unsigned *read_only)
{
	*written = npages[0];
	*read_only = npages[1];
}

/*
 * Pages that are only read come in groups anyway: the kernel maps those
 * around one that is read (fault_around_bytes, 64 KiB by default).  To have
 * each of them populated costs a walk for each.
 */
static void
touch(const struct range *r, size_t page)
{
	const volatile char *at = (const volatile char *)r->start;
	size_t i;

	for (i = 0; i < r->pages; i += AROUND_PAGES)
		(void)at[i * page];
}

void
prefault_apply(void)
{
	size_t i, page = sysconf(_SC_PAGESIZE);

	for (i = 0; i < nranges; i++)
		if (!ranges[i].written)
			touch(&ranges[i], page);
		else if (madvise((void *)ranges[i].start,
		    ranges[i].pages * page, MADV_POPULATE_WRITE) == -1 &&
		    errno == EINVAL)
			return;		/* an older kernel */
}

/* Whether a mapping that may be read holds all of it; the maps come in the
 * order of addresses, and so do the ranges. */
static int
is_mapped(const struct range *r, FILE *maps, unsigned long *start,
    unsigned long *end, size_t page)
{
	uintptr_t last = r->start + r->pages * page;
	char line[512], perms[8];

	while (*end < last) {
		if (fgets(line, sizeof line, maps) == NULL)
			return 0;
		if (sscanf(line, "%lx-%lx %7s", start, end, perms) == 3 &&
		    perms[0] != 'r')
			*start = *end;
	}
	return r->start >= *start;
}

void
prefault_forget_unmapped(FILE *maps)
{
	size_t i, n = 0, page = sysconf(_SC_PAGESIZE);
	unsigned long start = 0, end = 0;

	for (i = 0; i < nranges; i++)
		if (is_mapped(&ranges[i], maps, &start, &end, page))
			ranges[n++] = ranges[i];
	nranges = n;
}
