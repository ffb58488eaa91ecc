#ifndef ADDER_FAKE_DISPATCHER_H
#define ADDER_FAKE_DISPATCHER_H

/*
 * dispatcher.h without a process: a job's code is a script of steps, one a
 * line, that are run from the loop.
 *
 *	out TEXT	writes TEXT to standard output
 *	err TEXT	writes TEXT to standard error
 *	raise TYPE	ends with an uncaught exception
 *	hold		waits until the job is cancelled
 *
 * A script that runs to its end is ok.
 */

struct dispatcher;

/* How many jobs were cancelled, and how many are paused now. */
unsigned	fake_cancelled(const struct dispatcher *);
unsigned	fake_paused(const struct dispatcher *);
/* Whether a zygote serves; a new dispatcher's does. */
void		fake_set_ready(struct dispatcher *, int);

#endif
