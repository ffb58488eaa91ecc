#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fdutil.h"
#include "mem.h"
#include "pagemap.h"

/* Of an entry of /proc/PID/pagemap. */
#define PRESENT		(1ull << 63)
#define OF_FILE		(1ull << 61)	/* or shared */

#define ENTRIES		512

struct list {
	struct touched_page	*page;
	size_t			 n, room;
};

static void
add(struct list *l, uint64_t number, uint64_t entry)
{
	if (l->n == l->room) {
		l->room = l->room == 0 ? 4096 : 2 * l->room;
		l->page = xreallocarray(l->page, l->room, sizeof *l->page);
	}
	l->page[l->n].number = number;
	l->page[l->n++].how = entry & OF_FILE ? PAGE_READ : PAGE_WRITTEN;
}

static int
read_run(int fd, const struct page_run *r, struct list *l)
{
	uint64_t entries[ENTRIES], at;
	size_t n, i;

	for (at = r->first; at < r->end; at += n) {
		n = r->end - at < ENTRIES ? r->end - at : ENTRIES;
		if (pread(fd, entries, n * sizeof entries[0],
		    (off_t)(at * sizeof entries[0])) !=
		    (ssize_t)(n * sizeof entries[0]))
			return -1;
		for (i = 0; i < n; i++)
			if (entries[i] & PRESENT)
				add(l, at + i, entries[i]);
	}
	return 0;
}

int
pagemap_touched(const struct page_run *runs, size_t nruns,
    struct touched_page **list, size_t *n)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	struct list l = { NULL, 0, 0 };
	int rv = fd == -1 ? -1 : 0, saved;
	size_t i;

	for (i = 0; i < nruns && rv == 0; i++)
		rv = read_run(fd, &runs[i], &l);
	saved = errno;
	fd_close(&fd);
	*list = l.page;
	*n = l.n;
	if (rv == -1) {
		free(l.page);
		errno = saved;
	}
	return rv;
}

/* A line of /proc/PID/maps; 0 if it is not about memory to be looked at. */
static int
parse_line(const char *line, struct page_run *r)
{
	size_t size = sysconf(_SC_PAGESIZE);
	unsigned long start, end;
	char perms[8], name[32] = "";

	if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %31s", &start, &end, perms,
	    name) < 3 || perms[0] != 'r' || perms[3] != 'p' ||
	    name[0] == '[')
		return 0;
	r->first = start / size;
	r->end = end / size;
	return 1;
}

int
pagemap_runs(struct page_run **list, size_t *n)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	struct page_run r;
	char line[512];

	*list = NULL;
	*n = 0;
	if (maps == NULL)
		return -1;
	while (fgets(line, sizeof line, maps) != NULL)
		if (parse_line(line, &r)) {
			*list = xreallocarray(*list, *n + 1, sizeof **list);
			(*list)[(*n)++] = r;
		}
	fclose(maps);
	return 0;
}
