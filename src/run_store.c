#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "clock.h"
#include "file_about.h"
#include "file_dir.h"
#include "file_index.h"
#include "mem.h"
#include "run_store.h"

/* What an item takes besides its data and names. */
#define OVERHEAD	256

struct kept {
	TAILQ_ENTRY(kept) entry;
	char		*run_id;
	const void	*owner;		/* NULL once it is gone */
	uint64_t	 born_us;
	uint64_t	 bytes;
	struct run_item	**items;
	size_t		 nitems;
};

struct run_store {
	TAILQ_HEAD(kept_list, kept) runs;	/* oldest first */
	uint64_t	 bytes, bytes_max;
	uint64_t	 age_us;
	void		(*observe)(const struct run_item *, const void *owner,
			    int added, void *arg);
	void		*arg;
	struct file_dir	*dir;		/* NULL for none */
	struct run_item	 on_disk;	/* what was found there last */
};

#define SCHEME		"adder://run/"

struct run_store *
run_store_new(void)
{
	struct run_store *s = xcalloc(1, sizeof *s);

	TAILQ_INIT(&s->runs);
	return s;
}

void
run_store_observe(struct run_store *s, void (*observe)(
    const struct run_item *, const void *owner, int added, void *arg),
    void *arg)
{
	s->observe = observe;
	s->arg = arg;
}

static void
forget(struct run_item *item)
{
	free(item->uri);
	free(item->name);
	free(item->mime);
	memset(item, 0, sizeof *item);
}

static void
drop(struct run_store *s, struct kept *k)
{
	size_t i;

	TAILQ_REMOVE(&s->runs, k, entry);
	s->bytes -= k->bytes;
	for (i = 0; i < k->nitems; i++) {
		if (s->observe != NULL)
			s->observe(k->items[i], k->owner, 0, s->arg);
		free(k->items[i]->uri);
		free(k->items[i]->name);
		free(k->items[i]->mime);
		free(k->items[i]->data);
		free(k->items[i]);
	}
	free(k->items);
	free(k->run_id);
	free(k);
}

void
run_store_free(struct run_store **sp)
{
	struct kept *k;

	if (*sp == NULL)
		return;
	(*sp)->observe = NULL;
	if ((*sp)->dir != NULL)
		file_dir_observe((*sp)->dir, NULL, NULL);
	while ((k = TAILQ_FIRST(&(*sp)->runs)) != NULL)
		drop(*sp, k);
	forget(&(*sp)->on_disk);
	free(*sp);
	*sp = NULL;
}

static void
shrink(struct run_store *s, uint64_t max, const struct kept *spare)
{
	struct kept *k;

	while (s->bytes > max && (k = TAILQ_FIRST(&s->runs)) != NULL &&
	    k != spare)
		drop(s, k);
}

void
run_store_bound(struct run_store *s, uint64_t bytes, uint64_t age_us)
{
	s->bytes_max = bytes;
	s->age_us = age_us;
	shrink(s, bytes, NULL);
}

/* Percent-encoded as RFC 3986 section 2.1 has it, slashes kept. */
char *
run_uri(const char *run_id, const char *name)
{
	char *path = path_encode(name), *uri;

	xasprintf(&uri, SCHEME "%s/%s", run_id, path);
	free(path);
	return uri;
}

static struct kept *
find_run(struct run_store *s, const char *run_id)
{
	struct kept *k;

	/* It is most often the newest. */
	TAILQ_FOREACH_REVERSE(k, &s->runs, kept_list, entry)
		if (strcmp(k->run_id, run_id) == 0)
			return k;
	return NULL;
}

static struct run_item *
find_item(const struct kept *k, const char *uri)
{
	size_t i;

	for (i = 0; i < k->nitems; i++)
		if (strcmp(k->items[i]->uri, uri) == 0)
			return k->items[i];
	return NULL;
}

static struct kept *
add_run(struct run_store *s, const char *run_id, const void *owner)
{
	struct kept *k = xcalloc(1, sizeof *k);

	k->run_id = xstrdup(run_id);
	k->owner = owner;
	k->born_us = clock_us();
	TAILQ_INSERT_TAIL(&s->runs, k, entry);
	return k;
}

/* A program may make a file named stdout. */
static char *
unused_uri(const struct kept *k, const char *run_id, const char *name)
{
	char *uri = run_uri(run_id, name), *other;
	unsigned n = 1;

	while (find_item(k, uri) != NULL) {
		free(uri);
		xasprintf(&other, "%s~%u", name, ++n);
		uri = run_uri(run_id, other);
		free(other);
	}
	return uri;
}

int
run_store_fits(const struct run_store *s, size_t len)
{
	return len + OVERHEAD <= s->bytes_max;
}

const struct run_item *
run_store_add(struct run_store *s, const char *run_id, const void *owner,
    const char *name, const char *mime, char *data, size_t len)
{
	struct kept *k = find_run(s, run_id);
	struct run_item *item;
	uint64_t cost;

	if (k == NULL)
		k = add_run(s, run_id, owner);
	cost = len + 4 * strlen(name) + OVERHEAD;
	/* One run that has too much gives up nothing that it was promised. */
	if (k->bytes + cost > s->bytes_max) {
		free(data);
		if (k->nitems == 0)
			drop(s, k);
		return NULL;
	}
	item = xcalloc(1, sizeof *item);
	item->uri = unused_uri(k, run_id, name);
	item->name = xstrdup(name);
	item->mime = xstrdup(mime);
	item->data = data;
	item->len = len;
	item->serial = file_serials(1);
	k->items = xreallocarray(k->items, k->nitems + 1, sizeof *k->items);
	k->items[k->nitems++] = item;
	k->bytes += cost;
	s->bytes += cost;
	shrink(s, s->bytes_max, k);
	if (s->observe != NULL)
		s->observe(item, owner, 1, s->arg);
	return item;
}

