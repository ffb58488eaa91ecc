#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beneath.h"
#include "file_about.h"
#include "file_dir.h"
#include "file_dir_load.h"
#include "file_index.h"
#include "log.h"
#include "mem.h"
#include "rmtree.h"

/* What adderd finds in files.dir when it starts. */

struct found {
	struct kept_run	**runs;
	size_t		 n;
	size_t		 removed;
};

static int
is_id(const char *name)
{
	return name[0] != '\0' && strlen(name) < RUN_ID_MAX &&
	    strspn(name, "0123456789abcdef") == strlen(name);
}

/* Every file is there with the size that it should have: a machine that lost
 * its power may have kept the names only. */
static int
is_whole(struct kept_run *r, int dirfd)
{
	int files = beneath_open(dirfd, FILES_NAME, O_RDONLY | O_DIRECTORY,
	    0);
	struct stat st;
	size_t i;

	if (files == -1)
		return 0;
	r->cost = FILE_COST(1);
	for (i = 0; i < r->nfiles; i++) {
		if (fstatat(files, r->files[i].path, &st,
		    AT_SYMLINK_NOFOLLOW) == -1 || !S_ISREG(st.st_mode) ||
		    (uint64_t)st.st_size != r->files[i].size)
			break;
		r->cost += FILE_COST(r->files[i].size);
	}
	close(files);
	return r->nfiles > 0 && i == r->nfiles;
}

static int
read_about(struct kept_run *r, int dirfd)
{
	int fd = beneath_open(dirfd, ABOUT_NAME, O_RDONLY | O_NONBLOCK, 0);
	FILE *in = fd == -1 ? NULL : fdopen(fd, "r");
	int rv;

	if (in == NULL) {
		if (fd != -1)
			close(fd);
		return -1;
	}
	rv = file_about_read(r, in);
	fclose(in);
	return rv;
}

/* NULL if it is not whole. */
static struct kept_run *
load_run(int parent, const char *id, const char *session)
{
	struct kept_run *r = xcalloc(1, sizeof *r);
	int fd = beneath_open(parent, id, O_RDONLY | O_DIRECTORY, 0);
	struct stat st;

	/* Both are no longer than that: whoever calls has looked. */
	snprintf(r->id, sizeof r->id, "%.*s", (int)sizeof r->id - 1, id);
	snprintf(r->session, sizeof r->session, "%.*s",
	    (int)sizeof r->session - 1, session);
	if (fd == -1 || fstat(fd, &st) == -1 || read_about(r, fd) == -1 ||
	    !is_whole(r, fd))
		kept_run_free(&r);
	else
		r->used_ms = (int64_t)st.st_mtim.tv_sec * 1000 +
		    st.st_mtim.tv_nsec / 1000000;
	if (fd != -1)
		close(fd);
	return r;
}

/* A name in a directory of runs: a run, or something that was to be one or is
 * one no more. */
static void
load_name(struct found *f, int parent, const char *name, const char *session)
{
	struct kept_run *r = is_id(name) ? load_run(parent, name, session) :
	    NULL;

	if (r != NULL) {
		/* Room is made in powers of two. */
		if ((f->n & (f->n - 1)) == 0)
			f->runs = xreallocarray(f->runs, f->n == 0 ? 1 :
			    2 * f->n, sizeof *f->runs);
		f->runs[f->n++] = r;
	} else if (is_id(name) || (name[0] == '.' && is_id(name + 1))) {
		f->removed++;
		if (rmtree_at(parent, name) == -1)
			log_warn("files.dir: %s cannot be removed", name);
	}
}

static DIR *
open_list(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	DIR *dir = fd == -1 ? NULL : fdopendir(fd);

	if (dir == NULL && fd != -1)
		close(fd);
	return dir;
}

static void
load_group(struct found *f, int at, const char *name, const char *session)
{
	DIR *dir = open_list(at, name);
	struct dirent *e;

	if (dir == NULL)
		return;
	while ((e = readdir(dir)) != NULL)
		if (strcmp(e->d_name, ".") != 0 &&
		    strcmp(e->d_name, "..") != 0)
			load_name(f, dirfd(dir), e->d_name, session);
	closedir(dir);
}

static void
load_sessions(struct found *f, int sessions)
{
	DIR *dir = open_list(sessions, ".");
	struct dirent *e;

	if (dir == NULL)
		return;
	while ((e = readdir(dir)) != NULL) {
		if (e->d_name[0] == '.' || strlen(e->d_name) >=
		    sizeof ((struct kept_run *)0)->session)
			continue;
		load_group(f, sessions, e->d_name, e->d_name);
		/* Succeeds if nothing is in it. */
		unlinkat(sessions, e->d_name, AT_REMOVEDIR);
	}
	closedir(dir);
}

static int
by_made(const void *a, const void *b)
{
	const struct kept_run *x = *(struct kept_run *const *)a;
	const struct kept_run *y = *(struct kept_run *const *)b;

	return x->made_ms < y->made_ms ? -1 : x->made_ms > y->made_ms;
}

static int
by_used(const void *a, const void *b)
{
	const struct kept_run *x = *(struct kept_run *const *)a;
	const struct kept_run *y = *(struct kept_run *const *)b;

	return x->used_ms < y->used_ms ? -1 : x->used_ms > y->used_ms;
}

void
file_dir_load_runs(struct file_index *index, int runs, int sessions,
    size_t *removed)
{
	struct found f = { NULL, 0, 0 };
	size_t i;

	load_group(&f, runs, ".", "");
	load_sessions(&f, sessions);
	if (f.n > 0)
		qsort(f.runs, f.n, sizeof *f.runs, by_made);
	for (i = 0; i < f.n; i++)
		file_index_add(index, f.runs[i]);
	if (f.n > 0)
		qsort(f.runs, f.n, sizeof *f.runs, by_used);
	for (i = 0; i < f.n; i++)
		file_index_used(index, f.runs[i], f.runs[i]->used_ms);
	free(f.runs);
	*removed = f.removed;
}
