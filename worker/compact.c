#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compact.h"

#ifndef MFD_EXEC
#define MFD_EXEC	0x0010u		/* memfd_create(2), Linux 6.3 */
#endif

#define RUNS_MAX	1024

/* Mappings next to each other, to become one. */
struct run {
	uintptr_t	start, end;
	int		prot;
};

/*
 * The list is made first.  While a run is moved nothing may be written but
 * the stack, which stays where it is: what is written to memory that was
 * copied already is lost.  So the loop there uses system calls only.
 */
static struct run	runs[RUNS_MAX];
static size_t		nruns;

static uintptr_t
parse_hex(const char **p)
{
	uintptr_t v = 0;

	for (;; (*p)++) {
		if (**p >= '0' && **p <= '9')
			v = v << 4 | (**p - '0');
		else if (**p >= 'a' && **p <= 'f')
			v = v << 4 | (**p - 'a' + 10);
		else
			return v;
	}
}

/* The kernel's own, and the stack, which grows. */
static int
is_special(const char *line)
{
	static const char *const names[] = { "[stack", "[vvar", "[vdso",
	    "[vsyscall", "[uprobes" };
	size_t i;

	for (i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strstr(line, names[i]) != NULL)
			return 1;
	return 0;
}

static int
add_mapping(uintptr_t start, uintptr_t end, int prot)
{
	struct run *last = nruns > 0 ? &runs[nruns - 1] : NULL;

	if (last != NULL && last->end == start) {
		last->end = end;
		last->prot |= prot;
		return 0;
	}
	if (nruns == RUNS_MAX) {
		errno = E2BIG;
		return -1;
	}
	runs[nruns].start = start;
	runs[nruns].end = end;
	runs[nruns++].prot = prot;
	return 0;
}

struct mapping {
	uintptr_t	start, end;
	int		prot;
	int		stays;
};

/* A line of proc(5)'s maps: start-end perms offset dev inode path.  0 if it
 * is none. */
static int
parse_mapping(const char *line, struct mapping *m)
{
	const char *p = line;

	m->start = parse_hex(&p);
	if (*p++ != '-')
		return 0;
	m->end = parse_hex(&p);
	if (*p++ != ' ' || strlen(p) < 4)
		return 0;
	m->prot = PROT_READ | (p[1] == 'w' ? PROT_WRITE : 0) |
	    (p[2] == 'x' ? PROT_EXEC : 0);
	m->stays = p[0] != 'r' || p[3] != 'p' || is_special(p);
	return 1;
}

/*
 * What a child is to find empty (MADV_WIPEONFORK) must stay what it is: the
 * C library keeps random bytes there that getrandom(3) gives out, and moved,
 * each worker would get the same.
 */
static int
is_wiped(const char *line)
{
	return strncmp(line, "VmFlags:", 8) == 0 &&
	    (strstr(line, " wf") != NULL || strstr(line, " dp") != NULL);
}

static int
add_if_moved(const struct mapping *m)
{
	return m->stays ? 0 : add_mapping(m->start, m->end, m->prot);
}

/* From smaps, which has after each line of maps more about that mapping. */
static int
collect_runs(const char *path, size_t *mappings)
{
	FILE *fp = fopen(path, "re");
	struct mapping m = { .stays = 1 }, next;
	char line[PATH_MAX + 128];
	int rv = fp == NULL ? -1 : 0;

	*mappings = nruns = 0;
	while (rv == 0 && fgets(line, sizeof line, fp) != NULL)
		if (parse_mapping(line, &next)) {
			rv = add_if_moved(&m);
			m = next;
			(*mappings)++;
		} else if (is_wiped(line))
			m.stays = 1;
	if (rv == 0)
		rv = add_if_moved(&m);
	if (fp != NULL)
		fclose(fp);
	return rv;
}

static int
open_memory(void)
{
	int fd = memfd_create("adder-zygote", MFD_CLOEXEC | MFD_EXEC);

	if (fd == -1 && errno == EINVAL)
		fd = memfd_create("adder-zygote", MFD_CLOEXEC);
	return fd;
}

/* Some systems refuse memory that is written and executed: asked of one page
 * before anything is moved. */
static int
try_one(int fd)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *p;

	if (ftruncate(fd, page) == -1)
		return -1;
	p = mmap(NULL, page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE,
	    fd, 0);
	if (p == MAP_FAILED)
		return -1;
	return munmap(p, page);
}

/* The memory as it is now; -1 for what cannot be read after all. */
static int
copy_out(int fd, const struct run *r, off_t offset)
{
	uintptr_t at = r->start;
	ssize_t n;

	while (at < r->end) {
		n = pwrite(fd, (const void *)at, r->end - at,
		    offset + (off_t)(at - r->start));
		if (n <= 0)
			return -1;
		at += n;
	}
	return 0;
}

/* One run: copied, mapped elsewhere, and moved over itself in one step. */
static int
move_run(int fd, const struct run *r, off_t offset)
{
	size_t len = r->end - r->start;
	void *fresh;

	if (copy_out(fd, r, offset) == -1)
		return -1;
	fresh = mmap(NULL, len, r->prot, MAP_PRIVATE | MAP_NORESERVE, fd,
	    offset);
	if (fresh == MAP_FAILED)
		return -1;
	if (mremap(fresh, len, len, MREMAP_MAYMOVE | MREMAP_FIXED,
	    (void *)r->start) == MAP_FAILED) {
		munmap(fresh, len);
		return -1;
	}
	return 0;
}

/* A run that cannot be moved stays as it is: the process works all the
 * same.  The number of bytes that were moved. */
static size_t
move_all(int fd)
{
	/* On the stack, see above. */
	size_t i, n = nruns, bytes = 0, len;
	off_t offset = 0;

	for (i = 0; i < n; i++) {
		struct run r = runs[i];

		len = r.end - r.start;
		if (move_run(fd, &r, offset) == 0)
			bytes += len;
		offset += len;
	}
	return bytes;
}

int
compact(struct compact_result *result, const char **step)
{
	size_t bytes, mappings;
	int fd;

	*step = "reading the mappings";
	if (collect_runs("/proc/self/smaps", &mappings) == -1)
		return -1;
	result->mappings_before = mappings;
	*step = "making memory for them";
	fd = open_memory();
	if (fd == -1)
		return -1;
	if (try_one(fd) == -1) {
		int saved = errno;

		close(fd);
		errno = saved;
		return -1;
	}
	bytes = move_all(fd);
	close(fd);
	result->bytes = bytes;
	if (collect_runs("/proc/self/maps", &result->mappings_after) == -1)
		result->mappings_after = 0;
	return 0;
}
