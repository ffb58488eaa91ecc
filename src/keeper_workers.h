#ifndef ADDER_KEEPER_WORKERS_H
#define ADDER_KEEPER_WORKERS_H

#include <stdint.h>
#include <sys/types.h>

struct cgroup_root;
struct event_base;
struct limits;
struct msg_WORKER_EXITED;

/*
 * The keeper's workers: one record each, killed and reaped by pidfd only,
 * so that a pid that is used again cannot be hit.
 */
struct keeper_workers;

struct keeper_workers_observer {
	/* It is dead, but its pid is still its own. */
	void	(*ended)(pid_t, void *arg);
	/* It is reaped. */
	void	(*exited)(const struct msg_WORKER_EXITED *, void *arg);
};

struct keeper_workers *keeper_workers_new(struct event_base *,
		    const struct keeper_workers_observer *, void *arg);
/* Kills, reaps and forgets all. */
void		 keeper_workers_kill_all(struct keeper_workers *);
void		 keeper_workers_free(struct keeper_workers **);
/* Where workers get control groups; stays the caller's, NULL for none. */
void		 keeper_workers_set_cgroup(struct keeper_workers *,
		    struct cgroup_root *);
/* A request on its way to a zygote.  -1, logged, if its control group cannot
 * be made. */
int		 keeper_workers_asked(struct keeper_workers *,
		    uint64_t worker, uint64_t generation,
		    const struct limits *, int session);
/* How many processes of it the kernel ended for want of memory, and how
 * much it holds, 0 if unknown.  -1 if it is not there. */
int		 keeper_workers_look(struct keeper_workers *,
		    uint64_t worker, uint64_t *kills, uint64_t *memory);
enum keeper_worker_is {
	KEEPER_WORKER_READY,	/* to be reported */
	KEEPER_WORKER_KILLED,	/* it cannot be held, or was killed before */
	KEEPER_WORKER_UNKNOWN	/* nobody asked for it */
};
/* The answer of the zygote that was asked; takes over pidfd. */
enum keeper_worker_is keeper_workers_forked(struct keeper_workers *,
		    uint64_t worker, uint64_t generation, pid_t, int pidfd);
/* The zygote could not fork it. */
void		 keeper_workers_refused(struct keeper_workers *,
		    uint64_t worker, uint64_t generation);
void		 keeper_workers_kill(struct keeper_workers *,
		    uint64_t worker);
/* Calls back with every request of a dead zygote that it did not answer,
 * and forgets them. */
void		 keeper_workers_unanswered(struct keeper_workers *,
		    uint64_t generation,
		    void (*refused)(uint64_t worker, void *), void *arg);
/* Directory that holds the scratch directories, named by worker id; the
 * descriptor stays the caller's. */
void		 keeper_workers_set_scratch(struct keeper_workers *,
		    int dirfd);
/* Requests that no zygote has answered yet: as long as there are any, a child
 * of the keeper that it does not know may be a worker. */
int		 keeper_workers_pending(const struct keeper_workers *);
/* Whether pid is a worker that is not reaped yet. */
int		 keeper_workers_has_pid(const struct keeper_workers *,
		    pid_t);

#endif
