#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "beneath.h"
#include "fdutil.h"
#include "file_about.h"
#include "file_index.h"
#include "file_run.h"
#include "log.h"
#include "media_type.h"
#include "mem.h"
#include "rmtree.h"

/* Names that are tried for a file whose own is taken. */
#define NAMES_MAX	1000

struct file_run {
	struct file_dir	 *dir;
	struct kept_run	 *kept;
	char		  hidden[RUN_ID_MAX + 1]; /* its name until then */
	int		  parent, top, files;		/* directories */
	uint64_t	  bytes;			/* of whole files */
	uint64_t	  reserved;
	/* The file that is written now. */
	int		  fd;
	char		 *name;
	char		 *type;		/* NULL until its first bytes */
	uint64_t	  size, got;
	int		  warned;	/* the log knows that none can be */
};

struct file_run *
file_run_new(struct file_dir *dir, const char *id, const char *session,
    const char *owner)
{
	struct file_run *r = xcalloc(1, sizeof *r);

	r->dir = dir;
	r->parent = r->top = r->files = r->fd = -1;
	r->kept = xcalloc(1, sizeof *r->kept);
	snprintf(r->kept->id, sizeof r->kept->id, "%s", id);
	snprintf(r->kept->session, sizeof r->kept->session, "%s", session);
	snprintf(r->kept->owner, sizeof r->kept->owner, "%s", owner);
	snprintf(r->hidden, sizeof r->hidden, ".%s", id);
	return r;
}

static uint64_t
cost_of(uint64_t size)
{
	return FILE_COST(size == 0 ? 1 : size);
}

static int
reserve(struct file_run *r, uint64_t bytes)
{
	if (file_dir_reserve(r->dir, bytes) == -1)
		return -1;
	r->reserved += bytes;
	return 0;
}

static void
release(struct file_run *r, uint64_t bytes)
{
	r->reserved -= bytes;
	file_dir_release(r->dir, bytes);
}

/* Gives up the file that is written. */
static void
drop_file(struct file_run *r)
{
	if (r->fd == -1)
		return;
	fd_close(&r->fd);
	unlinkat(r->files, r->name, 0);
	release(r, cost_of(r->size));
}

static void
forget_file(struct file_run *r)
{
	free(r->name);
	free(r->type);
	r->name = r->type = NULL;
}

void
file_run_free(struct file_run **rp)
{
	struct file_run *r = *rp;

	if (r == NULL)
		return;
	*rp = NULL;
	drop_file(r);
	forget_file(r);
	fd_close(&r->files);
	fd_close(&r->top);
	if (r->kept != NULL && r->parent != -1 &&
	    rmtree_at(r->parent, r->hidden) == -1)
		log_warn("files.dir: %s cannot be removed", r->hidden);
	fd_close(&r->parent);
	if (r->reserved > 0)
		file_dir_release(r->dir, r->reserved);
	kept_run_free(&r->kept);
	free(r);
}

/* Makes the directories of the run before its first file. */
static int
make_dirs(struct file_run *r)
{
	if (r->files != -1)
		return 0;
	if (r->parent == -1)
		r->parent = file_dir_parent(r->dir, r->kept->session);
	if (r->parent == -1 || (mkdirat(r->parent, r->hidden, 0700) == -1 &&
	    errno != EEXIST))
		return -1;
	if (r->top == -1)
		r->top = beneath_open(r->parent, r->hidden, O_RDONLY |
		    O_DIRECTORY, 0);
	if (r->top == -1 || (mkdirat(r->top, FILES_NAME, 0700) == -1 &&
	    errno != EEXIST))
		return -1;
	r->files = beneath_open(r->top, FILES_NAME, O_RDONLY | O_DIRECTORY,
	    0);
	return r->files == -1 ? -1 : 0;
}

/* Names that an answer gives to output, which is kept elsewhere. */
static int
is_taken(const char *name)
{
	static const char *const taken[] = { "stdout", "stderr", "value",
	    "traceback", NULL };
	size_t i;

	for (i = 0; taken[i] != NULL; i++)
		if (strcmp(name, taken[i]) == 0)
			return 1;
	return 0;
}

