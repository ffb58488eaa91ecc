#ifndef ADDER_AFTERFORK_H
#define ADDER_AFTERFORK_H

#include <sys/types.h>

/*
 * What Python does after a fork.  PyOS_AfterFork_Child() and the hooks of
 * os.register_at_fork() write to some two hundred pages, in each worker.
 * All but little of that is the same in every worker, and is done once in
 * the zygote: locks and threads are put into the state that they have after
 * a fork.  That is right only since the zygote has one thread, which holds
 * no lock when it forks.
 */

/* In the zygote, after all imports and before the garbage collector's
 * freeze: finds what is to be done.  -1 with an exception set. */
int	afterfork_init(void);
/* In the zygote: does what is the same for all.  tid is the thread id that
 * workers will have, 0 where each has another.  -1 with an exception set. */
int	afterfork_settle(pid_t tid);
/* In a fresh worker: seeds generators of random numbers, sets the thread's
 * id, calls the hooks of modules that we do not know.  -1 with an exception
 * set. */
int	afterfork_worker(void);

#endif
