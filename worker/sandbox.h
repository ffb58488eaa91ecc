#ifndef ADDER_SANDBOX_H
#define ADDER_SANDBOX_H

#include <stdint.h>
#include <sys/types.h>

#include "limit.h"

struct zygote_jail;

/*
 * What stands between a fresh fork and the first line of Python: a table of
 * named steps, run in order.  No step allocates or calls into Python.
 */

#define SANDBOX_PATH_MAX	256

struct sandbox {
	int		 fd_job;	/* stream socket to adderd */
	int		 fd_stdout;	/* write end of a pipe */
	int		 fd_stderr;	/* write end of a pipe */
	pid_t		 keeper;	/* who must still be the parent */
	unsigned	 uid;		/* of its own, with layer uid */
	struct zygote_jail *jail;	/* its copy is the worker's own */
	int		 session;	/* to lead one */
	uint64_t	 base_as;	/* bytes mapped before the job */
	struct limits	 limits;
	void		(*ended)(int sig);	/* see sandbox_trap.h */
	char		 scratch[SANDBOX_PATH_MAX]; /* where jobs see it */
};

/*
 * Confines this process.  Returns 0 when every step has worked; else the
 * failed step and its errno have been logged and the caller must leave with
 * WORKER_EXIT_SANDBOX.
 */
int	sandbox_enter(const struct sandbox *);
/*
 * The last step, which for the processes of a session comes by itself: they
 * are made in between.  A state also gets its limit of processes, and *gate
 * is a descriptor by which its forks are to be permitted, -1 where they need
 * not be.  -1 with errno.
 */
/* Whether the forks of a state are to be permitted one by one. */
int	sandbox_gates_state(const struct sandbox *);
int	sandbox_enter_leader(const struct sandbox *);
int	sandbox_enter_state(const struct sandbox *, int *gate);

#endif
