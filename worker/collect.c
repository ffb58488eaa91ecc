#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect.h"
#include "seen.h"
#include "workerio.h"

#define FILES_WHOLE	32	/* that are sent with their bytes */
#define FILES_NAMED	256	/* that are named at all */
#define DEPTH_MAX	8
#define ENTRIES_MAX	20000	/* looked at before giving up */
#define PATH_BYTES	1024
/* Of an IMAGE or FILE payload, for its other fields. */
#define PAYLOAD_ROOM	(PATH_BYTES + 1024)
#define DATA_MAX	(16 * MIB - PAYLOAD_ROOM)

struct found {
	char		 path[PATH_BYTES];	/* below the scratch dir */
	struct timespec	 mtime;
	ino_t		 ino;
	off_t		 size;
};

static struct {
	const char	*scratch, *program;
	struct stat	 st;		/* of the program as it was written */
	struct found	*found;
	size_t		 nfound, entries;
	int		 top;		/* the scratch directory, open */
} c;

void
collect_init(const char *scratch, const char *program)
{
	c.scratch = scratch;
	c.program = program;
	if (lstat(program, &c.st) == -1)
		memset(&c.st, 0, sizeof c.st);
}

static int
is_untouched_program(const struct stat *st)
{
	return st->st_ino == c.st.st_ino && st->st_dev == c.st.st_dev &&
	    st->st_size == c.st.st_size &&
	    st->st_mtim.tv_sec == c.st.st_mtim.tv_sec &&
	    st->st_mtim.tv_nsec == c.st.st_mtim.tv_nsec;
}

/* Directories in which programs and libraries keep things for themselves. */
static int
is_private_dir(const char *name)
{
	return name[0] == '.' || strcmp(name, "__pycache__") == 0;
}

static void
add(const char *path, const struct stat *st)
{
	struct found *f;

	if (c.nfound == FILES_NAMED)
		return;
	if (c.found == NULL)
		c.found = malloc(FILES_NAMED * sizeof *c.found);
	if (c.found == NULL)
		return;
	f = &c.found[c.nfound++];
	snprintf(f->path, sizeof f->path, "%s", path);
	f->mtime = st->st_mtim;
	f->ino = st->st_ino;
	f->size = st->st_size;
}

static void	scan(int dirfd, const char *prefix, int depth);

static void
scan_entry(int dirfd, const char *prefix, const char *name, int depth)
{
	char path[PATH_BYTES];
	struct stat st;
	int fd;

	if ((size_t)snprintf(path, sizeof path, "%s%s", prefix, name) >=
	    sizeof path - 1 ||
	    fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
	    st.st_dev != c.st.st_dev)
		return;
	if (S_ISREG(st.st_mode) && !is_untouched_program(&st) &&
	    !seen_unchanged(path, &st, c.top))
		add(path, &st);
	if (!S_ISDIR(st.st_mode) || is_private_dir(name) || depth == DEPTH_MAX)
		return;
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1)
		return;
	strcat(path, "/");
	scan(fd, path, depth + 1);
}

/* Takes over dirfd. */
static void
scan(int dirfd, const char *prefix, int depth)
{
	struct dirent *d;
	DIR *dir = fdopendir(dirfd);

	if (dir == NULL) {
		close(dirfd);
		return;
	}
	while (c.entries < ENTRIES_MAX && (d = readdir(dir)) != NULL) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		c.entries++;
		scan_entry(dirfd, prefix, d->d_name, depth);
	}
	closedir(dir);
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

/* Opens a path below dirfd, each part without following a link. */
static int
open_below(int dirfd, const char *path)
{
	char part[PATH_BYTES];
	const char *slash;
	int fd = dup(dirfd), next;

	while (fd != -1 && (slash = strchr(path, '/')) != NULL) {
		memcpy(part, path, slash - path);
		part[slash - path] = '\0';
		next = openat(fd, part, O_PATH | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
		close(fd);
		fd = next;
		path = slash + 1;
	}
	if (fd == -1)
		return -1;
	next = openat(fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
	    O_CLOEXEC);
	close(fd);
	return next;
}

/* All size bytes of a regular file; NULL if they cannot be had. */
static char *
read_whole(int fd, size_t size)
{
	struct stat st;
	size_t at = 0;
	ssize_t n = 1;
	char *buf;

	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) ||
	    (size_t)st.st_size != size)
		return NULL;
	buf = malloc(size + 1);
	while (buf != NULL && at < size && n != 0) {
		n = read(fd, buf + at, size - at);
		if (n == -1 && errno != EINTR)
			break;
		at += n > 0 ? n : 0;
	}
	if (at == size)
		return buf;
	free(buf);
	return NULL;
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

static void
send_file(const struct found *f, const char *data)
{
	struct msg_FILE m = { .size = f->size, .whole = data != NULL };
	struct msg_IMAGE img;
	const char *mime;

	m.path = slice_of(f->path);
	m.data.data = data == NULL ? "" : data;
	m.data.len = data == NULL ? 0 : f->size;
	mime = picture_type(m.data.data, m.data.len);
	if (mime == NULL) {
		workerio_FILE(&m);
		return;
	}
	img.mime = slice_of(mime);
	img.name = m.path;
	img.data = m.data;
	workerio_IMAGE(&img);
}

static void
send_found(int dirfd)
{
	char *data;
	size_t i;
	int fd;

	qsort(c.found, c.nfound, sizeof *c.found, by_age);
	for (i = 0; i < c.nfound; i++) {
		data = NULL;
		if (i < FILES_WHOLE && c.found[i].size <= DATA_MAX) {
			fd = open_below(dirfd, c.found[i].path);
			if (fd != -1) {
				data = read_whole(fd, c.found[i].size);
				close(fd);
			}
		}
		send_file(&c.found[i], data);
		free(data);
	}
}

void
collect_send(void)
{
	int dirfd;

	if (!workerio_is_owner())
		return;
	c.top = open(c.scratch, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (c.top == -1)
		return;
	dirfd = dup(c.top);
	if (dirfd != -1)
		scan(dirfd, "", 0);
	if (c.nfound > 0)
		send_found(c.top);
	close(c.top);
	free(c.found);
	c.found = NULL;
	c.nfound = 0;
}
