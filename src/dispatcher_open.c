#include "config.h"

#include <stdlib.h>

#include <event2/event.h>

#include "dispatcher_private.h"
#include "environments.h"
#include "job_record.h"
#include "job_verdict.h"
#include "mem.h"
#include "pool.h"
#include "sandboxes.h"
#include "supervisor.h"

/* Jobs that start a session: they wait for their packages as others do, and
 * then for a leader that comes from the same zygote as workers would. */

/* Leaders that may fail before a job is told so. */
#define TRIES_MAX	3

void
dispatcher_open(struct dispatcher *d, struct job *job, struct environment *e)
{
	struct sandbox_source source = { .packages = job->spec.packages };
	char *why;

	if (e != NULL) {
		source.keeper = supervisor_keeper(d->supervisor);
		source.generation = environment_generation(e);
		source.environment = environment_name(e);
	}
	if (sandboxes_start(d->sandboxes, job, &source, &why) == -1) {
		job_finish(&job, VERDICT_BUSY, why);
		return;
	}
	TAILQ_INSERT_TAIL(&d->opening, job, entry);
	d->nopening++;
	if (e != NULL)
		environment_busy(e, 1);
}

void
dispatcher_branch(struct dispatcher *d, struct job *job)
{
	sandboxes_branch(d->sandboxes, job);
	TAILQ_INSERT_TAIL(&d->opening, job, entry);
	d->nopening++;
}

static void
leave(struct dispatcher *d, struct job *job)
{
	TAILQ_REMOVE(&d->opening, job, entry);
	d->nopening--;
	if (job->env != NULL)
		environment_busy(job->env, -1);
}

void
dispatcher_close(struct dispatcher *d, struct job *job)
{
	leave(d, job);
	sandboxes_give_up(d->sandboxes, job);
}

/* The zygote may have ended before its leader was there. */
static void
try_again(struct dispatcher *d, struct job *job, const char *why)
{
	char *text;

	if (++job->tries == TRIES_MAX) {
		xasprintf(&text, "The session could not be started: %s.  Try "
		    "again; the log of the server may say more.", why);
		job_finish(&job, VERDICT_LOST, text);
	} else if (job->env != NULL)
		environments_again(d->environments, job);
	else {
		dispatcher_enqueue(d, job, 1);
		event_active(d->ev_dispatch, 0, 0);
	}
}

void
dispatcher_opened(struct job *job, enum verdict verdict, const char *why,
    void *arg)
{
	struct dispatcher *d = arg;
	char *text;

	leave(d, job);
	job->spec.sandbox = NULL;
	if (why == NULL)
		job_finish(&job, VERDICT_OK, job_reason(job, VERDICT_OK));
	else if (job->spec.opens->from != NULL) {
		xasprintf(&text, "The session was not forked: %s.", why);
		job_finish(&job, verdict, text);
	} else if (verdict == VERDICT_LOST)
		try_again(d, job, why);
	else
		dispatcher_refuse(d, job, verdict);
}
