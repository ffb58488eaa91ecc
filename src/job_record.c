#include "config.h"

#include <ctype.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "clock.h"
#include "conf.h"
#include "job_files.h"
#include "job_input.h"
#include "job_record.h"
#include "log.h"
#include "mem.h"

/* Longest name of an exception that is believed. */
#define TYPE_MAX	255
/* What JSON readers take for exact. */
#define NUMBER_MAX	(1ull << 53)

static void
run_id_make(char *out, size_t len)
{
	unsigned char raw[16];
	size_t i;

	if (getrandom(raw, sizeof raw, 0) != sizeof raw)
		fatal("no random bytes from the kernel");
	for (i = 0; i < sizeof raw && 2 * i + 2 < len; i++)
		snprintf(out + 2 * i, len - 2 * i, "%02x", raw[i]);
}

struct job *
job_new(const struct job_spec *spec, struct conf *conf,
    const struct job_observer *observer, void *arg)
{
	struct job *job = xcalloc(1, sizeof *job);
	int i;

	job->spec = *spec;
	job->conf = conf_ref(conf);
	job->observer = observer;
	job->arg = arg;
	job->submitted_us = clock_us();
	job->result.exit_code = -1;
	for (i = 0; i < JOB_STREAMS; i++)
		capture_init(&job->capture[i], spec->limits.output);
	run_id_make(job->result.run_id, sizeof job->result.run_id);
	return job;
}

static void
job_result_free(struct job_result *r)
{
	int i;

	for (i = 0; i < JOB_STREAMS; i++) {
		free(r->output[i].head);
		free(r->output[i].tail);
	}
	free(r->reason);
	free(r->exc_type);
	free(r->exc_message);
	free(r->traceback);
	free(r->value);
	free(r->denied);
}

void
job_free(struct job **jobp)
{
	struct job *job = *jobp;
	int i;

	if (job == NULL)
		return;
	*jobp = NULL;
	for (i = 0; i < JOB_STREAMS; i++)
		capture_free(&job->capture[i]);
	job_files_free(job);
	job_result_free(&job->result);
	conf_unref(&job->conf);
	job_inputs_free(job->spec.inputs, job->spec.ninputs);
	free(job->spec.code);
	free(job->spec.stdin_data);
	free(job->spec.packages);
	free(job->spec.opens);
	free(job);
}

void
job_output(struct job *job, enum job_stream stream, const char *data,
    size_t len)
{
	struct capture *c = &job->capture[stream];
	uint64_t shown = c->total;

	capture_add(c, data, len);
	if (job->observer->output == NULL || shown >= c->limit)
		return;
	if (len > c->limit - shown)
		len = c->limit - shown;
	job->observer->output(job, stream, data, len, job->arg);
}

void
job_value(struct job *job, const struct msg_VALUE *m)
{
	struct job_result *r = &job->result;

	if (r->value != NULL)
		return;
	r->value = xmemdupz(m->text.data, m->text.len);
	r->value_len = m->text.len;
}

/* Whether it can be the qualified name of a class, such as
 * "f.<locals>.Error": it stands in the receipt, which is adder's word. */
static int
is_type_name(struct slice s)
{
	size_t i;
	unsigned char c;

	for (i = 0; i < s.len; i++) {
		c = s.data[i];
		if (c < 0x80 && !isalnum(c) &&
		    (c == '\0' || strchr("_.<>", c) == NULL))
			return 0;
	}
	return s.len > 0 && s.len <= TYPE_MAX;
}

void
job_exception(struct job *job, const struct msg_EXCEPTION *m)
{
	struct job_result *r = &job->result;

	if (r->exc_type != NULL)
		return;
	r->exc_type = is_type_name(m->type) ?
	    xmemdupz(m->type.data, m->type.len) : xstrdup("Exception");
	r->exc_message = xmemdupz(m->message.data, m->message.len);
	r->traceback = xmemdupz(m->traceback.data, m->traceback.len);
	r->exc_line = m->line;
}

void
job_done(struct job *job, const struct msg_DONE *m)
{
	job->has_done = 1;
	job->done_exit_code = m->exit_code & 0xff;
	job->done_signal = m->signal > 0 && m->signal < NSIG ? m->signal : 0;
	job->result.files_left_out += m->files_left < NUMBER_MAX ?
	    m->files_left : NUMBER_MAX;
	job->result.peak_kib = m->peak_kib < NUMBER_MAX ? m->peak_kib : 0;
	if (m->denied.len > 0)
		job->result.denied = xmemdupz(m->denied.data, m->denied.len);
}

void
job_condemn(struct job *job, enum verdict verdict)
{
	if (job->condemned)
		return;
	job->condemned = 1;
	job->condemned_as = verdict;
}

void
job_finish(struct job **jobp, enum verdict verdict, char *reason)
{
	struct job *job = *jobp;
	struct job_result *r = &job->result;
	uint64_t now = clock_us();
	int i;

	*jobp = NULL;
	job_files_end(job);
	r->verdict = verdict;
	r->reason = reason;
	if (job->started_us != 0) {
		r->queue_us = job->started_us - job->submitted_us;
		r->wall_us = now - job->started_us;
	} else
		r->queue_us = now - job->submitted_us;
	for (i = 0; i < JOB_STREAMS; i++)
		capture_take(&job->capture[i], &r->output[i]);
	log_debug("job %s: %s, wall %llu us, queue %llu us", r->run_id,
	    verdict_name(verdict), (unsigned long long)r->wall_us,
	    (unsigned long long)r->queue_us);
	job->observer->done(job, r, job->arg);
	job_free(&job);
}
