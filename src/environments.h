#ifndef ADDER_ENVIRONMENTS_H
#define ADDER_ENVIRONMENTS_H

#include <stdint.h>

struct conf;
struct environment;
struct environments;
struct event_base;
struct job;
struct job_queue;
struct pool;
struct sandboxes;
struct supervisor;

/*
 * Sets of packages that jobs ask for.  The first job of a set waits until an
 * installer has found or made its environment and a zygote of that has
 * started; further ones meet parked workers, as plain jobs do, until the set
 * has not been used for deps.idle or makes room for another.
 */

struct environments_observer {
	/* Jobs of an environment may be dispatched. */
	void	(*available)(void *arg);
	/* No worker has begun a job: it waits in its queue again. */
	void	(*returned)(struct job *, void *arg);
	/* It needs no environment: it has none any more, and is the
	 * caller's. */
	void	(*plain)(struct job *, void *arg);
};

struct environments_counts {
	unsigned	zygotes;	/* that serve */
	unsigned	sessions;	/* environments that sessions hold */
	uint64_t	installs, failures, evictions;	/* ever */
};

struct environments *environments_new(struct event_base *, struct conf *,
		    struct supervisor *, const struct environments_observer *,
		    void *arg);
/* After the supervisor: all processes are gone.  Queues must be empty. */
void		 environments_free(struct environments **);
/* All are looked up and started anew. */
void		 environments_reload(struct environments *, struct conf *);

/* Takes a job that asks for packages into the queue of their environment;
 * 0 if it is known to need none. */
int		 environments_submit(struct environments *, struct job *);
void		 environments_counts(const struct environments *,
		    struct environments_counts *);
/* Jobs in the queues of all. */
unsigned	 environments_queued(const struct environments *);
/* For each environment, in the order of creation; NULL at the end. */
struct environment *environments_next(struct environments *,
		    struct environment *);
struct job_queue *environment_queue(struct environment *);
/* NULL while its jobs wait for more than a worker. */
struct pool	*environment_pool(struct environment *);
/* Its name, and the generation of its zygote; only with a pool. */
const char	*environment_name(const struct environment *);
uint64_t	 environment_generation(const struct environment *);
/* Processes that are no workers are made, or are not any more: its zygote
 * stays for so long. */
void		 environment_busy(struct environment *, int more);
/* A job that was taken out of its queue waits there again, as first. */
void		 environments_again(struct environments *, struct job *);
/* Who holds environments, too. */
void		 environments_set_sandboxes(struct environments *,
		    const struct sandboxes *);
/* Since when its jobs wait for no more than a worker. */
uint64_t	 environment_ready_us(const struct environment *);

#endif
