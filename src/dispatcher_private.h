#ifndef ADDER_DISPATCHER_PRIVATE_H
#define ADDER_DISPATCHER_PRIVATE_H

#include <sys/queue.h>

#include "dispatcher.h"
#include "job_queue.h"
#include "metrics.h"

struct environment;

struct dispatcher {
	struct event_base	*base;
	struct conf		*conf;
	struct pool		*pool;
	struct supervisor	*supervisor;
	struct environments	*environments;
	struct job_queue	 queue;		/* of plain jobs */
	struct job_queue	 sessions;	/* runnable in theirs */
	struct sandboxes	*sandboxes;
	TAILQ_HEAD(, job)	 running;
	unsigned		 nrunning;
	TAILQ_HEAD(, job)	 refused;	/* to be answered so */
	TAILQ_HEAD(, job)	 opening;	/* their session starts */
	unsigned		 nopening;
	struct event		*ev_refused;
	struct event		*ev_dispatch;
	struct event		*ev_queue;	/* queue.timeout */
	int			 plain_last;	/* which side goes first */
	const void		*only;		/* principal, NULL for all */
	uint64_t		 calls[VERDICT_COUNT];
	struct metrics		 metrics;
	struct file_dir		*files;		/* NULL: nothing is kept */
	void			(*warm)(void *arg);	/* or NULL */
	void			*warm_arg;
};

/* What the dispatcher keeps of a job beside the job itself. */
struct ticket {
	struct dispatcher	*d;
	const struct job_observer *observer;
	void			*arg;
};

/* --- dispatcher_open.c */

/* Starts the session that a job asks for, which has left its queue; e is
 * NULL for one of plain workers. */
void		 dispatcher_open(struct dispatcher *, struct job *,
		    struct environment *);
/* Starts the branch of a session that a job asks for. */
void		 dispatcher_branch(struct dispatcher *, struct job *);
/* An observer's call: it is there, or is not (why). */
void		 dispatcher_opened(struct job *, enum verdict,
		    const char *why, void *arg);
/* Gives it up; the job is the caller's. */
void		 dispatcher_close(struct dispatcher *, struct job *);

/* --- dispatcher.c */

/* Answers a job from the loop; why as job_reason() has it. */
void		 dispatcher_refuse(struct dispatcher *, struct job *,
		    enum verdict);
void		 dispatcher_enqueue(struct dispatcher *, struct job *,
		    int first);

/* --- dispatcher_wait.c */

/* Jobs that wait, wherever they do. */
unsigned	 dispatcher_waiting(const struct dispatcher *);
/* Whether one more may not wait; those that all others wait for may. */
int		 dispatcher_is_full(const struct dispatcher *,
		    const struct job_spec *);
/* Whose turn it is in a queue, NULL if nobody's: what starts a session of
 * plain workers (e NULL) lets others pass until there is a zygote for it. */
struct job	*dispatcher_next(const struct dispatcher *,
		    const struct job_queue *, const struct environment *e);
/* How many jobs of a queue wait for a worker. */
unsigned	 dispatcher_demand(const struct dispatcher *,
		    const struct job_queue *, const struct environment *e);
/* Takes a job that waits out of wherever it does. */
void		 dispatcher_withdraw(struct dispatcher *, struct job *);
/* The job that is to be answered busy first, and when; NULL if none waits. */
struct job	*dispatcher_first_due(const struct dispatcher *,
		    uint64_t *due);
/* The supervisor's call: a zygote that is warm is about to serve. */
void		 dispatcher_warm(void *arg);
/* Why a job that has waited so long is not run, the caller's to free. */
char		*dispatcher_busy_reason(const struct dispatcher *,
		    const struct job *);
/* Arms the timer for it. */
void		 dispatcher_watch(struct dispatcher *);

#endif
