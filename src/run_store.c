#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "clock.h"
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
	uint64_t	 serial;
	void		(*observe)(const struct run_item *, const void *owner,
			    int added, void *arg);
	void		*arg;
};

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
	while ((k = TAILQ_FIRST(&(*sp)->runs)) != NULL)
		drop(*sp, k);
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
	char *uri = xmalloc(strlen("adder://run//") + strlen(run_id) +
	    3 * strlen(name) + 1);
	char *p = uri + sprintf(uri, "adder://run/%s/", run_id);

	for (; *name != '\0'; name++) {
		unsigned char c = *name;

		if (isalnum(c) || strchr("-._~/", c) != NULL)
			*p++ = c;
		else
			p += sprintf(p, "%%%02X", c);
	}
	*p = '\0';
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
	item->serial = ++s->serial;
	k->items = xreallocarray(k->items, k->nitems + 1, sizeof *k->items);
	k->items[k->nitems++] = item;
	k->bytes += cost;
	s->bytes += cost;
	shrink(s, s->bytes_max, k);
	if (s->observe != NULL)
		s->observe(item, owner, 1, s->arg);
	return item;
}

const struct run_item *
run_store_find(struct run_store *s, const char *uri)
{
	const struct run_item *item = NULL;
	struct kept *k;

	run_store_expire(s);
	TAILQ_FOREACH(k, &s->runs, entry)
		if ((item = find_item(k, uri)) != NULL)
			break;
	return item;
}

const struct run_item *
run_store_next(struct run_store *s, const void *owner, uint64_t after)
{
	struct kept *k;
	size_t i;

	TAILQ_FOREACH(k, &s->runs, entry)
		for (i = 0; k->owner == owner && i < k->nitems; i++)
			if (k->items[i]->serial > after)
				return k->items[i];
	return NULL;
}

void
run_store_disown(struct run_store *s, const void *owner)
{
	struct kept *k;

	TAILQ_FOREACH(k, &s->runs, entry)
		if (k->owner == owner)
			k->owner = NULL;
}

uint64_t
run_store_expire(struct run_store *s)
{
	uint64_t now = clock_us();
	struct kept *k;

	while ((k = TAILQ_FIRST(&s->runs)) != NULL &&
	    now - k->born_us >= s->age_us)
		drop(s, k);
	return k == NULL ? 0 : k->born_us + s->age_us - now;
}

uint64_t
run_store_bytes(const struct run_store *s)
{
	return s->bytes;
}
