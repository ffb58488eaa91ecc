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

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ	22
#define MADV_POPULATE_WRITE	23
#endif

#define RANGES_MAX	4096
/* Pages between two that are wanted are mapped, too, where they are few: a
 * call costs more than they do. */
#define GAP_PAGES	2

/* Of an entry of /proc/self/pagemap (proc(5)). */
#define PAGE_PRESENT	(1ull << 63)
#define PAGE_OF_FILE	(1ull << 61)

struct range {
	uintptr_t	start;
	size_t		pages;
	int		advice;
};

static struct range	ranges[RANGES_MAX];
static size_t		nranges;
static unsigned		npages[2];	/* written, read */

static void
add_page(uintptr_t at, int advice, size_t page)
{
	struct range *last = nranges > 0 ? &ranges[nranges - 1] : NULL;
	uintptr_t end;

	npages[advice == MADV_POPULATE_READ]++;
	if (last != NULL && last->advice == advice) {
		end = last->start + last->pages * page;
		/* Pages that are only read may be joined over a gap. */
		if (at == end || (advice == MADV_POPULATE_READ &&
		    at - end <= GAP_PAGES * page)) {
			last->pages = (at - last->start) / page + 1;
			return;
		}
	}
	if (nranges == RANGES_MAX)
		return;
	ranges[nranges].start = at;
	ranges[nranges].pages = 1;
	ranges[nranges++].advice = advice;
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
				    writable && !(entries[i] & PAGE_OF_FILE) ?
				    MADV_POPULATE_WRITE : MADV_POPULATE_READ,
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

void
prefault_apply(void)
{
	size_t i, page = sysconf(_SC_PAGESIZE);

	for (i = 0; i < nranges; i++)
		if (madvise((void *)ranges[i].start, ranges[i].pages * page,
		    ranges[i].advice) == -1 && errno == EINVAL)
			return;		/* an older kernel */
}
