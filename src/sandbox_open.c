#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "sandbox_record.h"

/* Sessions that a job asks for, since what they start from has to be made
 * first: it is answered when their leader is there. */

/* The first of the families that hold this environment. */
static int
is_first(const struct family *f)
{
	const struct family *other;

	TAILQ_FOREACH(other, &f->all->families, entry) {
		if (other == f)
			break;
		if (other->environment != NULL &&
		    strcmp(other->environment, f->environment) == 0)
			return 0;
	}
	return 1;
}

void
sandboxes_environments(const struct sandboxes *all, FILE *out)
{
	const struct family *f;

	TAILQ_FOREACH(f, &all->families, entry)
		if (f->environment != NULL && is_first(f))
			fprintf(out, "%s ", f->environment);
}

unsigned
sandboxes_environments_held(const struct sandboxes *all)
{
	const struct family *f;
	unsigned n = 0;

	TAILQ_FOREACH(f, &all->families, entry)
		n += f->environment != NULL && is_first(f);
	return n;
}

/* One more, unless it is held already. */
static int
may_hold(const struct sandboxes *all, const char *environment, char **why)
{
	unsigned n = sandboxes_environments_held(all);
	const struct family *f;

	TAILQ_FOREACH(f, &all->families, entry)
		if (f->environment != NULL &&
		    strcmp(f->environment, environment) == 0)
			return 1;
	if (n < SANDBOX_ENVIRONMENTS_MAX)
		return 1;
	xasprintf(why, "The open sessions have %u different sets of packages, "
	    "as many as they may; end one with sandbox_stop, or use "
	    "run_python with dependencies.", n);
	return 0;
}

int
sandboxes_start(struct sandboxes *all, struct job *job,
    const struct sandbox_source *source, char **why)
{
	const struct job_session *ask = job->spec.opens;
	struct sandbox *sb;
	struct family *f;

	if (!sandboxes_have_room(all, why) || (source->environment != NULL &&
	    !may_hold(all, source->environment, why)))
		return -1;
	f = family_new_from(all, source);
	sb = sandbox_new(all, f, ask->owner, job->spec.policy,
	    sandboxes_ttl(all, ask->ttl_ms));
	sb->opener = job;
	job->spec.sandbox = sb;
	return 0;
}

int
sandboxes_may_branch(const struct sandboxes *all, const struct sandbox *from,
    char **why)
{
	const struct family *f = from->family;

	if (!sandboxes_have_room(all, why))
		return 0;
	if (!from->waits && !sandbox_is_busy(from) && f->turn == NULL &&
	    f->leader != NULL && f->leader->ready &&
	    f->leader->branching == 0)
		return 1;
	*why = xstrdup("The session has a call under way, or one of its "
	    "branches has; fork it when that is answered.");
	return 0;
}

void
sandboxes_branch(struct sandboxes *all, struct job *job)
{
	struct sandbox *from = job->spec.opens->from, *sb;
	struct family *f = from->family;

	sb = sandbox_new(all, f, from->owner, from->policy, from->idle_ms);
	sb->waits = 1;
	sb->opener = job;
	job->spec.sandbox = sb;
	f->branching = sb;
	sb->state = leader_proc_branch(f->leader, from->state);
}

void
sandboxes_give_up(struct sandboxes *all, struct job *job)
{
	struct sandbox *sb = job->spec.sandbox;

	job->spec.sandbox = NULL;
	sb->opener = NULL;
	sandbox_end(sb, VERDICT_CANCELLED, xstrdup("nobody waited for it"));
}

int
sandboxes_have_source(const struct sandboxes *all)
{
	return all->keeper != NULL && all->generation != 0;
}

void
sandbox_opened(struct sandbox *sb)
{
	struct sandboxes *all = sb->family->all;
	struct job *job = sb->opener;

	if (job == NULL)
		return;
	sb->opener = NULL;
	job->spec.sandbox = NULL;
	memcpy(job->result.opened, sb->handle, sizeof job->result.opened);
	job->result.opened_ttl_ms = sb->idle_ms;
	sandbox_rest(sb);
	all->observer->opened(job, VERDICT_OK, NULL, all->arg);
}
