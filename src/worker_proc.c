#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "channel.h"
#include "clock.h"
#include "conf.h"
#include "fdutil.h"
#include "job_files.h"
#include "job_record.h"
#include "job_verdict.h"
#include "keeper_proc.h"
#include "log.h"
#include "mem.h"
#include "worker_private.h"
#include "worker_proc.h"

/*
 * A worker goes through its states in order, and only forward:
 *
 *   STARTING -> PARKED -> BUSY -> ENDING -> GONE -> freed
 *
 * A worker that says DONE is killed at once and its job answered (GONE).
 * One that adder kills for a limit keeps its job until the kernel's word
 * on its end has come (ENDING), so that the receipt is exact.
 */

#define READY_MS	30000
/* How long the kernel's word on a killed worker is waited for. */
#define REAP_MS		2000

static void	on_timer(evutil_socket_t, short, void *);
static void	on_frame(struct channel *, const struct frame *, void *);
static void	on_closed(struct channel *, const char *, void *);

static const struct channel_observer channel_observer = {
	on_frame, on_closed
};

void
worker_set_timer(struct worker_proc *w, uint64_t ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	event_add(w->ev_timer, &tv);
}

static void
ask_for_fork(struct worker_proc *w, const struct limits *limits,
    const int fds[3])
{
	struct msg_WORKER_FORK m = { .generation = w->generation,
	    .worker = w->id, .limits = *limits };

	keeper_worker_fork(w->keeper, &m, fds);
}

void
worker_make_timer(struct worker_proc *w, struct event_base *base)
{
	w->ev_timer = event_new(base, -1, 0, on_timer, w);
}

void
worker_take_links(struct worker_proc *w, struct event_base *base,
    const int ours[3])
{
	int i;

	w->channel = channel_new(base, ours[0], &channel_observer, w);
	for (i = 0; i < 2; i++) {
		w->output_fd[i] = ours[1 + i];
		w->ev_output[i] = event_new(base, ours[1 + i],
		    EV_READ | EV_PERSIST, worker_on_output, w);
	}
}

struct worker_proc *
worker_proc_new(struct event_base *base, struct keeper_proc *keeper,
    uint64_t generation, const struct limits *limits,
    const struct worker_observer *observer, void *arg)
{
	struct worker_proc *w = xcalloc(1, sizeof *w);
	int ours[3], theirs[3], i;

	w->id = worker_proc_next_id();
	w->generation = generation;
	w->state = WORKER_STARTING;
	w->born_us = clock_us();
	w->keeper = keeper;
	w->observer = observer;
	w->arg = arg;
	w->output_fd[0] = w->output_fd[1] = -1;
	worker_make_timer(w, base);
	if (worker_open_links(ours, theirs) == -1) {
		log_warn("worker %llu: no descriptors for it",
		    (unsigned long long)w->id);
		worker_set_timer(w, 0);
		return w;
	}
	worker_take_links(w, base, ours);
	ask_for_fork(w, limits, theirs);
	for (i = 0; i < 3; i++)
		close(theirs[i]);
	worker_set_timer(w, READY_MS);
	return w;
}

static void
close_links(struct worker_proc *w)
{
	int i;

	channel_free(&w->channel);
	for (i = 0; i < 2; i++) {
		if (w->ev_output[i] != NULL)
			event_free(w->ev_output[i]);
		w->ev_output[i] = NULL;
		fd_close(&w->output_fd[i]);
	}
}

void
worker_proc_free(struct worker_proc **wp)
{
	struct worker_proc *w = *wp;

	if (w == NULL)
		return;
	*wp = NULL;
	close_links(w);
	event_free(w->ev_timer);
	job_free(&w->job);
	free(w);
}

static void
kill_it(struct worker_proc *w)
{
	if (w->host == NULL)
		keeper_worker_kill(w->keeper, w->id);
	else if (!w->settling) {
		w->settling = 1;
		w->host->settle(w, 0, w->host_arg);
	}
}

/* No job and no use any more: waits only to be reaped. */
void
worker_become_gone(struct worker_proc *w)
{
	enum worker_state was = w->state;

	w->state = WORKER_GONE;
	close_links(w);
	event_del(w->ev_timer);
	if (was == WORKER_BUSY || was == WORKER_ENDING)
		w->observer->idle_over(w, w->arg);
}

void
worker_answer_job(struct worker_proc *w, enum verdict verdict)
{
	char *reason = job_reason(w->job, verdict);

	job_finish(&w->job, verdict, reason);
}

