#ifndef ADDER_METRICS_H
#define ADDER_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "job.h"

struct dispatcher_status;

/* How often something took up to each of a list of times. */
#define METRICS_BOUNDS	15

struct histogram {
	uint64_t	counts[METRICS_BOUNDS + 1];	/* not cumulative */
	uint64_t	sum_us;
};

/* What is counted of jobs; zeroed by its owner. */
struct metrics {
	struct histogram	wall, queue, cpu;
	uint64_t		output[JOB_STREAMS];	/* bytes written */
};

/* A job has ended. */
void	 metrics_job(struct metrics *, const struct job_result *);
/* All series in the text format of Prometheus (version 0.0.4); the caller
 * frees. */
char	*metrics_text(const struct dispatcher_status *, unsigned clients,
	    size_t *len);

#endif
