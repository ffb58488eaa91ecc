#ifndef ADDER_WORKER_PROC_H
#define ADDER_WORKER_PROC_H

#include <sys/queue.h>
#include <time.h>

#include "msg.h"

struct conf;
struct event_base;
struct job;
struct keeper_proc;
struct worker_proc;

enum worker_state {
	WORKER_STARTING,	/* asked for, not parked yet */
	WORKER_PARKED,		/* waits for a job */
	WORKER_BUSY,		/* has a job */
	WORKER_ENDING,		/* killed; job waits for the kernel's word */
	WORKER_GONE,		/* killed, its job answered; to be reaped */
	WORKER_STATES
};

struct worker_observer {
	void	(*parked)(struct worker_proc *, void *arg);
	/* It could not be made or died before it was parked. */
	void	(*failed)(struct worker_proc *, const char *why, void *arg);
	/* It has touched pages ahead, as it was asked. */
	void	(*prefaulted)(struct worker_proc *, void *arg);
	/* The job, which never started, is the caller's again. */
	void	(*returned)(struct worker_proc *, struct job *, void *arg);
	/* It has no job any more and will take none. */
	void	(*idle_over)(struct worker_proc *, void *arg);
	/* The process is reaped; to be freed, also from inside the call. */
	void	(*exited)(struct worker_proc *, void *arg);
};

/* Of a process that is not the keeper's child but a session's. */
struct worker_host {
	/* The call is over: with keep, what it made stays. */
	void	(*settle)(struct worker_proc *, int keep, void *arg);
	/* No word came on that. */
	void	(*stuck)(struct worker_proc *, void *arg);
};

TAILQ_HEAD(worker_list, worker_proc);

/* adderd's record of one worker: descriptors, timers, the one job. */
struct worker_proc {
	TAILQ_ENTRY(worker_proc) entry;		/* in a list of its owner */
	uint64_t		 id;
	uint64_t		 generation;
	pid_t			 pid;		/* 0 until forked */
	enum worker_state	 state;
	uint64_t		 born_us;
	struct job		*job;
	/* below: its own */
	struct keeper_proc	*keeper;
	struct channel		*channel;
	struct event		*ev_output[2];
	struct event		*ev_timer;	/* ready, deadline, reaping */
	int			 output_fd[2];
	int			 said_parked;
	uint64_t		 prepare_us;	/* by its own word, */
	uint64_t		 confine_us;	/* before any job */
	uint64_t		 prefaulted;	/* pages copied ahead; */
	int			 prefault_asked; /* and is to answer */
	int			 prefault_done;	/* no more to touch */
	int			 paused;
	int			 unwatched;	/* output is left for later */
	clockid_t		 cpu_clock;	/* of the process */
	uint64_t		 cpu_base_us;	/* used before the job */
	const struct worker_host *host;		/* NULL for a worker */
	void			*host_arg;
	int			 settling;	/* its host was told */
	const struct worker_observer *observer;
	void			*arg;
};

/* Asks for a worker; always returns a record, and what fails is told
 * later.  ready_ms: how long it may take to be parked. */
struct worker_proc *worker_proc_new(struct event_base *,
		    struct keeper_proc *, uint64_t generation,
		    const struct limits *, const struct worker_observer *,
		    void *arg);
/*
 * A call in a session, ready for its job; theirs are the descriptors for the
 * process that will run it, the caller's.  NULL if there are none.
 */
struct worker_proc *worker_proc_new_call(struct event_base *,
		    const struct worker_host *, void *host_arg,
		    const struct worker_observer *, void *arg,
		    int theirs[3]);
/* A number for a worker, never given twice. */
uint64_t worker_proc_next_id(void);
/* The widest limits that a job may have: what a process itself is held to; a
 * job's own limits come with the job. */
void	worker_proc_limits(const struct conf *, struct limits *);
void	worker_proc_free(struct worker_proc **);
/* Has a parked worker touch about this many pages ahead; it answers. */
void	worker_proc_prefault(struct worker_proc *, uint64_t pages);
/* Gives a parked worker its job, and takes the job over. */
void	worker_proc_assign(struct worker_proc *, struct job *);
/* Kills it; a job it has is dropped without an answer. */
void	worker_proc_discard(struct worker_proc *);
/* Backpressure: leaves output in the pipes. */
void	worker_proc_pause(struct worker_proc *, int on);
/* What the keeper reports. */
void	worker_proc_forked(struct worker_proc *, pid_t);
void	worker_proc_refused(struct worker_proc *, const char *why);
void	worker_proc_exited(struct worker_proc *,
	    const struct msg_WORKER_EXITED *);
/* What the leader of a session reports of a call; oom: the kernel has ended
 * a process of it for want of memory. */
void	worker_proc_settled(struct worker_proc *,
	    const struct msg_SESSION_SETTLED *, int oom);
/* The keeper is gone, and the process with it. */
void	worker_proc_abandoned(struct worker_proc *);

#endif
