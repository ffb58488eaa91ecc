#include "config.h"

#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include "log.h"
#include "log_pipe.h"
#include "mem.h"
#include "sandbox_record.h"

/* A leader and the sessions that are states of it: whose turn it is, and what
 * the leader tells. */

static void	on_ready(struct leader_proc *, void *);
static void	on_free(struct leader_proc *, enum session_fate, void *);
static void	on_branched(struct leader_proc *,
		    const struct msg_SESSION_BRANCHED *, void *);
static void	on_state_lost(struct leader_proc *, uint64_t, void *);
static void	on_uses(struct leader_proc *, void *);
static void	on_gone(struct leader_proc *, const char *, void *);

static const struct leader_observer leader_observer = {
	on_ready, on_free, on_branched, on_state_lost, on_uses, on_gone
};

static const char lost[] = "its process ended, and its variables with it";
/* Why there is no branch. */
static const char threaded[] = "threads that a call started in it go on, and "
    "a process with threads cannot be copied; end them, or wait until they "
    "have ended, and fork it then";
static const char full[] = "it and its branches have as many processes as "
    "they may (limits.pids), or as much memory; end a branch with "
    "sandbox_stop, or processes, and fork it then";

static void
ask_for_leader(struct family *f, struct keeper_proc *keeper,
    uint64_t generation)
{
	struct sandboxes *all = f->all;

	if (all->log_fd == -1)
		all->log_fd = log_pipe_open(all->base, "session");
	f->leader = leader_proc_new(all->base, keeper, generation, all->conf,
	    all->log_fd, &leader_observer, f);
}

static void
start_leader(struct family *f)
{
	struct sandboxes *all = f->all;

	if (all->keeper == NULL || all->generation == 0 ||
	    f->leader != NULL || f->generation != 0)
		return;
	ask_for_leader(f, all->keeper, all->generation);
}

static struct family *
family_alone(struct sandboxes *all)
{
	struct family *f = xcalloc(1, sizeof *f);

	f->all = all;
	TAILQ_INSERT_TAIL(&all->families, f, entry);
	return f;
}

struct family *
family_new(struct sandboxes *all)
{
	struct family *f = family_alone(all);

	start_leader(f);
	return f;
}

struct family *
family_new_from(struct sandboxes *all, const struct sandbox_source *source)
{
	struct family *f = family_alone(all);

	f->packages = xstrdup(source->packages);
	if (source->keeper == NULL) {
		start_leader(f);
		return f;
	}
	f->generation = source->generation;
	f->environment = xstrdup(source->environment);
	ask_for_leader(f, source->keeper, source->generation);
	return f;
}

void
family_free(struct family *f)
{
	TAILQ_REMOVE(&f->all->families, f, entry);
	leader_proc_free(&f->leader);
	free(f->environment);
	free(f->packages);
	free(f);
}

static struct family *
family_find(struct sandboxes *all, uint64_t worker)
{
	struct family *f;

	TAILQ_FOREACH(f, &all->families, entry)
		if (f->leader != NULL && f->leader->id == worker)
			return f;
	return NULL;
}

/* The member whose first job has waited longest. */
static struct sandbox *
next_turn(struct family *f)
{
	struct sandbox *sb, *found = NULL;
	const struct job *job;

	TAILQ_FOREACH(sb, &f->all->list, entry) {
		job = TAILQ_FIRST(&sb->jobs);
		if (sb->family == f && !sb->waits && job != NULL &&
		    (found == NULL || job->submitted_us <
		    TAILQ_FIRST(&found->jobs)->submitted_us))
			found = sb;
	}
	return found;
}

void
family_offer(struct family *f)
{
	struct sandbox *sb;

	if (f->turn != NULL || f->leader == NULL || !f->leader->ready ||
	    f->leader->branching > 0 || f->leader->call != NULL)
		return;
	if ((sb = next_turn(f)) == NULL)
		return;
	f->turn = sb;
	f->job = TAILQ_FIRST(&sb->jobs);
	TAILQ_REMOVE(&sb->jobs, f->job, entry);
	f->all->waiting--;
	event_del(sb->ev_expire);
	f->all->observer->runnable(f->job, f->all->arg);
}

