#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "environment.h"
#include "pool.h"
#include "sandboxes.h"

/* What is known of all environments together. */

/* COLD ones may still have workers with a job. */
static int
uses_files(const struct environment *e)
{
	return e->found.path != NULL && (e->state > ENV_INSTALLING ||
	    !pool_is_empty(e->pool));
}

char *
environments_in_use(const struct environments *all)
{
	const struct environment *e;
	size_t len;
	char *text;
	FILE *out = open_memstream(&text, &len);

	TAILQ_FOREACH(e, &all->list, entry)
		if (uses_files(e))
			fprintf(out, "%s ", environment_name(e));
	if (all->sandboxes != NULL)
		sandboxes_environments(all->sandboxes, out);
	fclose(out);
	return text;
}

void
environments_note(struct environments *all, const struct install_result *r)
{
	if (r == NULL)
		all->counts.failures++;
	else {
		all->counts.installs += r->made;
		all->counts.evictions += r->evicted;
	}
}

void
environments_counts(const struct environments *all,
    struct environments_counts *c)
{
	const struct environment *e;

	*c = all->counts;
	TAILQ_FOREACH(e, &all->list, entry)
		c->zygotes += e->state == ENV_READY;
	if (all->sandboxes != NULL)
		c->sessions = sandboxes_environments_held(all->sandboxes);
}
