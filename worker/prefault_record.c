#include "config.h"

#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fdutil.h"
#include "mem.h"
#include "pagemap.h"
#include "prefault.h"
#include "spawn.h"

/* Pages that the kernel maps around one that is read. */
#define AROUND_PAGES	16
/* What fewer programs touch is their own affair; a write counts twice where
 * the program takes so short that each fault shows. */
#define VOTES_MIN	2
#define WRITTEN_TWICE	(PAGE_WRITTEN + 1)
/* More than any rehearsal touches. */
#define PAGES_MAX	(1u << 20)

/*
 * Theory of operation.  What is recorded must not be written to the zygote's
 * own memory, or each worker would have a copy of it to make: so a fork (the
 * director) collects, in turn from one fork for each program, and the zygote
 * reads the finished list.
 */

/* What several programs touched of one page. */
struct vote {
	uint64_t	number;
	unsigned	written, read;	/* by how many */
};

struct votes {
	struct touched_page	*all;	/* of all programs */
	size_t			 n;
	struct vote		*page;	/* by address, then by votes */
	size_t			 npages;
};

static int
send_bytes(int fd, const void *data, size_t len)
{
	return fd_write_all(fd, &len, sizeof len) == -1 ? -1 :
	    fd_write_all(fd, data, len);
}

/* At most max bytes; the caller frees *data. */
static int
receive_bytes(int fd, void **data, size_t *len, size_t max)
{
	*data = NULL;
	if (fd_read_all(fd, len, sizeof *len) == -1)
		return -1;
	if (*len > max) {
		errno = EMSGSIZE;
		return -1;
	}
	*data = xmalloc(*len + 1);
	if (fd_read_all(fd, *data, *len) == 0)
		return 0;
	free(*data);
	*data = NULL;
	return -1;
}

/* Runs work(arg, fd) in a fork and receives what it sends; *len is 0 where
 * it sent nothing sane. */
static int
ask_fork(void (*work)(void *, int), void *arg, void **data, size_t *len,
    size_t max)
{
	int fds[2], rv, saved;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) == -1)
		return -1;
	pid = spawn_child();
	if (pid == 0) {
		close(fds[0]);
		work(arg, fds[1]);
		_exit(0);
	}
	close(fds[1]);
	rv = pid == -1 ? -1 : receive_bytes(fds[0], data, len, max);
	saved = errno;
	close(fds[0]);
	while (pid != -1 && waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
	errno = saved;
	return rv;
}

struct program {
	void		(*prepare)(void);
	int		(*rehearse)(unsigned);
	unsigned	 number;
};

/* Of the pages after, those that were not touched like this before. */
static size_t
subtract(struct touched_page *after, size_t n,
    const struct touched_page *before, size_t nbefore)
{
	size_t i, at = 0, kept = 0;

	for (i = 0; i < n; i++) {
		while (at < nbefore && before[at].number < after[i].number)
			at++;
		if (at == nbefore || before[at].number != after[i].number ||
		    before[at].how < after[i].how)
			after[kept++] = after[i];
	}
	return kept;
}

static void
count_twice(struct touched_page *page, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (page[i].how == PAGE_WRITTEN)
			page[i].how = WRITTEN_TWICE;
}

static size_t
keep_written(struct touched_page *page, size_t n)
{
	size_t i, kept = 0;

	for (i = 0; i < n; i++)
		if (page[i].how == PAGE_WRITTEN)
			page[kept++] = page[i];
	return kept;
}

static void
run_program(void *arg, int fd)
{
	struct program *p = arg;
	struct touched_page *before, *after;
	size_t nruns, nbefore, n;
	struct page_run *runs;
	int what;

	p->prepare();
	if (pagemap_runs(&runs, &nruns) == -1 ||
	    pagemap_touched(runs, nruns, &before, &nbefore) == -1 ||
	    (what = p->rehearse(p->number)) == -1 ||
	    pagemap_touched(runs, nruns, &after, &n) == -1)
		return;
	n = subtract(after, n, before, nbefore);
	if (what == PREFAULT_WRITTEN)
		n = keep_written(after, n);
	else
		count_twice(after, n);
	send_bytes(fd, after, n * sizeof *after);
}

