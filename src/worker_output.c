#include "config.h"

#include <errno.h>
#include <unistd.h>

#include <event2/event.h>

#include "conf.h"
#include "job_record.h"
#include "job_verdict.h"
#include "worker_private.h"
#include "worker_proc.h"

/* What a job prints, from the pipes of its worker. */

#define READ_BYTES	(64 * 1024)
/* Most jobs are over before this, and their output is read when they are; to
 * be told of it earlier would only cost them time.  What a pipe holds does
 * not hold up a program for longer. */
#define UNWATCHED_MS	2
/* Most that is read from the pipe of a worker that has ended. */
#define DRAIN_BYTES	(1024 * 1024)

static void
check_output_limit(struct worker_proc *w)
{
	uint64_t total = w->job->capture[JOB_STDOUT].total +
	    w->job->capture[JOB_STDERR].total;

	if (total > w->job->conf->limits_output_kill)
		worker_condemn(w, VERDICT_OUTPUT);
}

/* Reads once from a stream; bytes read, 0 where there is nothing now. */
static size_t
read_output(struct worker_proc *w, int stream)
{
	static char buf[READ_BYTES];
	ssize_t n;

	if (w->output_fd[stream] == -1)
		return 0;
	n = read(w->output_fd[stream], buf, sizeof buf);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		/* All writers are gone. */
		event_del(w->ev_output[stream]);
		return 0;
	}
	job_output(w->job, stream, buf, n);
	return n;
}

void
worker_drain_output(struct worker_proc *w)
{
	size_t n, total;
	int i;

	for (i = 0; i < JOB_STREAMS; i++) {
		total = 0;
		while (total < DRAIN_BYTES && (n = read_output(w, i)) > 0)
			total += n;
	}
}

void
worker_on_output(evutil_socket_t fd, short what, void *arg)
{
	struct worker_proc *w = arg;

	read_output(w, fd == w->output_fd[0] ? JOB_STDOUT : JOB_STDERR);
	check_output_limit(w);
}

static void
watch_output(struct worker_proc *w)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (w->paused)
			event_del(w->ev_output[i]);
		else
			event_add(w->ev_output[i], NULL);
	}
}

void
worker_proc_pause(struct worker_proc *w, int on)
{
	if (w->state != WORKER_BUSY || w->paused == on)
		return;
	w->paused = on;
	if (!w->unwatched)
		watch_output(w);
}

void
worker_watch_begin(struct worker_proc *w, const struct job *job)
{
	uint64_t timeout = job->spec.limits.timeout_ms;

	w->unwatched = !job->spec.live && timeout > UNWATCHED_MS;
	if (w->unwatched)
		timeout = UNWATCHED_MS;
	else
		watch_output(w);
	worker_set_timer(w, timeout);
}

void
worker_watch_late(struct worker_proc *w)
{
	w->unwatched = 0;
	watch_output(w);
	worker_set_timer(w, w->job->spec.limits.timeout_ms - UNWATCHED_MS);
}
