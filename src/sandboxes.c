#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "clock.h"
#include "conf.h"
#include "fdutil.h"
#include "log.h"
#include "mem.h"
#include "sandbox_record.h"
#include "units.h"

struct sandboxes *
sandboxes_new(struct event_base *base, struct conf *conf,
    const struct sandboxes_observer *observer, void *arg)
{
	struct sandboxes *all = xcalloc(1, sizeof *all);

	all->base = base;
	all->conf = conf_ref(conf);
	all->observer = observer;
	all->arg = arg;
	all->log_fd = -1;
	TAILQ_INIT(&all->list);
	TAILQ_INIT(&all->families);
	TAILQ_INIT(&all->tombs);
	return all;
}

void
sandboxes_set_conf(struct sandboxes *all, struct conf *conf)
{
	conf_unref(&all->conf);
	all->conf = conf_ref(conf);
}

int
sandbox_is_busy(const struct sandbox *sb)
{
	return sb->family->turn == sb || sb->family->branching == sb ||
	    sb->opener != NULL || !TAILQ_EMPTY(&sb->jobs);
}

struct sandbox *
sandbox_new(struct sandboxes *all, struct family *f, const char *owner,
    enum policy policy, uint64_t ttl)
{
	struct sandbox *sb = xcalloc(1, sizeof *sb);

	sandbox_handle_make(sb->handle, all->conf->sessions_node);
	sb->owner = xstrdup(owner);
	sb->policy = policy;
	sb->family = f;
	sb->idle_ms = ttl;
	sb->until_us = clock_us() + all->conf->sessions_max_age * 1000;
	sb->ev_expire = event_new(all->base, -1, 0,
	    (event_callback_fn)sandbox_on_expire, sb);
	TAILQ_INIT(&sb->jobs);
	TAILQ_INSERT_TAIL(&all->list, sb, entry);
	f->members++;
	all->n++;
	all->counts.opened++;
	sandbox_rest(sb);
	return sb;
}

static void
fail_job(struct sandboxes *all, struct job *job, enum verdict verdict,
    int taken)
{
	job->result.fate = SESSION_GONE;
	job->spec.sandbox = NULL;
	job_condemn(job, verdict);
	all->observer->failed(job, taken, all->arg);
}

/* Its jobs; the one that runs is answered by what comes from below. */
static void
fail_jobs(struct sandbox *sb, enum verdict verdict)
{
	struct family *f = sb->family;
	struct job *job;

	if (f->turn == sb && f->job != NULL) {
		job = f->job;
		f->turn = NULL;
		f->job = NULL;
		fail_job(f->all, job, verdict, 1);
	}
	while ((job = TAILQ_FIRST(&sb->jobs)) != NULL) {
		TAILQ_REMOVE(&sb->jobs, job, entry);
		f->all->waiting--;
		fail_job(f->all, job, verdict, 0);
	}
}

/* A call that runs in it is over with it. */
static void
fail_running(struct sandbox *sb, enum verdict verdict)
{
	struct family *f = sb->family;
	struct msg_SESSION_SETTLED m = { .call = f->leader->call_id,
	    .fate = SESSION_GONE, .status = -1 };

	if (f->leader->call->job != NULL)
		job_condemn(f->leader->call->job, verdict);
	worker_proc_settled(f->leader->call, &m, 0);
	f->leader->asking = 0;
}

/* What a state that nobody wants any more means to its leader. */
static void
leave_family(struct family *f, uint64_t state)
{
	if (f->dying)
		return;
	if (f->leader == NULL) {
		if (f->members == 0)
			family_free(f);
	} else if (f->members == 0)
		leader_proc_kill(f->leader);
	else {
		leader_proc_stop(f->leader, state);
		family_offer(f);
	}
}

void
sandbox_end(struct sandbox *sb, enum verdict verdict, char *why)
{
	struct family *f = sb->family;
	struct sandboxes *all = f->all;
	struct job *opener = sb->opener;
	char *said = opener != NULL ? xstrdup(why) : NULL;
	int running = f->turn == sb && f->job == NULL && f->leader != NULL &&
	    f->leader->call != NULL;

	log_debug("session %.8s... ended: %s", sb->handle, why);
	TAILQ_REMOVE(&all->list, sb, entry);
	all->n--;
	sandbox_bury(all, sb, why);
	if (running)
		fail_running(sb, verdict);
	fail_jobs(sb, verdict);
	if (f->turn == sb)
		f->turn = NULL;
	if (f->branching == sb)
		f->branching = NULL;
	f->members--;
	leave_family(f, sb->state);
	event_free(sb->ev_expire);
	free(sb->owner);
	free(sb);
	if (running)
		all->observer->available(all->arg);
	if (opener != NULL)
		all->observer->opened(opener, verdict, said, all->arg);
	free(said);
}

int
sandboxes_known(const struct sandboxes *all)
{
	return all->known;
}

void
sandboxes_permit(struct sandboxes *all, int on)
{
	all->known = 1;
	all->barred = !on;
	while (!on && !TAILQ_EMPTY(&all->list))
		sandbox_end(TAILQ_FIRST(&all->list), VERDICT_LOST,
		    xstrdup("the kernel cannot confine sessions"));
}

