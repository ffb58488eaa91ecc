#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "file_dir.h"
#include "file_run.h"
#include "job_files.h"
#include "job_record.h"
#include "media_type.h"
#include "mem.h"

/* Files that are named though they do not come back. */
#define NAMED_MAX	64
/* What JSON readers take for exact. */
#define NUMBER_MAX	(1ull << 53)

static uint64_t
larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void
job_files_bounds(const struct job *job, uint64_t *files, uint64_t *bytes)
{
	const struct file_bounds *b;

	*files = job->conf->result_files;
	*bytes = job->conf->result_bytes;
	if (job->keep == NULL)
		return;
	b = file_dir_bounds(job->keep_dir);
	*files = larger(*files, b->run_files);
	*bytes = larger(*bytes, b->run_bytes);
}

void
job_files_keep(struct job *job, struct file_dir *dir)
{
	job->keep_dir = dir;
	job->keep = file_run_new(dir, job->result.run_id, job->spec.session,
	    job->spec.owner);
}

static void
clear(struct job_file *f)
{
	free(f->name);
	free(f->mime);
	free(f->data);
	free(f->small);
	free(f->kept);
	memset(f, 0, sizeof *f);
}

/* Puts what has come into its list, and says so. */
static void
list(struct job *job, struct job_file *f, int is_image)
{
	struct job_result *r = &job->result;
	struct job_file **to = is_image ? &r->images : &r->files;
	size_t *n = is_image ? &r->nimages : &r->nfiles;

	*to = xreallocarray(*to, *n + 1, sizeof **to);
	(*to)[*n] = *f;
	memset(f, 0, sizeof *f);
	if (job->observer->file != NULL)
		job->observer->file(job, &(*to)[*n], is_image, job->arg);
	(*n)++;
}

/* A file of which no more is to be had: named, or only counted. */
static void
settle(struct job *job)
{
	struct incoming *in = &job->incoming;
	struct job_file *f = &in->file;

	in->active = 0;
	if (f->whole) {
		job->files_whole++;
		job->files_bytes += f->len + f->small_len;
		list(job, f, in->is_image);
	} else if (job->files_named < NAMED_MAX) {
		job->files_named++;
		list(job, f, 0);
	} else {
		if (f->kept != NULL)
			job->result.files_kept_more++;
		else
			job->result.files_left_out++;
		clear(f);
	}
}

/* All of it has come. */
static void
complete(struct job *job)
{
	struct incoming *in = &job->incoming;
	struct job_file *f = &in->file;

	if (in->to_memory) {
		f->len = in->got;
		f->data[f->len] = '\0';
		f->whole = 1;
	}
	if (in->to_disk) {
		f->kept = xstrdup(file_run_name(job->keep));
		free(f->mime);
		f->mime = xstrdup(file_run_type(job->keep));
		f->why = NULL;
	}
	settle(job);
}

/* It will not be whole any more. */
static void
give_up(struct job *job)
{
	struct incoming *in = &job->incoming;
	struct job_file *f = &in->file;

	if (!in->active)
		return;
	free(f->data);
	f->data = NULL;
	f->why = "it changed while it was read";
	settle(job);
}

/* Whether an answer may still have so many bytes. */
static int
has_room(const struct job *job, uint64_t size)
{
	return job->files_whole < job->conf->result_files &&
	    size <= job->conf->result_bytes &&
	    job->files_bytes <= job->conf->result_bytes - size;
}

/* A file of size bytes is about to come, or with bytes 0 only its name. */
static void
begin(struct job *job, struct slice name, uint64_t size, int is_image,
    int bytes)
{
	struct incoming *in = &job->incoming;
	struct job_file *f = &in->file;

	give_up(job);
	memset(in, 0, sizeof *in);
	in->active = 1;
	in->is_image = is_image;
	f->name = xmemdupz(name.data, name.len);
	f->mime = xstrdup("");
	f->size = size < NUMBER_MAX ? size : NUMBER_MAX;
	f->why = job->files_whole >= job->conf->result_files ?
	    "more files than result.files" : "too large for result.bytes";
	if (!bytes)
		return;
	in->to_memory = has_room(job, size);
	if (in->to_memory)
		f->data = xmalloc(size + 1);
	if (job->keep != NULL) {
		const char *why = file_run_begin(job->keep, f->name, size);

		in->to_disk = why == NULL;
		if (why != NULL)
			f->why = why;
	}
}

