#ifndef ADDER_RUNTIME_H
#define ADDER_RUNTIME_H

#include <stdint.h>
#include <sys/types.h>

struct sandbox;

/* In the zygote, after all imports: what every worker needs of Python.
 * -1 with an exception set. */
int	runtime_init(void);
/*
 * In the zygote, last: brings the interpreter into the state of a worker's
 * that waits for a job, so that a worker shares that and need not write to
 * it.  tid: the thread id that workers will have, 0 where each has another.
 * scratch: their scratch directory, NULL where each has another.  -1 with an
 * exception set.
 */
int	runtime_settle(pid_t tid, const char *scratch);
/*
 * In the zygote, compacted and not yet confined: finds out what memory small
 * programs touch, for prefault.h.  Failure costs speed and is logged.
 */
void	runtime_rehearse(void);
/*
 * The whole life of a worker, entered in a fresh fork: confine, prepare,
 * say PARKED, read one JOB, run it, answer, leave.  fork_us is the clock
 * when the fork was asked for.
 */
void	runtime_main(const struct sandbox *, uint64_t fork_us)
	    __attribute__((noreturn));

/* The program has sent itself a signal that ends it: see sandbox_trap.h. */
void	runtime_ended(int sig);

#endif
