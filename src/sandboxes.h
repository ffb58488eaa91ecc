#ifndef ADDER_SANDBOXES_H
#define ADDER_SANDBOXES_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "job.h"

struct conf;
struct event_base;
struct keeper_proc;
struct msg_WORKER_USES;
struct sandbox;
struct sandboxes;

/*
 * Sessions that keep their variables between calls: each a handle that one
 * owner knows, and a state of a leader (leader_proc.h).  Calls in one session
 * run in the order in which they came, and so do those of sessions that share
 * a leader, which are branches of one another.
 */
struct sandboxes_observer {
	/* The job's turn in its session has come: it may be assigned. */
	void	(*runnable)(struct job *, void *arg);
	/* The job of a session that is no more: it is the caller's, to be
	 * answered.  taken: it was runnable. */
	void	(*failed)(struct job *, int taken, void *arg);
	/* A job has ended, so that another one may run. */
	void	(*available)(void *arg);
	/* The job of sandboxes_start() or sandboxes_branch() is the
	 * caller's again: its session is there (why NULL), or has ended
	 * before it was. */
	void	(*opened)(struct job *, enum verdict, const char *why,
		    void *arg);
};

/* Where the processes of a session come from. */
struct sandbox_source {
	struct keeper_proc *keeper;	/* NULL: as for all others */
	uint64_t	 generation;
	const char	*environment;	/* its name; NULL with keeper */
	const char	*packages;	/* as packages.h says */
};

/* Environments that sessions may hold: they are named to each installer. */
#define SANDBOX_ENVIRONMENTS_MAX	256

struct sandboxes_counts {
	unsigned	open;
	unsigned	busy;
	uint64_t	memory;		/* bytes of all, as far as known */
	uint64_t	opened, expired, lost, evicted;	/* ever */
};

struct sandboxes *sandboxes_new(struct event_base *, struct conf *,
		    const struct sandboxes_observer *, void *arg);
/* Waiting jobs must be gone. */
void		 sandboxes_free(struct sandboxes **);
void		 sandboxes_set_conf(struct sandboxes *, struct conf *);
void		 sandboxes_counts(const struct sandboxes *,
		    struct sandboxes_counts *);

/* --- what tools ask for: NULL or -1 with *why, a sentence, the caller's */

/* The ttl in milliseconds that is granted to whoever asks for this one; 0: for
 * none. */
uint64_t	 sandboxes_ttl(const struct sandboxes *, uint64_t asked_ms);
/* ttl in milliseconds, 0 for the default; it is clamped, and *ttl says what
 * it became.  The handle stays the session's. */
const char	*sandboxes_open(struct sandboxes *, const char *owner,
		    enum policy, uint64_t *ttl, char **why);
/* Whether it is known if this machine can have any. */
int		 sandboxes_known(const struct sandboxes *);
/* Whether another one may be opened. */
int		 sandboxes_have_room(const struct sandboxes *, char **why);
/* The packages that it was started with, NULL for none. */
const char	*sandbox_packages(const struct sandbox *);
/* The session with this handle, if it is this owner's. */
struct sandbox	*sandboxes_find(struct sandboxes *, const char *handle,
		    const char *owner, char **why);
/* Whether another one can be started from the state of this one. */
int		 sandboxes_may_branch(const struct sandboxes *,
		    const struct sandbox *, char **why);
/* Ends it; its calls are answered first. */
void		 sandboxes_stop(struct sandboxes *, struct sandbox *);
/* Ends all of an owner that is gone. */
void		 sandboxes_stop_owner(struct sandboxes *, const char *owner);
const char	*sandbox_handle(const struct sandbox *);
enum policy	 sandbox_policy(const struct sandbox *);

/* --- what the dispatcher does */

/* Starts the session that a job with spec.opens asks for; opened() follows.
 * 0, or -1 with *why if there is no room. */
int		 sandboxes_start(struct sandboxes *, struct job *,
		    const struct sandbox_source *, char **why);
/* Starts the branch that a job with spec.opens->from asks for, of a session
 * that may have one; opened() follows. */
void		 sandboxes_branch(struct sandboxes *, struct job *);
/* The job wants it no more, and hears nothing of it. */
void		 sandboxes_give_up(struct sandboxes *, struct job *);
/* Whether there are processes to start sessions from. */
int		 sandboxes_have_source(const struct sandboxes *);
/* Appends the names of environments that sessions hold, each followed by a
 * blank. */
void		 sandboxes_environments(const struct sandboxes *, FILE *);
/* How many those are. */
unsigned	 sandboxes_environments_held(const struct sandboxes *);
/* Queues a job with spec.sandbox set; runnable() may follow at once. */
void		 sandboxes_submit(struct sandboxes *, struct job *);
/* A runnable job to its session; -1 if it cannot run. */
int		 sandboxes_assign(struct sandboxes *, struct job *);
/* Whether runnable() was called for it. */
int		 sandboxes_is_runnable(const struct sandboxes *,
		    const struct job *);
/* A job that is not assigned is given up. */
void		 sandboxes_withdraw(struct sandboxes *, struct job *);
/* The job that waits longest for its session; NULL if none does. */
struct job	*sandboxes_oldest(const struct sandboxes *);
unsigned	 sandboxes_waiting(const struct sandboxes *);

/* --- what comes from below; a worker id that is unknown is ignored */

/* Before a source is set that can have sessions, or not. */
void		 sandboxes_permit(struct sandboxes *, int on);
void		 sandboxes_set_source(struct sandboxes *,
		    struct keeper_proc *, uint64_t generation);
void		 sandboxes_worker_forked(struct sandboxes *, uint64_t, pid_t);
/* It was refused (with a reason), or it is reaped. */
void		 sandboxes_worker_ended(struct sandboxes *, uint64_t,
		    const char *why);
void		 sandboxes_worker_uses(struct sandboxes *,
		    const struct msg_WORKER_USES *);
/* The keeper is gone, and every session with it. */
void		 sandboxes_abandon(struct sandboxes *);

#endif