static struct sandbox *
sandbox_of(struct family *f, uint64_t state)
{
	struct sandbox *sb;

	TAILQ_FOREACH(sb, &f->all->list, entry)
		if (sb->family == f && sb->state == state)
			return sb;
	return NULL;
}

static void
on_ready(struct leader_proc *l, void *arg)
{
	struct family *f = arg;
	struct sandbox *sb;

	family_offer(f);
	/* As yet there is one at most. */
	if ((sb = sandbox_of(f, 0)) != NULL)
		sandbox_opened(sb);
}

static void
on_free(struct leader_proc *l, enum session_fate fate, void *arg)
{
	struct family *f = arg;
	struct sandboxes *all = f->all;
	struct sandbox *sb = f->turn;

	f->turn = NULL;
	if (sb != NULL && fate == SESSION_GONE) {
		all->counts.lost++;
		sandbox_end(sb, VERDICT_LOST, xstrdup("a call ended it, as "
		    "its answer said"));
	} else if (sb != NULL)
		sandbox_rest(sb);
	family_offer(f);
	all->observer->available(all->arg);
}

static void
on_branched(struct leader_proc *l, const struct msg_SESSION_BRANCHED *m,
    void *arg)
{
	struct family *f = arg;
	struct sandbox *sb = f->branching;

	if (sb == NULL || sb->state != m->branch) {
		/* Ended meanwhile. */
		leader_proc_stop(l, m->branch);
		family_offer(f);
		return;
	}
	f->branching = NULL;
	sb->waits = 0;
	if (m->made)
		sandbox_opened(sb);
	else {
		f->all->counts.opened--;
		sandbox_end(sb, VERDICT_BUSY, xstrdup(m->threads ? threaded :
		    full));
	}
	family_offer(f);
}

static void
on_state_lost(struct leader_proc *l, uint64_t state, void *arg)
{
	struct family *f = arg;
	struct sandbox *sb = sandbox_of(f, state);

	if (sb == NULL)
		return;
	f->all->counts.lost++;
	sandbox_end(sb, VERDICT_LOST, xstrdup(lost));
}

static void
on_uses(struct leader_proc *l, void *arg)
{
	struct family *f = arg;

	sandboxes_shrink(f->all, NULL);
}

static void
on_gone(struct leader_proc *l, const char *why, void *arg)
{
	struct family *f = arg;
	struct sandboxes *all = f->all;
	struct sandbox *sb, *next;

	f->dying = 1;
	leader_proc_free(&f->leader);
	for (sb = TAILQ_FIRST(&all->list); sb != NULL; sb = next) {
		next = TAILQ_NEXT(sb, entry);
		if (sb->family != f)
			continue;
		all->counts.lost += sb->opener == NULL;
		sandbox_end(sb, VERDICT_LOST, xstrdup(sb->opener != NULL &&
		    why != NULL ? why : lost));
	}
	family_free(f);
	if (why != NULL)
		log_warnx("session: not started: %s", why);
	all->observer->available(all->arg);
}

void
sandboxes_set_source(struct sandboxes *all, struct keeper_proc *keeper,
    uint64_t generation)
{
	struct family *f;

	all->keeper = keeper;
	all->generation = generation;
	TAILQ_FOREACH(f, &all->families, entry)
		start_leader(f);
}

void
sandboxes_worker_forked(struct sandboxes *all, uint64_t id, pid_t pid)
{
	struct family *f = family_find(all, id);

	if (f != NULL)
		leader_proc_forked(f->leader, pid);
}

void
sandboxes_worker_ended(struct sandboxes *all, uint64_t id, const char *why)
{
	struct family *f = family_find(all, id);

	if (f != NULL)
		leader_proc_ended(f->leader, why);
}

void
sandboxes_worker_uses(struct sandboxes *all, const struct msg_WORKER_USES *m)
{
	struct family *f = family_find(all, m->worker);

	if (f != NULL)
		leader_proc_uses(f->leader, m);
}

void
sandboxes_abandon(struct sandboxes *all)
{
	struct family *f, *next;

	all->keeper = NULL;
	all->generation = 0;
	for (f = TAILQ_FIRST(&all->families); f != NULL; f = next) {
		next = TAILQ_NEXT(f, entry);
		if (f->leader != NULL)
			leader_proc_ended(f->leader, NULL);
	}
}
