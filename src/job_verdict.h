#ifndef ADDER_JOB_VERDICT_H
#define ADDER_JOB_VERDICT_H

#include "job.h"

struct job;

/*
 * How a job ended: from what adder did to it, then from what the kernel
 * says of its process, and only then from what the worker claimed.
 * status: as from wait(2), or -1 if the process is not reaped yet.
 */
enum verdict	job_judge(struct job *, int status, int oom);
/* One sentence for the verdict: what happened, the limit, the value seen,
 * what to do.  The caller frees. */
char		*job_reason(const struct job *, enum verdict);

#endif