/* Opens a file of that name, or of one made from it that is not taken. */
static int
open_new(struct file_run *r, const char *name)
{
	int i;

	if (beneath_make_dirs(r->files, name) == -1)
		return -1;
	r->name = xstrdup(name);
	for (i = 2; i <= NAMES_MAX; i++) {
		errno = EEXIST;
		if (!is_taken(r->name))
			r->fd = beneath_open(r->files, r->name, O_WRONLY |
			    O_CREAT | O_EXCL, 0600);
		if (r->fd != -1 || errno != EEXIST)
			break;
		free(r->name);
		xasprintf(&r->name, "%s~%d", name, i);
	}
	return r->fd == -1 ? -1 : 0;
}

static const char *
trouble(const struct file_run *r, const char *name, uint64_t size)
{
	const struct file_bounds *b = file_dir_bounds(r->dir);

	if (r->kept->nfiles >= b->run_files)
		return "more files than files.run_files";
	if (size > b->run_bytes || r->bytes > b->run_bytes - size)
		return "too large for files.run_bytes";
	/* Room for the end of a name that is not taken. */
	if (strlen(name) > BENEATH_PATH_MAX - 5 ||
	    beneath_trouble(name, strlen(name)) != NULL)
		return "its name cannot be kept";
	return NULL;
}

/* Words for the answer; the log has one line a run. */
static const char *
trouble_of(struct file_run *r, int error)
{
	if (!r->warned) {
		errno = error;
		log_warn("files.dir: run %s: a file cannot be written",
		    r->kept->id);
	}
	r->warned = 1;
	return error == ENOSPC || error == EDQUOT ?
	    "the disk of files.dir is full" :
	    "it cannot be written to files.dir";
}

const char *
file_run_begin(struct file_run *r, const char *name, uint64_t size)
{
	const char *why = trouble(r, name, size);

	drop_file(r);
	forget_file(r);
	if (why != NULL)
		return why;
	if (reserve(r, cost_of(size)) == -1)
		return "too large for files.quota";
	r->size = size;
	r->got = 0;
	if (make_dirs(r) == 0 && open_new(r, name) == 0)
		return NULL;
	why = trouble_of(r, errno);
	release(r, cost_of(size));
	return why;
}

static void
end_file(struct file_run *r)
{
	if (r->type == NULL)
		r->type = xstrdup(media_type(r->name, "", 0, 1));
	if (close(r->fd) == -1)
		log_warn("files.dir: run %s", r->kept->id);
	r->fd = -1;
	r->bytes += r->size;
	kept_run_add(r->kept, r->name, r->type, r->size);
}

const char *
file_run_more(struct file_run *r, const char *data, size_t len)
{
	const char *why = NULL;

	if (len > r->size - r->got)
		why = "it changed while it was read";
	else if (fd_write_all(r->fd, data, len) == -1)
		why = trouble_of(r, errno);
	if (why != NULL) {
		drop_file(r);
		return why;
	}
	if (r->type == NULL && len > 0)
		r->type = xstrdup(media_type(r->name, data, len,
		    len == r->size));
	r->got += len;
	if (r->got == r->size)
		end_file(r);
	return NULL;
}

const char *
file_run_name(const struct file_run *r)
{
	return r->name;
}

const char *
file_run_type(const struct file_run *r)
{
	return r->type;
}

static int
write_about(struct file_run *r)
{
	int fd = beneath_open(r->top, ABOUT_NAME, O_WRONLY | O_CREAT | O_EXCL,
	    0600);
	FILE *out = fd == -1 ? NULL : fdopen(fd, "w");
	int bad;

	if (out == NULL) {
		if (fd != -1)
			close(fd);
		return -1;
	}
	file_about_write(r->kept, out);
	bad = ferror(out);
	return fclose(out) == EOF || bad ? -1 : 0;
}

int
file_run_commit(struct file_run *r)
{
	struct timespec t;

	drop_file(r);
	if (r->kept->nfiles == 0)
		return -1;
	clock_gettime(CLOCK_REALTIME, &t);
	r->kept->made_ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
	if (write_about(r) == -1 || renameat(r->parent, r->hidden, r->parent,
	    r->kept->id) == -1) {
		log_warn("files.dir: run %s cannot be kept", r->kept->id);
		return -1;
	}
	r->kept->cost = r->reserved + FILE_COST(1);
	file_dir_release(r->dir, r->reserved);
	r->reserved = 0;
	file_dir_admit(r->dir, r->kept);
	r->kept = NULL;
	return 0;
}
