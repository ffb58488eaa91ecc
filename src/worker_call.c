#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"
#include "clock.h"
#include "conf.h"
#include "fdutil.h"
#include "job_files.h"
#include "job_input.h"
#include "job_record.h"
#include "job_verdict.h"
#include "mem.h"
#include "worker_private.h"
#include "worker_proc.h"

/* What every worker has, and calls in sessions, which are workers without a
 * process of their own. */

static uint64_t next_id = 1;

int
worker_open_links(int ours[3], int theirs[3])
{
	int pair[2], i;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1)
		return -1;
	ours[0] = pair[0];
	theirs[0] = pair[1];
	for (i = 1; i < 3; i++) {
		if (pipe2(pair, O_CLOEXEC) == -1)
			break;
		ours[i] = pair[0];
		theirs[i] = pair[1];
	}
	/* New descriptors have no other flags that fcntl(2) could take away. */
	if (i == 3 && fcntl(ours[0], F_SETFL, O_NONBLOCK) == 0 &&
	    fcntl(ours[1], F_SETFL, O_NONBLOCK) == 0 &&
	    fcntl(ours[2], F_SETFL, O_NONBLOCK) == 0)
		return 0;
	while (i-- > 0) {
		close(ours[i]);
		close(theirs[i]);
	}
	return -1;
}

uint64_t
worker_proc_next_id(void)
{
	return next_id++;
}

void
worker_proc_limits(const struct conf *conf, struct limits *lim)
{
	memset(lim, 0, sizeof *lim);
	lim->timeout_ms = conf->limits_timeout_max;
	lim->cpu_ms = conf->limits_cpu != 0 ? conf->limits_cpu :
	    conf->limits_timeout_max + 2000;
	lim->memory = conf->limits_memory;
	lim->output = conf->limits_output;
	lim->scratch = conf->limits_scratch;
	lim->files = conf->limits_files;
	lim->pids = conf->limits_pids;
	lim->fds = conf->limits_fds;
}

void
worker_ended_early(struct worker_proc *w, int status)
{
	char why[96];

	if (WIFEXITED(status) && WEXITSTATUS(status) == WORKER_EXIT_SANDBOX)
		snprintf(why, sizeof why, "it could not be confined (the "
		    "zygote's log says which step failed)");
	else
		snprintf(why, sizeof why, "it ended early with wait status "
		    "0x%x", status);
	w->observer->failed(w, why, w->arg);
}

struct worker_proc *
worker_proc_new_call(struct event_base *base, const struct worker_host *host,
    void *host_arg, const struct worker_observer *observer, void *arg,
    int theirs[3])
{
	struct worker_proc *w;
	int ours[3];

	if (worker_open_links(ours, theirs) == -1)
		return NULL;
	w = xcalloc(1, sizeof *w);
	w->id = worker_proc_next_id();
	w->state = WORKER_PARKED;
	w->born_us = clock_us();
	w->host = host;
	w->host_arg = host_arg;
	w->observer = observer;
	w->arg = arg;
	worker_make_timer(w, base);
	worker_take_links(w, base, ours);
	return w;
}

/*
 * A program in a session has come to its end: whether its process can be the
 * session from now on is for the leader to say, so the answer waits for that.
 * What ran out of memory does not stay.
 */
void
worker_call_done(struct worker_proc *w, const struct msg_DONE *m)
{
	struct job *job = w->job;
	int keep;

	job_done(job, m);
	job->result.cpu_us = m->cpu_us;
	keep = job_judge(job, -1, 0) != VERDICT_MEMORY &&
	    job->done_signal == 0;
	w->state = WORKER_ENDING;
	w->settling = 1;
	worker_set_timer(w, WORKER_SETTLE_MS);
	w->host->settle(w, keep, w->host_arg);
}

void
worker_proc_settled(struct worker_proc *w,
    const struct msg_SESSION_SETTLED *m, int oom)
{
	struct job *job;

	if (w->channel != NULL && w->state != WORKER_GONE)
		channel_drain(w->channel);
	if ((job = w->job) != NULL) {
		worker_drain_output(w);
		if (m->cpu_us != 0)
			job->result.cpu_us = m->cpu_us;
		if (m->peak_kib != 0)
			job->result.peak_kib = m->peak_kib;
		job->result.fate = m->fate;
		job->result.threads = m->threads;
		worker_answer_job(w, job_judge(job, m->status, oom));
		worker_become_gone(w);
	}
	w->observer->exited(w, w->arg);
}

void
worker_send_job(struct worker_proc *w, const struct job *job)
{
	struct msg_JOB m = {
		.code = { job->spec.code, job->spec.code_len },
		.stdin_data = { job->spec.stdin_data, job->spec.stdin_len },
		.policy = job->spec.policy,
		.limits = job->spec.limits,
		.live = job->spec.live,
		.image_side = job->conf->result_max_image_px,
		.image_bytes = job->conf->result_max_images / 4 * 3
	};
	struct writer wr;

	job_inputs_send(&job->spec, w->channel);
	job_files_bounds(job, &m.files_max, &m.files_bytes);
	msg_encode_JOB(&wr, &m);
	channel_send(w->channel, &wr);
}