int
sandboxes_have_room(const struct sandboxes *all, char **why)
{
	if (all->barred) {
		*why = xstrdup("There are no sessions here: the kernel "
		    "refuses the filter that holds their processes (seccomp "
		    "user notification, Linux 5.5, which some containers "
		    "forbid); use run_python without session_id.");
		return 0;
	}
	if (all->n < all->conf->sessions_max)
		return 1;
	xasprintf(why, "%u sessions are open, as many as may be "
	    "(sessions.max); end one with sandbox_stop, or use run_python "
	    "without session_id.", all->n);
	return 0;
}

uint64_t
sandboxes_ttl(const struct sandboxes *all, uint64_t asked_ms)
{
	const struct conf *conf = all->conf;
	uint64_t most = conf->sessions_ttl_max < conf->sessions_max_age ?
	    conf->sessions_ttl_max : conf->sessions_max_age;

	if (asked_ms == 0)
		asked_ms = conf->sessions_ttl;
	return asked_ms < most ? asked_ms : most;
}

const char *
sandboxes_open(struct sandboxes *all, const char *owner, enum policy policy,
    uint64_t *ttl, char **why)
{
	if (!sandboxes_have_room(all, why))
		return NULL;
	*ttl = sandboxes_ttl(all, *ttl);
	return sandbox_new(all, family_new(all), owner, policy,
	    *ttl)->handle;
}

struct sandbox *
sandboxes_find(struct sandboxes *all, const char *handle, const char *owner,
    char **why)
{
	const char *end;
	struct sandbox *sb;

	TAILQ_FOREACH(sb, &all->list, entry)
		if (strcmp(sb->handle, handle) == 0 &&
		    strcmp(sb->owner, owner) == 0)
			return sb;
	end = sandbox_epitaph(all, handle, owner);
	if (end != NULL)
		xasprintf(why, "The session is no more: %s.  Its variables "
		    "and files are gone; make another one with "
		    "sandbox_initialize and run what it needs again.", end);
	else
		xasprintf(why, "There is no session \"%.60s\" here; make one "
		    "with sandbox_initialize and give its session_id.",
		    handle);
	return NULL;
}

void
sandboxes_stop(struct sandboxes *all, struct sandbox *sb)
{
	sandbox_end(sb, VERDICT_CANCELLED, xstrdup("it was ended with "
	    "sandbox_stop"));
}

void
sandboxes_stop_owner(struct sandboxes *all, const char *owner)
{
	struct sandbox *sb, *next;

	for (sb = TAILQ_FIRST(&all->list); sb != NULL; sb = next) {
		next = TAILQ_NEXT(sb, entry);
		if (strcmp(sb->owner, owner) == 0)
			sandbox_end(sb, VERDICT_CANCELLED,
			    xstrdup("its connection ended"));
	}
}

const char *
sandbox_packages(const struct sandbox *sb)
{
	return sb->family->packages;
}

const char *
sandbox_handle(const struct sandbox *sb)
{
	return sb->handle;
}

enum policy
sandbox_policy(const struct sandbox *sb)
{
	return sb->policy;
}

void
sandboxes_free(struct sandboxes **allp)
{
	struct sandboxes *all = *allp;
	struct sandbox *sb;

	if (all == NULL)
		return;
	*allp = NULL;
	while ((sb = TAILQ_FIRST(&all->list)) != NULL) {
		TAILQ_REMOVE(&all->list, sb, entry);
		event_free(sb->ev_expire);
		free(sb->owner);
		free(sb);
	}
	while (!TAILQ_EMPTY(&all->families))
		family_free(TAILQ_FIRST(&all->families));
	sandbox_forget_dead(all);
	fd_close(&all->log_fd);
	conf_unref(&all->conf);
	free(all);
}

void
sandboxes_counts(const struct sandboxes *all, struct sandboxes_counts *c)
{
	const struct family *f;

	*c = all->counts;
	c->open = all->n;
	TAILQ_FOREACH(f, &all->families, entry)
		if (f->turn != NULL)
			c->busy++;
}

/* --- jobs */

void
sandboxes_submit(struct sandboxes *all, struct job *job)
{
	struct sandbox *sb = job->spec.sandbox;

	TAILQ_INSERT_TAIL(&sb->jobs, job, entry);
	all->waiting++;
	family_offer(sb->family);
}

int
sandboxes_assign(struct sandboxes *all, struct job *job)
{
	struct sandbox *sb = job->spec.sandbox;
	struct family *f = sb->family;

	if (leader_proc_call(f->leader, sb->state, job) == -1)
		return -1;
	f->job = NULL;
	return 0;
}

int
sandboxes_is_runnable(const struct sandboxes *all, const struct job *job)
{
	return job->spec.sandbox->family->job == job;
}

void
sandboxes_withdraw(struct sandboxes *all, struct job *job)
{
	struct sandbox *sb = job->spec.sandbox;
	struct family *f = sb->family;

	if (f->job != job) {
		TAILQ_REMOVE(&sb->jobs, job, entry);
		all->waiting--;
		return;
	}
	f->turn = NULL;
	f->job = NULL;
	sandbox_rest(sb);
	family_offer(f);
}

struct job *
sandboxes_oldest(const struct sandboxes *all)
{
	struct job *job, *oldest = NULL;
	const struct sandbox *sb;

	if (all->waiting == 0)
		return NULL;
	TAILQ_FOREACH(sb, &all->list, entry)
		if ((job = TAILQ_FIRST(&sb->jobs)) != NULL &&
		    (oldest == NULL ||
		    job->submitted_us < oldest->submitted_us))
			oldest = job;
	return oldest;
}

unsigned
sandboxes_waiting(const struct sandboxes *all)
{
	return all->waiting;
}
