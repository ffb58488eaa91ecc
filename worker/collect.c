#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <linux/magic.h>
#include <unistd.h>

#include "beneath.h"
#include "collect.h"
#include "image.h"
#include "scan.h"
#include "seen.h"
#include "workerio.h"

#define NAMED_MAX	64	/* files that are named though not sent */
#define SHOWN_MAX	64	/* pictures of figures that are remembered */
/* A file up to this size travels in one frame, a larger one in parts. */
#define PART_BYTES	(1 * MIB)
/* Of an IMAGE, which is never in parts, for its other fields. */
#define PAYLOAD_ROOM	(SCAN_PATH_BYTES + 1024)
#define IMAGE_MAX	(16 * MIB - PAYLOAD_ROOM)
/* Bytes that tell what kind of picture a file is. */
#define MAGIC_BYTES	16

struct found {
	char		*path;		/* below the scratch directory */
	struct timespec	 mtime;
	ino_t		 ino;
	off_t		 size;
	uint64_t	 cost;		/* the larger of its two sizes */
};

static struct {
	const char	*scratch, *program;
	struct stat	 st;		/* of the program as it was written */
	uint64_t	 files_max, bytes_max;
	struct found	*found;
	size_t		 nfound, room;
	uint64_t	 left;		/* files that are not named */
	int		 top;		/* the scratch directory, open */
	off_t		 bare_size;	/* of that without a file of a job */
	struct {
		ino_t		ino;
		struct timespec	mtime;
	} shown[SHOWN_MAX];
	size_t		 nshown;
} c;

void
collect_init(const char *scratch, const char *program)
{
	c.scratch = scratch;
	c.program = program;
	c.nshown = 0;
	if (lstat(program, &c.st) == -1)
		memset(&c.st, 0, sizeof c.st);
}

void
collect_expect_nothing(void)
{
	struct statfs fs;
	struct stat st;

	if (statfs(c.scratch, &fs) == 0 && fs.f_type == TMPFS_MAGIC &&
	    lstat(c.scratch, &st) == 0)
		c.bare_size = st.st_size;
}

void
collect_bounds(uint64_t files, uint64_t bytes)
{
	c.files_max = files;
	c.bytes_max = bytes;
}

void
collect_shown(const char *path)
{
	struct stat st;

	if (c.nshown == SHOWN_MAX || lstat(path, &st) == -1)
		return;
	c.shown[c.nshown].ino = st.st_ino;
	c.shown[c.nshown++].mtime = st.st_mtim;
}

static int
same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static int
is_shown(const struct found *f)
{
	size_t i;

	for (i = 0; i < c.nshown; i++)
		if (c.shown[i].ino == f->ino &&
		    same_time(c.shown[i].mtime, f->mtime))
			return 1;
	return 0;
}

static int
is_untouched_program(const struct stat *st)
{
	return st->st_ino == c.st.st_ino && st->st_dev == c.st.st_dev &&
	    st->st_size == c.st.st_size &&
	    same_time(st->st_mtim, c.st.st_mtim);
}

/*
 * The size of a directory on tmpfs is a number for each entry (mm/shmem.c,
 * BOGO_DIRENT_SIZE): as long as it has only the program in it, which is
 * what it was, the size is that of the beginning.
 */
static int
is_bare(void)
{
	struct stat top, program;

	return c.bare_size != 0 && lstat(c.scratch, &top) == 0 &&
	    top.st_size == c.bare_size && lstat(c.program, &program) == 0 &&
	    is_untouched_program(&program);
}

static int
make_room(void)
{
	size_t room = c.room == 0 ? 64 : 2 * c.room;
	struct found *found;

	if (c.nfound < c.room)
		return 0;
	found = realloc(c.found, room * sizeof *found);
	if (found == NULL)
		return -1;
	c.found = found;
	c.room = room;
	return 0;
}

static void
add(const char *path, const struct stat *st)
{
	uint64_t taken = (uint64_t)st->st_blocks * 512;
	struct found *f;

	if (is_untouched_program(st) || seen_unchanged(path, st, c.top))
		return;
	/* The program may have left no memory. */
	if (make_room() == -1 || (c.found[c.nfound].path = strdup(path)) ==
	    NULL) {
		c.left++;
		return;
	}
	f = &c.found[c.nfound++];
	f->mtime = st->st_mtim;
	f->ino = st->st_ino;
	f->size = st->st_size;
	/* A sparse file holds more than it takes, one with room behind its
	 * end takes more than it holds; the last page of any is not full. */
	f->cost = taken > (uint64_t)st->st_size + 65536 ? taken :
	    (uint64_t)st->st_size;
}

static void
remember(const char *path, const struct stat *st)
{
	int fd = beneath_open(c.top, path, O_RDONLY | O_NONBLOCK, 0);

	if (fd == -1)
		return;
	seen_add_fd(path, st, fd);
	close(fd);
}

