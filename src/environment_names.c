#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "environment.h"
#include "mem.h"

/* What was asked for, word by word, and the environment that it leads to. */

/* Texts of which that is remembered. */
#define NAMES_MAX	256

struct environment_name *
environment_names_find(struct environments *all, const char *packages)
{
	struct environment_name *n;

	TAILQ_FOREACH(n, &all->names, entry)
		if (strcmp(n->packages, packages) == 0)
			return n;
	return NULL;
}

static void
environment_names_drop(struct environments *all, struct environment_name *n)
{
	TAILQ_REMOVE(&all->names, n, entry);
	all->nnames--;
	free(n->packages);
	free(n);
}

void
environment_names_add(struct environments *all, const char *packages,
    struct environment *env)
{
	struct environment_name *n = xcalloc(1, sizeof *n);

	if (all->nnames >= NAMES_MAX)
		environment_names_drop(all, TAILQ_LAST(&all->names,
		    environment_names));
	n->packages = xstrdup(packages);
	n->env = env;
	TAILQ_INSERT_HEAD(&all->names, n, entry);
	all->nnames++;
}

void
environment_names_move(struct environment *from, struct environment *to,
    int drop)
{
	struct environments *all = from->all;
	struct environment_name *n, *next;

	for (n = TAILQ_FIRST(&all->names); n != NULL; n = next) {
		next = TAILQ_NEXT(n, entry);
		if (n->env != from)
			continue;
		if (drop)
			environment_names_drop(all, n);
		else
			n->env = to;
	}
}

void
environment_names_clear(struct environments *all)
{
	while (!TAILQ_EMPTY(&all->names))
		environment_names_drop(all, TAILQ_FIRST(&all->names));
}
