#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "dispatcher.h"
#include "fake_dispatcher.h"
#include "job_input.h"
#include "mem.h"
#include "probe.h"

struct job {
	TAILQ_ENTRY(job)	 entry;
	struct dispatcher	*d;
	struct job_spec		 spec;
	const struct job_observer *observer;
	void			*arg;
	struct event		*ev;
	int			 paused;
	char			*text[JOB_STREAMS];
};

struct dispatcher {
	struct event_base	*base;
	TAILQ_HEAD(, job)	 jobs;
	unsigned		 njobs;
	unsigned		 cancelled;
	int			 ready;
	uint64_t		 calls[VERDICT_COUNT];
};

struct dispatcher *
dispatcher_new(struct event_base *base, struct conf *conf, char **why)
{
	struct dispatcher *d = xcalloc(1, sizeof *d);

	d->base = base;
	d->ready = 1;
	TAILQ_INIT(&d->jobs);
	return d;
}

void
dispatcher_reload(struct dispatcher *d, struct conf *conf)
{
}

static void
job_free(struct job *j)
{
	TAILQ_REMOVE(&j->d->jobs, j, entry);
	j->d->njobs--;
	event_free(j->ev);
	free(j->text[JOB_STDOUT]);
	free(j->text[JOB_STDERR]);
	free(j->spec.code);
	free(j->spec.stdin_data);
	free(j->spec.packages);
	free(j->spec.opens);
	job_inputs_free(j->spec.inputs, j->spec.ninputs);
	free(j);
}

void
dispatcher_free(struct dispatcher **dp)
{
	struct job *j;

	while ((j = TAILQ_FIRST(&(*dp)->jobs)) != NULL)
		job_free(j);
	free(*dp);
	*dp = NULL;
}

static void
append(struct job *j, enum job_stream stream, const char *text)
{
	char *old = j->text[stream];

	xasprintf(&j->text[stream], "%s%s", old == NULL ? "" : old, text);
	free(old);
	if (j->observer->output != NULL)
		j->observer->output(j, stream, text, strlen(text), j->arg);
}

static void
finish(struct job *j, const char *exception)
{
	struct job_result r = { .exit_code = 0, .reason = (char *)"" };
	enum job_stream s;

	if (exception != NULL) {
		r.verdict = VERDICT_EXCEPTION;
		r.exit_code = 1;
		r.exc_type = (char *)exception;
		r.traceback = (char *)"Traceback\n";
		r.reason = (char *)"The program failed.";
	}
	for (s = 0; s < JOB_STREAMS; s++)
		if (j->text[s] != NULL) {
			r.output[s].head = j->text[s];
			r.output[s].head_len = strlen(j->text[s]);
			r.output[s].total = r.output[s].head_len;
		}
	strcpy(r.run_id, "fake");
	j->d->calls[r.verdict]++;
	j->observer->done(j, &r, j->arg);
	job_free(j);
}

static void
run(evutil_socket_t fd, short what, void *arg)
{
	struct job *j = arg;
	char *rest = j->spec.code, *line;
	const char *exception = NULL;

	if (j->observer->started != NULL)
		j->observer->started(j, j->arg);
	while ((line = strsep(&rest, "\n")) != NULL) {
		if (strncmp(line, "out ", 4) == 0)
			append(j, JOB_STDOUT, line + 4);
		else if (strncmp(line, "err ", 4) == 0)
			append(j, JOB_STDERR, line + 4);
		else if (strncmp(line, "raise ", 6) == 0)
			exception = line + 6;
		else if (strcmp(line, "hold") == 0)
			return;
	}
	finish(j, exception);
}

struct job *
dispatcher_submit(struct dispatcher *d, struct job_spec *spec,
    const struct job_observer *observer, void *arg)
{
	struct job *j = xcalloc(1, sizeof *j);

	j->d = d;
	j->spec = *spec;
	j->observer = observer;
	j->arg = arg;
	j->ev = event_new(d->base, -1, 0, run, j);
	event_active(j->ev, 0, 0);
	TAILQ_INSERT_TAIL(&d->jobs, j, entry);
	d->njobs++;
	return j;
}

void
dispatcher_cancel(struct dispatcher *d, struct job *j)
{
	d->cancelled++;
	job_free(j);
}

void
dispatcher_pause(struct dispatcher *d, struct job *j, int on)
{
	j->paused = on;
}

static const struct jail_report no_jail;

void
dispatcher_status(const struct dispatcher *d, struct dispatcher_status *st)
{
	memset(st, 0, sizeof *st);
	st->workers_busy = d->njobs;
	st->ready = st->warm = d->ready;
	st->generation = 1;
	memcpy(st->calls, d->calls, sizeof st->calls);
	st->python = d->ready ? "3.11.2" : "";
	st->packages = d->ready ? "numpy 2.4.0\nNumExpr 1.0\nscipy 1.17\n" :
	    "";
	st->sandbox = "none";
	st->jail = &no_jail;
}

unsigned
dispatcher_jobs(const struct dispatcher *d)
{
	return d->njobs;
}

unsigned
fake_cancelled(const struct dispatcher *d)
{
	return d->cancelled;
}

unsigned
fake_paused(const struct dispatcher *d)
{
	const struct job *j;
	unsigned n = 0;

	TAILQ_FOREACH(j, &d->jobs, entry)
		n += j->paused != 0;
	return n;
}

void
fake_set_ready(struct dispatcher *d, int ready)
{
	d->ready = ready;
}

/* No self-test runs here, but mcp links what shows one. */
const char *
dispatcher_scratch(const struct dispatcher *d)
{
	return "/nonexistent";
}

void
dispatcher_hold(struct dispatcher *d, const void *principal)
{
}

void
dispatcher_on_warm(struct dispatcher *d, void (*call)(void *), void *arg)
{
}

struct sandboxes *
dispatcher_sandboxes(struct dispatcher *d)
{
	return NULL;
}