static int
by_number(const void *a, const void *b)
{
	const struct touched_page *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static int
is_written(const struct vote *v)
{
	return v->written >= VOTES_MIN;
}

/* How common a page is: in steps, so that neighbours stay together. */
static unsigned
rank(const struct vote *v)
{
	unsigned votes = v->written + v->read;

	return votes > 6 ? 3 : votes > 3 ? 2 : votes >= VOTES_MIN ? 1 : 0;
}

/* Those that most programs touched come first; of equal ones those that are
 * written, and then by address. */
static int
by_votes(const void *a, const void *b)
{
	const struct vote *x = a, *y = b;

	if (rank(x) != rank(y))
		return rank(x) > rank(y) ? -1 : 1;
	if (is_written(x) != is_written(y))
		return is_written(x) ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void
append(struct votes *v, void *pages, size_t len)
{
	size_t n = len / sizeof *v->all;

	v->all = xreallocarray(v->all, v->n + n + 1, sizeof *v->all);
	memcpy(v->all + v->n, pages, n * sizeof *v->all);
	v->n += n;
	free(pages);
}

static void
count_votes(struct votes *v)
{
	struct vote *last = NULL;
	size_t i;

	qsort(v->all, v->n, sizeof *v->all, by_number);
	v->page = xcalloc(v->n + 1, sizeof *v->page);
	for (i = 0; i < v->n; i++) {
		if (last == NULL || last->number != v->all[i].number) {
			last = &v->page[v->npages++];
			last->number = v->all[i].number;
		}
		if (v->all[i].how == PAGE_READ)
			last->read++;
		else
			last->written += v->all[i].how - PAGE_READ;
	}
	qsort(v->page, v->npages, sizeof *v->page, by_votes);
}

/* Adds a page to the list, or to the range that it follows. */
static void
add_page(const struct vote *page)
{
	struct prefault_range *r = NULL;
	int written = is_written(page);

	if (prefault_nranges > 0)
		r = &prefault_ranges[prefault_nranges - 1];
	if (r != NULL && r->written == written &&
	    r->pages < PREFAULT_RANGE_PAGES && (written ?
	    r->first + r->pages == page->number :
	    r->first / AROUND_PAGES == page->number / AROUND_PAGES)) {
		/* What is read comes with the first. */
		r->pages += written;
		return;
	}
	if (prefault_nranges == PREFAULT_RANGES_MAX)
		return;
	r = &prefault_ranges[prefault_nranges++];
	r->first = page->number;
	r->pages = 1;
	r->written = written;
}

struct direction {
	struct program	program;
	unsigned	n;
};

/* What the director sends first; the ranges follow. */
struct finding {
	unsigned		failed;
	struct prefault_range	ranges[PREFAULT_RANGES_MAX];
};

static void
direct(void *arg, int fd)
{
	static struct finding found;
	struct direction *d = arg;
	struct votes v = { NULL, 0, NULL, 0 };
	size_t at, len;
	void *pages;
	unsigned i;

	for (i = 0; i < d->n; i++) {
		d->program.number = i;
		if (ask_fork(run_program, &d->program, &pages, &len,
		    PAGES_MAX * sizeof *v.all) == 0)
			append(&v, pages, len);
		else
			found.failed++;
	}
	count_votes(&v);
	for (at = 0; at < v.npages && rank(&v.page[at]) > 0; at++)
		add_page(&v.page[at]);
	memcpy(found.ranges, prefault_ranges, sizeof found.ranges);
	send_bytes(fd, &found, offsetof(struct finding, ranges) +
	    prefault_nranges * sizeof found.ranges[0]);
}

static void
count(const struct finding *found, struct prefault_counts *c)
{
	unsigned i;

	memset(c, 0, sizeof *c);
	c->ranges = prefault_nranges;
	c->failed = found->failed;
	for (i = 0; i < prefault_nranges; i++)
		if (prefault_ranges[i].written)
			c->written += prefault_ranges[i].pages;
		else
			c->read += prefault_ranges[i].pages;
}

int
prefault_record(unsigned n, void (*prepare)(void),
    int (*rehearse)(unsigned i), struct prefault_counts *c)
{
	struct direction d = { { prepare, rehearse, 0 }, n };
	size_t len, head = offsetof(struct finding, ranges);
	struct finding *found;
	void *data;

	if (ask_fork(direct, &d, &data, &len, sizeof *found) == -1)
		return -1;
	found = data;
	prefault_nranges = len > head ?
	    (len - head) / sizeof found->ranges[0] : 0;
	memcpy(prefault_ranges, found->ranges,
	    prefault_nranges * sizeof found->ranges[0]);
	count(found, c);
	free(data);
	return 0;
}
