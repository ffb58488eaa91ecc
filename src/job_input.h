#ifndef ADDER_JOB_INPUT_H
#define ADDER_JOB_INPUT_H

#include <stddef.h>

#include "job.h"

struct channel;

/* The files that a program finds when it starts. */

/* Frees the list and what is in it. */
void	job_inputs_free(struct job_input *, size_t n);
/* Sends them to a worker, ahead of the JOB that is to find them. */
void	job_inputs_send(const struct job_spec *, struct channel *);

#endif