static void
more(struct job *job, struct slice data)
{
	struct incoming *in = &job->incoming;
	const char *why;

	if (data.len > in->file.size - in->got) {
		give_up(job);
		return;
	}
	if (in->to_memory)
		memcpy(in->file.data + in->got, data.data, data.len);
	if (in->to_disk && (why = file_run_more(job->keep, data.data,
	    data.len)) != NULL) {
		in->to_disk = 0;
		in->file.why = why;
	}
	in->got += data.len;
	if (in->got < in->file.size)
		return;
	if (in->to_memory || in->to_disk)
		complete(job);
	else
		settle(job);
}

/* No file has such a name: it is only counted. */
static int
is_overlong(struct job *job, struct slice name)
{
	if (name.len <= PATH_MAX)
		return 0;
	give_up(job);
	job->result.files_left_out++;
	return 1;
}

/* A smaller picture counts like a file. */
static void
take_small(struct job *job, struct slice small)
{
	struct job_file *f = &job->incoming.file;

	if (small.len == 0 || !job->incoming.to_memory ||
	    !has_room(job, f->size + small.len))
		return;
	f->small = xmemdupz(small.data, small.len);
	f->small_len = small.len;
}

static void
image(struct job *job, const struct msg_IMAGE *m)
{
	int real = media_picture(m->data.data, m->data.len) != NULL;

	if (is_overlong(job, m->name))
		return;
	/* A worker's word does not make it a picture. */
	begin(job, m->name, m->data.len, real, 1);
	take_small(job, m->small);
	more(job, m->data);
}

static void
file(struct job *job, const struct msg_FILE *m)
{
	int bytes = m->whole || m->parts;

	if (is_overlong(job, m->path))
		return;
	begin(job, m->path, m->whole ? m->data.len : m->size, 0, bytes);
	job->incoming.file.shown = m->shown;
	if (bytes)
		more(job, m->data);
	else
		settle(job);
}

int
job_files_frame(struct job *job, const struct frame *f, char *why)
{
	struct msg_FILE_PART part;
	struct msg_IMAGE img;
	struct msg_FILE m;

	if (f->type == FRAME_IMAGE && msg_decode_IMAGE(f, &img, why) == 0)
		image(job, &img);
	else if (f->type == FRAME_FILE && msg_decode_FILE(f, &m, why) == 0)
		file(job, &m);
	else if (f->type == FRAME_FILE_PART && job->incoming.active &&
	    msg_decode_FILE_PART(f, &part, why) == 0)
		more(job, part.data);
	else
		return -1;
	return 0;
}

static void
forget_kept(struct job_file *files, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (files[i].kept == NULL)
			continue;	/* and says why */
		free(files[i].kept);
		files[i].kept = NULL;
		files[i].why = "it cannot be written to files.dir";
	}
}

void
job_files_end(struct job *job)
{
	struct job_result *r = &job->result;

	give_up(job);
	if (job->keep == NULL || file_run_commit(job->keep) == 0)
		return;
	forget_kept(r->images, r->nimages);
	forget_kept(r->files, r->nfiles);
	r->files_left_out += r->files_kept_more;
	r->files_kept_more = 0;
}

static void
free_list(struct job_file *files, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		clear(&files[i]);
	free(files);
}

void
job_files_free(struct job *job)
{
	struct job_result *r = &job->result;

	file_run_free(&job->keep);
	clear(&job->incoming.file);
	free_list(r->images, r->nimages);
	free_list(r->files, r->nfiles);
}
