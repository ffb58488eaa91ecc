#ifndef ADDER_RUNTIME_H
#define ADDER_RUNTIME_H

#include <stdint.h>

struct sandbox;

/* In the zygote, after all imports: what every worker needs of Python.
 * -1 with an exception set. */
int	runtime_init(void);
/*
 * The whole life of a worker, entered in a fresh fork: confine, prepare,
 * say PARKED, read one JOB, run it, answer, leave.  fork_us is the clock
 * when the fork was asked for.
 */
void	runtime_main(const struct sandbox *, uint64_t fork_us)
	    __attribute__((noreturn));

/* A worker's life without its jail, from the fork to the end of a small job,
 * in a fork of the zygote that then ends: see prefault.h.  arg: the
 * directory for scratch directories. */
void	runtime_rehearse(void *arg);
/* The program has sent itself a signal that ends it: see sandbox_trap.h. */
void	runtime_ended(int sig);

#endif
