#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "log.h"
#include "mem.h"
#include "sandbox_record.h"

#define RANDOM_BYTES	16
#define NODE_MAX	(HANDLE_BYTES - 2 * RANDOM_BYTES - 2)
#define TOMBS_MAX	4096

void
sandbox_handle_make(char out[HANDLE_BYTES], const char *node)
{
	unsigned char raw[RANDOM_BYTES];
	char host[256] = "";
	size_t i, n = 0;

	if (node[0] == '\0') {
		(void)gethostname(host, sizeof host - 1);
		node = host;
	}
	for (; *node != '\0' && *node != '.' && n < NODE_MAX; node++)
		if (isalnum((unsigned char)*node) || *node == '-')
			out[n++] = *node;
	if (n == 0)
		out[n++] = 'a';
	out[n++] = '_';
	if (getrandom(raw, sizeof raw, 0) != sizeof raw)
		fatal("no random bytes from the kernel");
	for (i = 0; i < sizeof raw; i++, n += 2)
		snprintf(out + n, 3, "%02x", raw[i]);
}

static void
tomb_free(struct sandboxes *all, struct tombstone *t)
{
	TAILQ_REMOVE(&all->tombs, t, entry);
	all->ntombs--;
	free(t->owner);
	free(t->why);
	free(t);
}

void
sandbox_bury(struct sandboxes *all, const struct sandbox *sb, char *why)
{
	struct tombstone *t = xcalloc(1, sizeof *t);

	strcpy(t->handle, sb->handle);
	t->owner = xstrdup(sb->owner);
	t->why = why;
	TAILQ_INSERT_HEAD(&all->tombs, t, entry);
	if (++all->ntombs > TOMBS_MAX)
		tomb_free(all, TAILQ_LAST(&all->tombs, tombstones));
}

const char *
sandbox_epitaph(const struct sandboxes *all, const char *handle,
    const char *owner)
{
	const struct tombstone *t;

	TAILQ_FOREACH(t, &all->tombs, entry)
		if (strcmp(t->handle, handle) == 0)
			return strcmp(t->owner, owner) == 0 ? t->why : NULL;
	return NULL;
}

void
sandbox_forget_dead(struct sandboxes *all)
{
	while (!TAILQ_EMPTY(&all->tombs))
		tomb_free(all, TAILQ_FIRST(&all->tombs));
}