/*
 * adder ends the job: the answer follows when the process is reaped.  Until
 * then its output stays in the pipes, which hold up whoever floods them;
 * what they hold at its end is read then.
 */
void
worker_condemn(struct worker_proc *w, enum verdict verdict)
{
	int i;

	job_condemn(w->job, verdict);
	if (w->state != WORKER_BUSY)
		return;
	w->state = WORKER_ENDING;
	for (i = 0; i < JOB_STREAMS; i++)
		event_del(w->ev_output[i]);
	kill_it(w);
	worker_set_timer(w, w->host != NULL ? WORKER_SETTLE_MS : REAP_MS);
}

void
worker_proc_assign(struct worker_proc *w, struct job *job)
{
	assert(w->state == WORKER_PARKED && w->job == NULL);
	w->state = WORKER_BUSY;
	w->job = job;
	job->worker = w;
	job->tries++;
	job->started_us = clock_us();
	if (w->host == NULL)
		w->cpu_base_us = clock_cpu_us(w->cpu_clock);
	w->paused = job->paused;
	worker_send_job(w, job);
	worker_watch_begin(w, job);
	if (job->observer->started != NULL)
		job->observer->started(job, job->arg);
}

void
worker_proc_discard(struct worker_proc *w)
{
	if (w->state == WORKER_GONE)
		return;
	job_free(&w->job);
	kill_it(w);
	worker_become_gone(w);
}

/* The worker says that its job is done: its answer leaves at once, and the
 * process is killed whatever it goes on to do. */
static void
on_done(struct worker_proc *w, const struct msg_DONE *m)
{
	struct job *job = w->job;
	uint64_t cpu = clock_cpu_us(w->cpu_clock);

	job_done(job, m);
	/* A process that has left already has no clock any more; then its own
	 * word has to do. */
	job->result.cpu_us = cpu > w->cpu_base_us ? cpu - w->cpu_base_us :
	    m->cpu_us;
	worker_drain_output(w);
	worker_answer_job(w, job_judge(job, -1, 0));
	kill_it(w);
	worker_become_gone(w);
}

/* Ready when the worker says so and the keeper, which puts it into its
 * control group first, does too. */
static void
become_parked(struct worker_proc *w)
{
	if (w->state != WORKER_STARTING || !w->said_parked || w->pid == 0)
		return;
	w->state = WORKER_PARKED;
	event_del(w->ev_timer);
	w->observer->parked(w, w->arg);
}

