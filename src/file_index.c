#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "file_index.h"
#include "mem.h"

#define NCHAINS	(sizeof ((struct file_index *)0)->chains / \
    sizeof ((struct file_index *)0)->chains[0])

uint64_t
file_serials(size_t n)
{
	static uint64_t next = 1;

	next += n;
	return next - n;
}

struct file_index *
file_index_new(void)
{
	struct file_index *x = xcalloc(1, sizeof *x);

	TAILQ_INIT(&x->lru);
	TAILQ_INIT(&x->age);
	return x;
}

void
kept_run_free(struct kept_run **rp)
{
	struct kept_run *r = *rp;
	size_t i;

	if (r == NULL)
		return;
	*rp = NULL;
	for (i = 0; i < r->nfiles; i++) {
		free(r->files[i].path);
		free(r->files[i].type);
	}
	free(r->files);
	free(r);
}

void
file_index_free(struct file_index **xp)
{
	struct file_index *x = *xp;
	struct kept_run *r;

	if (x == NULL)
		return;
	*xp = NULL;
	while ((r = TAILQ_FIRST(&x->lru)) != NULL) {
		file_index_remove(x, r);
		kept_run_free(&r);
	}
	free(x);
}

/* Run ids are random; this is only to spread them. */
static struct kept_run **
chain_of(const struct file_index *x, const char *id)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *id != '\0'; id++)
		h = (h ^ (unsigned char)*id) * UINT64_C(0x100000001b3);
	return (struct kept_run **)&x->chains[h % NCHAINS];
}

void
file_index_add(struct file_index *x, struct kept_run *r)
{
	struct kept_run **chain = chain_of(x, r->id);

	r->serial = file_serials(r->nfiles);
	r->next = *chain;
	*chain = r;
	TAILQ_INSERT_TAIL(&x->lru, r, entry);
	TAILQ_INSERT_TAIL(&x->age, r, made);
	x->cost += r->cost;
	x->nfiles += r->nfiles;
	x->nruns++;
}

void
file_index_remove(struct file_index *x, struct kept_run *r)
{
	struct kept_run **at = chain_of(x, r->id);

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	TAILQ_REMOVE(&x->lru, r, entry);
	TAILQ_REMOVE(&x->age, r, made);
	x->cost -= r->cost;
	x->nfiles -= r->nfiles;
	x->nruns--;
}

struct kept_run *
file_index_find(const struct file_index *x, const char *id)
{
	struct kept_run *r;

	for (r = *chain_of(x, id); r != NULL; r = r->next)
		if (strcmp(r->id, id) == 0)
			break;
	return r;
}

void
file_index_used(struct file_index *x, struct kept_run *r, int64_t ms)
{
	r->used_ms = ms;
	TAILQ_REMOVE(&x->lru, r, entry);
	TAILQ_INSERT_TAIL(&x->lru, r, entry);
}

static int
is_shown(const struct kept_run *r, const char *owner, const void *holder)
{
	return (holder != NULL && r->holder == holder) ||
	    (owner[0] != '\0' && strcmp(r->owner, owner) == 0);
}

const struct kept_file *
file_index_next(const struct file_index *x, const char *owner,
    const void *holder, uint64_t after, const struct kept_run **run)
{
	const struct kept_run *r;

	TAILQ_FOREACH(r, &x->age, made) {
		if (r->serial + r->nfiles <= after + 1 ||
		    !is_shown(r, owner, holder))
			continue;
		*run = r;
		return &r->files[after + 1 > r->serial ?
		    after + 1 - r->serial : 0];
	}
	return NULL;
}

const struct kept_file *
kept_run_file(const struct kept_run *r, const char *path)
{
	size_t i;

	for (i = 0; i < r->nfiles; i++)
		if (strcmp(r->files[i].path, path) == 0)
			return &r->files[i];
	return NULL;
}

void
kept_run_add(struct kept_run *r, const char *path, const char *type,
    uint64_t size)
{
	struct kept_file *f;

	/* Room is made in powers of two. */
	if ((r->nfiles & (r->nfiles - 1)) == 0)
		r->files = xreallocarray(r->files, r->nfiles == 0 ? 1 :
		    2 * r->nfiles, sizeof *r->files);
	f = &r->files[r->nfiles++];
	f->path = xstrdup(path);
	f->type = xstrdup(type);
	f->size = size;
}
