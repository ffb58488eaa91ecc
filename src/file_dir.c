#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "beneath.h"
#include "fdutil.h"
#include "file_about.h"
#include "file_dir.h"
#include "file_dir_load.h"
#include "file_index.h"
#include "log.h"
#include "mem.h"
#include "rmtree.h"

#define RUNS		"runs"
#define SESSIONS	"sessions"
#define EXPIRE_MAX	64

struct file_dir {
	char			*path;
	int			 fd, lock;
	int			 runs, sessions;	/* directories */
	struct file_bounds	 bounds;
	uint64_t		 reserved;	/* bytes that are written now */
	struct file_index	*index;
	void			(*observe)(const struct kept_run *, void *);
	void			*arg;
};

static int64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Gives what root has made to the user that adderd will be. */
static int
give_to(int fd, const char *user)
{
	struct passwd *pw;

	if (geteuid() != 0 || user[0] == '\0')
		return 0;
	pw = getpwnam(user);
	return pw == NULL ? 0 : fchown(fd, pw->pw_uid, pw->pw_gid);
}

static int
open_top(struct file_dir *d, const char *user)
{
	int made = mkdir(d->path, 0700) == 0;

	if (!made && errno != EEXIST)
		return -1;
	d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->fd == -1)
		return -1;
	return made ? give_to(d->fd, user) : 0;
}