#define DECODE(T)							\
	struct msg_##T m;						\
									\
	if (msg_decode_##T(f, &m, why) == -1)				\
		return -1

static int
handle_busy_frame(struct worker_proc *w, const struct frame *f, char *why)
{
	switch (f->type) {
	case FRAME_VALUE: {
		DECODE(VALUE);
		job_value(w->job, &m);
		return 0;
	}
	case FRAME_EXCEPTION: {
		DECODE(EXCEPTION);
		job_exception(w->job, &m);
		return 0;
	}
	case FRAME_IMAGE:
	case FRAME_FILE:
	case FRAME_FILE_PART:
		return job_files_frame(w->job, f, why);
	case FRAME_DONE: {
		DECODE(DONE);
		if (w->host != NULL)
			worker_call_done(w, &m);
		else
			on_done(w, &m);
		return 0;
	}
	default:
		return -1;
	}
}

/*
 * A worker that breaks the rules is not listened to any more.  The program
 * did it, and it can only harm its own answer: one that is in no session may
 * go on to its end, which the kernel reports.
 */
static void
broken(struct worker_proc *w, const char *why)
{
	log_warnx("worker %llu pid %ld: job link closed for a bad frame: %s",
	    (unsigned long long)w->id, (long)w->pid, why);
	if (w->job == NULL) {
		worker_proc_discard(w);
		return;
	}
	channel_free(&w->channel);
	/* A call of a session has no end of its own that the kernel could
	 * report: without the link nobody would hear of it. */
	if (w->host != NULL && w->state == WORKER_BUSY) {
		worker_drain_output(w);
		worker_condemn(w, VERDICT_LOST);
	}
}

static void
on_parked(struct worker_proc *w, const struct frame *f, char *why)
{
	struct msg_PARKED m;

	if (msg_decode_PARKED(f, &m, why) == -1) {
		broken(w, why);
		return;
	}
	w->prepare_us = m.prepare_us;
	w->confine_us = m.confine_us;
	w->said_parked = 1;
	become_parked(w);
}

static void
on_frame(struct channel *ch, const struct frame *f, void *arg)
{
	char why[MSG_WHY_BYTES] = "not expected now";
	struct worker_proc *w = arg;

	if (w->state == WORKER_STARTING && f->type == FRAME_PARKED)
		on_parked(w, f, why);
	else if (f->type == FRAME_PREFAULTED && w->prefault_asked) {
		if (worker_on_prefaulted(w, f, why) == -1)
			broken(w, why);
	} else if (w->state == WORKER_ENDING) {
		/* Condemned: what it still says only adds to its output. */
		if (f->type != FRAME_DONE && !w->job->has_done)
			handle_busy_frame(w, f, why);
	} else if (w->state != WORKER_BUSY ||
	    handle_busy_frame(w, f, why) == -1)
		broken(w, why);
}

static void
on_closed(struct channel *ch, const char *why, void *arg)
{
	struct worker_proc *w = arg;

	/* A plain end says nothing yet: the kernel's word will come.  But a
	 * worker that waited for a job gets none any more. */
	if (why != NULL)
		broken(w, why);
	else if (w->state == WORKER_PARKED && w->host == NULL)
		worker_proc_discard(w);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct worker_proc *w = arg;

	switch (w->state) {
	case WORKER_STARTING:
		kill_it(w);
		worker_proc_refused(w, w->channel == NULL ?
		    "out of descriptors" : "it was not ready in time");
		break;
	case WORKER_BUSY:
		if (w->unwatched) {
			worker_watch_late(w);
			break;
		}
		worker_drain_output(w);
		worker_condemn(w, VERDICT_TIMEOUT);
		break;
	case WORKER_ENDING:
		if (w->host != NULL) {
			w->host->stuck(w, w->host_arg);
			break;
		}
		log_warnx("worker %llu pid %ld: not reaped after %d ms",
		    (unsigned long long)w->id, (long)w->pid, REAP_MS);
		worker_answer_job(w, job_judge(w->job, -1, 0));
		worker_become_gone(w);
		break;
	default:
		break;
	}
}

void
worker_proc_forked(struct worker_proc *w, pid_t pid)
{
	w->pid = pid;
	w->cpu_clock = clock_of_process(pid);
	become_parked(w);
}

void
worker_proc_refused(struct worker_proc *w, const char *why)
{
	if (w->state == WORKER_STARTING)
		w->observer->failed(w, why, w->arg);
	w->observer->exited(w, w->arg);
}

/* A job that no worker has begun may go to another one.  That a worker was dead
 * before it was sent is not the job's doing, and counts for nothing. */
#define TRIES_MAX	5

/* The program runs once its worker has read all of the job.  A link that was
 * closed for a bad frame was the program's own. */
static int
has_begun(const struct worker_proc *w)
{
	return w->channel == NULL || channel_all_read(w->channel);
}

static void
settle_job(struct worker_proc *w, int status, int oom)
{
	struct job *job = w->job;

	job->worker = NULL;
	if (!has_begun(w) && !job->condemned && job->tries < TRIES_MAX) {
		if (!channel_all_sent(w->channel))
			job->tries--;
		w->job = NULL;
		job->started_us = 0;
		w->observer->returned(w, job, w->arg);
	} else
		worker_answer_job(w, job_judge(job, status, oom));
	worker_become_gone(w);
}

void
worker_proc_exited(struct worker_proc *w, const struct msg_WORKER_EXITED *m)
{
	/* Its last frames may not be read yet; a DONE among them settles
	 * everything. */
	if (w->channel != NULL && w->state != WORKER_GONE)
		channel_drain(w->channel);
	if (w->state == WORKER_STARTING)
		worker_ended_early(w, m->status);
	if (w->job != NULL) {
		worker_drain_output(w);
		w->job->result.cpu_us = m->cpu_us > w->cpu_base_us ?
		    m->cpu_us - w->cpu_base_us : 0;
		w->job->result.peak_kib = m->peak_kib;
		settle_job(w, m->status, m->oom);
	}
	w->observer->exited(w, w->arg);
}

void
worker_proc_abandoned(struct worker_proc *w)
{
	if (w->job != NULL) {
		worker_drain_output(w);
		settle_job(w, -1, 0);
	}
	w->observer->exited(w, w->arg);
}
