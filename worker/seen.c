#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "beneath.h"
#include "seen.h"

/* Files that are remembered at most; one beyond counts as changed. */
#define SEEN_MAX	20000
/* Above the longest step of the clock that stamps files, nanoseconds. */
#define STEP_NS		INT64_C(20000000)

struct file {
	uint64_t	path;		/* hashes */
	uint64_t	content;	/* 0: times tell enough */
	ino_t		ino;
	off_t		size;
	int64_t		mtime, ctime;
};

static struct {
	struct file	*list;
	size_t		 n, room;
	int		 sorted;
} s;

void
seen_forget(void)
{
	free(s.list);
	memset(&s, 0, sizeof s);
}

uint64_t
seen_hash(uint64_t h, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t word;

	for (; len >= sizeof word; len -= sizeof word, p += sizeof word) {
		memcpy(&word, p, sizeof word);
		h = (h ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 29;
	}
	for (; len > 0; len--)
		h = (h ^ *p++) * UINT64_C(0x100000001b3);
	return h == 0 ? 1 : h;
}

static int64_t
nanoseconds(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct file
describe(const char *path, const struct stat *st)
{
	struct file f = {
		.path = seen_hash(SEEN_HASH_INIT, path, strlen(path)),
		.ino = st->st_ino,
		.size = st->st_size,
		.mtime = nanoseconds(st->st_mtim),
		.ctime = nanoseconds(st->st_ctim)
	};

	return f;
}

void
seen_add(const char *path, const struct stat *st, uint64_t hash)
{
	struct file *list;

	if (s.n == SEEN_MAX)
		return;
	if (s.n == s.room) {
		/* The program may have left no memory: then it has changed. */
		list = realloc(s.list, (s.room * 2 + 16) * sizeof *list);
		if (list == NULL)
			return;
		s.list = list;
		s.room = s.room * 2 + 16;
	}
	s.list[s.n] = describe(path, st);
	s.list[s.n++].content = hash;
	s.sorted = 0;
}

void
seen_replace(const char *path, const struct stat *st, uint64_t hash)
{
	const struct file now = describe(path, st);
	size_t i;

	for (i = 0; i < s.n; i++)
		if (s.list[i].path == now.path)
			s.list[i--] = s.list[--s.n];
	seen_add(path, st, hash);
}

/* 0 if it cannot be read. */
static uint64_t
hash_fd(int fd)
{
	char buf[16384];
	uint64_t h = SEEN_HASH_INIT;
	ssize_t n;

	if (lseek(fd, 0, SEEK_SET) == -1)
		return 0;
	/* Whole words but for the end, as if hashed at once. */
	while ((n = read(fd, buf, sizeof buf)) > 0)
		h = seen_hash(h, buf, n);
	return n == 0 ? h : 0;
}

void
seen_add_fd(const char *path, const struct stat *st, int fd)
{
	struct timespec now;
	int fresh;

	clock_gettime(CLOCK_REALTIME, &now);
	fresh = nanoseconds(now) - nanoseconds(st->st_mtim) < STEP_NS;
	seen_add(path, st, fresh ? hash_fd(fd) : 0);
}

static int
by_path(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	return x->path < y->path ? -1 : x->path > y->path;
}

static int
same_content(const char *path, int dirfd, uint64_t hash)
{
	int fd = beneath_open(dirfd, path, O_RDONLY | O_NONBLOCK, 0);
	uint64_t h;

	if (fd == -1)
		return 0;
	h = hash_fd(fd);
	close(fd);
	return h == hash;
}

int
seen_unchanged(const char *path, const struct stat *st, int dirfd)
{
	struct file now, *was;

	if (s.n == 0)
		return 0;
	if (!s.sorted)
		qsort(s.list, s.n, sizeof *s.list, by_path);
	s.sorted = 1;
	now = describe(path, st);
	was = bsearch(&now, s.list, s.n, sizeof now, by_path);
	return was != NULL && was->ino == now.ino && was->size == now.size &&
	    was->mtime == now.mtime && was->ctime == now.ctime &&
	    (was->content == 0 || same_content(path, dirfd, was->content));
}