static int
take_lock(struct file_dir *d, const char *user)
{
	d->lock = openat(d->fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (d->lock == -1 || give_to(d->lock, user) == -1)
		return -1;
	return flock(d->lock, LOCK_EX | LOCK_NB);
}

struct file_dir *
file_dir_open(const char *path, const char *user, char **why)
{
	struct file_dir *d = xcalloc(1, sizeof *d);

	d->path = xstrdup(path);
	d->fd = d->lock = d->runs = d->sessions = -1;
	d->index = file_index_new();
	if (open_top(d, user) == 0 && take_lock(d, user) == 0)
		return d;
	if (errno == EWOULDBLOCK)
		xasprintf(why, "files.dir %s is in use by another adderd; "
		    "give each a directory of its own", path);
	else
		xasprintf(why, "files.dir %s cannot be used: %s; it must be a "
		    "directory that adderd may write to", path,
		    strerror(errno));
	file_dir_free(&d);
	return NULL;
}

static int
open_part(struct file_dir *d, const char *name)
{
	if (mkdirat(d->fd, name, 0700) == -1 && errno != EEXIST)
		return -1;
	return openat(d->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
}

int
file_dir_load(struct file_dir *d, char **why)
{
	size_t removed = 0;

	d->runs = open_part(d, RUNS);
	d->sessions = open_part(d, SESSIONS);
	if (d->runs == -1 || d->sessions == -1 ||
	    faccessat(d->runs, ".", W_OK, 0) == -1) {
		xasprintf(why, "files.dir %s cannot be written by user id %d: "
		    "%s; make it that user's own (chown)", d->path,
		    (int)geteuid(), strerror(errno));
		return -1;
	}
	file_dir_load_runs(d->index, d->runs, d->sessions, &removed);
	log_info("files.dir %s: %zu runs with %llu files kept, %zu that were "
	    "not whole removed", d->path, d->index->nruns,
	    (unsigned long long)d->index->nfiles, removed);
	return 0;
}

void
file_dir_free(struct file_dir **dp)
{
	struct file_dir *d = *dp;

	if (d == NULL)
		return;
	*dp = NULL;
	fd_close(&d->runs);
	fd_close(&d->sessions);
	fd_close(&d->fd);
	fd_close(&d->lock);
	file_index_free(&d->index);
	free(d->path);
	free(d);
}

void
file_dir_observe(struct file_dir *d, void (*observe)(const struct kept_run *,
    void *), void *arg)
{
	d->observe = observe;
	d->arg = arg;
}

const struct file_bounds *
file_dir_bounds(const struct file_dir *d)
{
	return &d->bounds;
}

const struct file_index *
file_dir_index(const struct file_dir *d)
{
	return d->index;
}

int
file_dir_parent(struct file_dir *d, const char *session)
{
	if (session[0] == '\0')
		return fcntl(d->runs, F_DUPFD_CLOEXEC, 0);
	if (session[0] == '.' || strchr(session, '/') != NULL) {
		errno = EINVAL;
		return -1;
	}
	if (mkdirat(d->sessions, session, 0700) == -1 && errno != EEXIST)
		return -1;
	return openat(d->sessions, session, O_RDONLY | O_DIRECTORY |
	    O_NOFOLLOW | O_CLOEXEC);
}

/* Takes a run out of the index and off the disk; under its own name it is
 * there whole or not at all. */
static void
evict(struct file_dir *d, struct kept_run *r)
{
	int parent = file_dir_parent(d, r->session);
	char gone[RUN_ID_MAX + 1];

	snprintf(gone, sizeof gone, ".%s", r->id);
	file_index_remove(d->index, r);
	if (d->observe != NULL)
		d->observe(r, d->arg);
	if (parent == -1 || (renameat(parent, r->id, parent, gone) == -1 &&
	    errno != ENOENT) || rmtree_at(parent, gone) == -1)
		log_warn("files.dir: run %s cannot be removed", r->id);
	if (parent != -1)
		close(parent);
	if (r->session[0] != '\0')
		unlinkat(d->sessions, r->session, AT_REMOVEDIR);
	kept_run_free(&r);
}

static void
shrink(struct file_dir *d, uint64_t bytes)
{
	struct kept_run *r;

	while (d->index->cost + d->reserved + bytes > d->bounds.quota &&
	    (r = TAILQ_FIRST(&d->index->lru)) != NULL)
		evict(d, r);
}

void
file_dir_bound(struct file_dir *d, const struct file_bounds *b)
{
	d->bounds = *b;
	if (d->runs == -1)
		return;		/* not loaded yet */
	shrink(d, 0);
	file_dir_expire(d);
}

int
file_dir_reserve(struct file_dir *d, uint64_t bytes)
{
	/* What no eviction could make room for evicts nothing. */
	if (bytes > d->bounds.quota || d->reserved > d->bounds.quota - bytes)
		return -1;
	shrink(d, bytes);
	d->reserved += bytes;
	return 0;
}

void
file_dir_release(struct file_dir *d, uint64_t bytes)
{
	d->reserved -= bytes;
}

void
file_dir_admit(struct file_dir *d, struct kept_run *r)
{
	r->used_ms = r->made_ms;
	file_index_add(d->index, r);
	shrink(d, 0);
}

struct kept_run *
file_dir_run(struct file_dir *d, const char *id)
{
	file_dir_expire(d);
	return file_index_find(d->index, id);
}

static int
open_file(struct file_dir *d, const struct kept_run *r, const char *path)
{
	int parent = file_dir_parent(d, r->session), files, fd;
	char dir[RUN_ID_MAX + sizeof FILES_NAME + 1];

	if (parent == -1)
		return -1;
	snprintf(dir, sizeof dir, "%s/" FILES_NAME, r->id);
	files = beneath_open(parent, dir, O_RDONLY | O_DIRECTORY, 0);
	fd = files == -1 ? -1 : beneath_open(files, path, O_RDONLY |
	    O_NONBLOCK, 0);
	if (files != -1)
		close(files);
	/* For the order in which runs go after a restart. */
	if (fd != -1)
		utimensat(parent, r->id, NULL, 0);
	close(parent);
	return fd;
}

char *
file_dir_read(struct file_dir *d, struct kept_run *r,
    const struct kept_file *f, uint64_t offset, size_t len, size_t *got)
{
	int fd = open_file(d, r, f->path);
	ssize_t n = 0;
	char *buf;

	if (fd == -1)
		return NULL;
	if (offset > f->size)
		offset = f->size;
	if (len > f->size - offset)
		len = f->size - offset;
	buf = xmalloc(len + 1);
	for (*got = 0; *got < len; *got += n) {
		n = pread(fd, buf + *got, len - *got, offset + *got);
		if (n <= 0)
			break;
	}
	close(fd);
	buf[*got] = '\0';
	file_index_used(d->index, r, now_ms());
	if (*got == len)
		return buf;
	free(buf);
	return NULL;
}

void
file_dir_disown(struct file_dir *d, const void *holder)
{
	struct kept_run *r;

	TAILQ_FOREACH(r, &d->index->age, made)
		if (r->holder == holder)
			r->holder = NULL;
}

uint64_t
file_dir_expire(struct file_dir *d)
{
	int64_t now = now_ms(), left;
	struct kept_run *r;
	int n;

	/* A few at once: whoever calls has others to serve. */
	for (n = 0; n < EXPIRE_MAX && (r = TAILQ_FIRST(&d->index->age)) !=
	    NULL; n++) {
		left = r->made_ms + (int64_t)d->bounds.age_ms - now;
		if (left > 0)
			return (uint64_t)left * 1000;
		evict(d, r);
	}
	return n == EXPIRE_MAX ? 1 : 0;
}
