#ifndef ADDER_POOL_H
#define ADDER_POOL_H

#include <stdint.h>
#include <sys/types.h>

struct conf;
struct event_base;
struct job;
struct keeper_proc;
struct msg_WORKER_EXITED;
struct msg_WORKER_USES;
struct pool;
struct sandboxes;

struct pool_observer {
	/* A worker waits for a job, or one more may run. */
	void	(*available)(void *arg);
	/* A job that no worker has begun is the caller's again. */
	void	(*returned)(struct job *, void *arg);
	/* A worker was parked (why NULL), or could not be made. */
	void	(*born)(const char *why, void *arg);
};

/* Which workers there are and how many there should be. */
struct pool_counts {
	unsigned	starting;
	unsigned	parked;
	unsigned	busy;
	unsigned	prefaulted;	/* of those parked */
	/* Medians of the last workers that were parked, microseconds. */
	uint64_t	prepare_us;
	uint64_t	confine_us;
};

struct pool	*pool_new(struct event_base *, struct conf *,
		    const struct pool_observer *, void *arg);
/* Kills nothing: the keeper must be gone. */
void		 pool_free(struct pool **);
/* Fewer prefaulted workers than pool.prefault: no more than this. */
void		 pool_set_prefault_max(struct pool *, unsigned);
/* Who hears of workers that are not the pool's. */
void		 pool_set_sandboxes(struct pool *, struct sandboxes *);
void		 pool_worker_uses(struct pool *,
		    const struct msg_WORKER_USES *);
void		 pool_set_conf(struct pool *, struct conf *);
/* From whom workers come from now on; generation 0 for nobody.  Idle
 * workers of other generations go when a new one comes. */
/* Whether the next source can have sessions. */
void		 pool_permit_sessions(struct pool *, int on);
void		 pool_set_source(struct pool *, struct keeper_proc *,
		    uint64_t generation);
/* From one that is not warm: workers are made for jobs that wait, as many as
 * there are CPUs, and none ahead; no sessions; idle workers are kept. */
void		 pool_set_early(struct pool *, struct keeper_proc *,
		    uint64_t generation);
/* How many jobs wait, for the decision how many workers to make. */
void		 pool_set_demand(struct pool *, unsigned queued);
/* Whether a worker is idle and one more job may run. */
int		 pool_can_take(const struct pool *);
/* Takes the job over; only after pool_can_take(). */
void		 pool_assign(struct pool *, struct job *);
/* Ends a running job without an answer. */
void		 pool_cancel(struct job *);
/* Applies job->paused to the worker that runs it, if any. */
void		 pool_pause(struct job *);
void		 pool_counts(const struct pool *, struct pool_counts *);
/* No more workers are made and idle ones go; those that have a job go on. */
void		 pool_drain(struct pool *);
/* Whether it has no worker any more. */
int		 pool_is_empty(const struct pool *);
/* What the keeper reports of a worker; 0 if it is none of this pool. */
int		 pool_worker_forked(struct pool *, uint64_t worker, pid_t);
int		 pool_worker_refused(struct pool *, uint64_t worker,
		    const char *why);
int		 pool_worker_exited(struct pool *,
		    const struct msg_WORKER_EXITED *);
/* The keeper is gone, and every worker with it. */
void		 pool_abandon(struct pool *);

#endif