static int
open_top(void)
{
	c.top = open(c.scratch, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	return c.top;
}

void
collect_remember(void)
{
	seen_forget();
	if (open_top() == -1)
		return;
	scan_files(c.top, remember);
	close(c.top);
}

/* In the order in which they were last written. */
static int
by_age(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->mtime.tv_sec != y->mtime.tv_sec)
		return x->mtime.tv_sec < y->mtime.tv_sec ? -1 : 1;
	if (x->mtime.tv_nsec != y->mtime.tv_nsec)
		return x->mtime.tv_nsec < y->mtime.tv_nsec ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

/* len bytes from where the file is read; -1 if they cannot be had. */
static int
read_part(int fd, char *buf, size_t len)
{
	size_t at = 0;
	ssize_t n = 1;

	while (at < len && n != 0) {
		n = read(fd, buf + at, len - at);
		if (n == -1 && errno != EINTR)
			return -1;
		at += n > 0 ? n : 0;
	}
	return at == len ? 0 : -1;
}

/* The picture formats that MCP clients show, by their first bytes. */
static const char *
picture_type(const char *data, size_t len)
{
	static const struct {
		const char	*magic;
		size_t		 len;
		const char	*mime;
	} types[] = {
		{ "\x89PNG\r\n\x1a\n", 8, "image/png" },
		{ "\xff\xd8\xff", 3, "image/jpeg" },
		{ "GIF87a", 6, "image/gif" },
		{ "GIF89a", 6, "image/gif" },
	};
	size_t i;

	for (i = 0; i < sizeof types / sizeof types[0]; i++)
		if (len >= types[i].len &&
		    memcmp(data, types[i].magic, types[i].len) == 0)
			return types[i].mime;
	if (len >= 12 && memcmp(data, "RIFF", 4) == 0 &&
	    memcmp(data + 8, "WEBP", 4) == 0)
		return "image/webp";
	return NULL;
}

/* NULL if the file is no picture, or one that an answer has had. */
static const char *
picture_of(const struct found *f, int fd)
{
	char magic[MAGIC_BYTES];
	ssize_t n;

	if (f->size > IMAGE_MAX || is_shown(f))
		return NULL;
	n = pread(fd, magic, sizeof magic, 0);
	return n <= 0 ? NULL : picture_type(magic, n);
}

static int
send_picture(const struct found *f, int fd, const char *mime)
{
	struct msg_IMAGE m;
	char *data = malloc(f->size + 1);
	int rv = -1;

	if (data != NULL && read_part(fd, data, f->size) == 0) {
		m.mime = slice_of(mime);
		m.name = slice_of(f->path);
		m.data.data = data;
		m.data.len = f->size;
		rv = image_send(&m);
	}
	free(data);
	return rv;
}

/* A file in one frame, or its begin and then the rest. */
static int
send_bytes(const struct found *f, int fd)
{
	struct msg_FILE m = { .size = f->size, .shown = is_shown(f) };
	struct msg_FILE_PART part;
	uint64_t left = f->size;
	size_t n = left < PART_BYTES ? left : PART_BYTES;
	char *buf = malloc(n + 1);
	int rv = -1;

	if (buf != NULL)
		rv = read_part(fd, buf, n);
	m.path = slice_of(f->path);
	m.whole = n == left;
	m.parts = !m.whole;
	part.data.data = m.data.data = buf;
	part.data.len = m.data.len = n;
	if (rv == 0)
		rv = workerio_FILE(&m);
	/* A part that cannot be read is missed: adderd gives the file up. */
	for (left -= n; rv == 0 && left > 0; left -= n) {
		n = left < PART_BYTES ? left : PART_BYTES;
		part.data.len = n;
		if (read_part(fd, buf, n) == -1 ||
		    workerio_FILE_PART(&part) == -1)
			break;
	}
	free(buf);
	return rv;
}

static int
send_file(const struct found *f)
{
	int fd = beneath_open(c.top, f->path, O_RDONLY | O_NONBLOCK |
	    O_NOCTTY, 0), rv = -1;
	const char *mime;
	struct stat st;

	if (fd == -1)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size == f->size) {
		mime = picture_of(f, fd);
		rv = mime != NULL ? send_picture(f, fd, mime) :
		    send_bytes(f, fd);
	}
	close(fd);
	return rv;
}

static int
send_name(const struct found *f)
{
	struct msg_FILE m = { .size = f->size };

	m.path = slice_of(f->path);
	m.data = slice_of("");
	return workerio_FILE(&m);
}

static void
send_found(void)
{
	uint64_t files = c.files_max, bytes = c.bytes_max;
	unsigned names = NAMED_MAX;
	const struct found *f;
	size_t i;

	qsort(c.found, c.nfound, sizeof *c.found, by_age);
	for (i = 0; i < c.nfound; i++) {
		f = &c.found[i];
		if (files > 0 && f->cost <= bytes && send_file(f) == 0) {
			files--;
			bytes -= f->cost;
		} else if (names == 0 || send_name(f) == -1)
			c.left++;
		else
			names--;
	}
}

uint64_t
collect_send(void)
{
	uint64_t left;
	size_t i;

	if (!workerio_is_owner() || is_bare() || open_top() == -1)
		return 0;
	scan_files(c.top, add);
	if (c.nfound > 0)
		send_found();
	close(c.top);
	for (i = 0; i < c.nfound; i++)
		free(c.found[i].path);
	free(c.found);
	left = c.left;
	c.found = NULL;
	c.nfound = c.room = c.left = 0;
	return left;
}