static void
describe(struct run_item *item, const struct kept_run *r,
    const struct kept_file *f)
{
	memset(item, 0, sizeof *item);
	item->uri = run_uri(r->id, f->path);
	item->name = xstrdup(f->path);
	item->mime = xstrdup(f->type);
	item->len = f->size;
	item->serial = r->serial + (f - r->files);
}

static const struct run_item *
show_on_disk(struct run_store *s, const struct kept_run *r,
    const struct kept_file *f)
{
	forget(&s->on_disk);
	describe(&s->on_disk, r, f);
	return &s->on_disk;
}

/* Tells of each file of a run that files.dir has, or has no more. */
static void
tell(struct run_store *s, const struct kept_run *r, int added)
{
	struct run_item item;
	size_t i;

	for (i = 0; s->observe != NULL && i < r->nfiles; i++) {
		describe(&item, r, &r->files[i]);
		s->observe(&item, r->holder, added, s->arg);
		forget(&item);
	}
}

static void
on_evicted(const struct kept_run *r, void *arg)
{
	tell(arg, r, 0);
}

void
run_store_set_dir(struct run_store *s, struct file_dir *dir)
{
	s->dir = dir;
	if (dir != NULL)
		file_dir_observe(dir, on_evicted, s);
}

int
run_store_has_dir(const struct run_store *s)
{
	return s->dir != NULL;
}

int
run_store_keeps(const struct run_store *s)
{
	return s->bytes_max > 0 || s->dir != NULL;
}

/* The run that a URI of ours names, and *path (the caller's to free). */
static struct kept_run *
parse_uri(struct run_store *s, const char *uri, char **path)
{
	char id[RUN_ID_MAX];
	const char *slash;

	*path = NULL;
	if (strncmp(uri, SCHEME, strlen(SCHEME)) != 0)
		return NULL;
	uri += strlen(SCHEME);
	slash = strchr(uri, '/');
	if (slash == NULL || (size_t)(slash - uri) >= sizeof id)
		return NULL;
	memcpy(id, uri, slash - uri);
	id[slash - uri] = '\0';
	*path = xstrdup(slash + 1);
	return path_decode(*path) == -1 ? NULL : file_dir_run(s->dir, id);
}

static const struct run_item *
find_on_disk(struct run_store *s, const char *uri)
{
	const struct kept_file *f = NULL;
	struct kept_run *r;
	char *path;

	if (s->dir == NULL)
		return NULL;
	r = parse_uri(s, uri, &path);
	if (r != NULL)
		f = kept_run_file(r, path);
	free(path);
	return f == NULL ? NULL : show_on_disk(s, r, f);
}

const struct run_item *
run_store_find(struct run_store *s, const char *uri)
{
	const struct run_item *item = NULL;
	struct kept *k;

	run_store_expire(s);
	TAILQ_FOREACH(k, &s->runs, entry)
		if ((item = find_item(k, uri)) != NULL)
			return item;
	return find_on_disk(s, uri);
}

static const struct run_item *
next_in_memory(const struct run_store *s, const void *owner, uint64_t after)
{
	struct kept *k;
	size_t i;

	TAILQ_FOREACH(k, &s->runs, entry)
		for (i = 0; k->owner == owner && i < k->nitems; i++)
			if (k->items[i]->serial > after)
				return k->items[i];
	return NULL;
}

const struct run_item *
run_store_next(struct run_store *s, const void *owner, const char *name,
    uint64_t after)
{
	const struct run_item *item = next_in_memory(s, owner, after);
	const struct kept_file *f = NULL;
	const struct kept_run *r;

	if (s->dir != NULL)
		f = file_index_next(file_dir_index(s->dir), name, owner,
		    after, &r);
	if (f == NULL || (item != NULL && item->serial < r->serial +
	    (f - r->files)))
		return item;
	return show_on_disk(s, r, f);
}

char *
run_store_read(struct run_store *s, const struct run_item *item,
    size_t offset, size_t len, size_t *got)
{
	struct kept_run *r;
	const struct kept_file *f;
	char *path, *data = NULL;

	if (offset > item->len)
		offset = item->len;
	if (len > item->len - offset)
		len = item->len - offset;
	if (item->data != NULL) {
		*got = len;
		return xmemdupz(item->data + offset, len);
	}
	r = parse_uri(s, item->uri, &path);
	f = r == NULL ? NULL : kept_run_file(r, path);
	if (f != NULL)
		data = file_dir_read(s->dir, r, f, offset, len, got);
	free(path);
	return data;
}

void
run_store_own(struct run_store *s, const char *run_id, const void *owner)
{
	struct kept_run *r;

	if (s->dir == NULL || (r = file_dir_run(s->dir, run_id)) == NULL)
		return;
	r->holder = owner;
	tell(s, r, 1);
}

void
run_store_disown(struct run_store *s, const void *owner)
{
	struct kept *k;

	TAILQ_FOREACH(k, &s->runs, entry)
		if (k->owner == owner)
			k->owner = NULL;
	if (s->dir != NULL)
		file_dir_disown(s->dir, owner);
}

static uint64_t
sooner(uint64_t a, uint64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

uint64_t
run_store_expire(struct run_store *s)
{
	uint64_t now = clock_us();
	struct kept *k;

	while ((k = TAILQ_FIRST(&s->runs)) != NULL &&
	    now - k->born_us >= s->age_us)
		drop(s, k);
	return sooner(k == NULL ? 0 : k->born_us + s->age_us - now,
	    s->dir == NULL ? 0 : file_dir_expire(s->dir));
}

uint64_t
run_store_bytes(const struct run_store *s)
{
	return s->bytes;
}
