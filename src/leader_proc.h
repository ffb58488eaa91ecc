#ifndef ADDER_LEADER_PROC_H
#define ADDER_LEADER_PROC_H

#include <sys/queue.h>

#include "msg.h"
#include "worker_proc.h"

struct conf;
struct event;
struct leader_proc;

struct leader_observer {
	/* It takes calls from now on. */
	void	(*ready)(struct leader_proc *, void *arg);
	/* The call that was under way is answered, and another may come. */
	void	(*free_again)(struct leader_proc *, enum session_fate,
		    void *arg);
	/* A branch is there (made), or cannot be. */
	void	(*branched)(struct leader_proc *,
		    const struct msg_SESSION_BRANCHED *, void *arg);
	/* A state ended by itself. */
	void	(*state_lost)(struct leader_proc *, uint64_t state, void *arg);
	/* It holds other memory than before. */
	void	(*uses)(struct leader_proc *, void *arg);
	/* It is gone with all of its states; to be freed. */
	void	(*gone)(struct leader_proc *, const char *why, void *arg);
};

/* adderd's record of the leader of a session and its link; it has states, and
 * at most one call under way. */
struct leader_proc {
	TAILQ_ENTRY(leader_proc) entry;		/* in a list of its owner */
	uint64_t		 id;		/* as a worker, to the keeper */
	pid_t			 pid;		/* 0 until forked */
	int			 ready;
	struct worker_proc	*call;		/* NULL for none */
	uint64_t		 memory;	/* bytes, 0 if unknown */
	unsigned		 branching;	/* branches not answered yet */
	/* below: its own */
	struct event_base	*base;
	struct keeper_proc	*keeper;
	int			 sock;
	struct control_queue	*queue;
	struct event		*ev_read;
	struct event		*ev_start;
	uint64_t		 call_id;
	uint64_t		 next_call;
	uint64_t		 next_state;
	uint64_t		 kills;		/* for want of memory, so far */
	int			 asking;	/* whether one was this call */
	int			 said_parked;
	int			 killed;
	struct msg_SESSION_SETTLED settled;
	const struct leader_observer *observer;
	void			*arg;
};

/* The first state of every leader. */
#define LEADER_FIRST_STATE	0

/* Asks for one; log_fd is where its lines go, the caller's.  What fails is
 * told later. */
struct leader_proc *leader_proc_new(struct event_base *,
		    struct keeper_proc *, uint64_t generation,
		    const struct conf *, int log_fd,
		    const struct leader_observer *, void *arg);
/* A call under way is dropped without an answer. */
void	leader_proc_free(struct leader_proc **);
/* Kills it; gone() follows when the keeper has reaped it. */
void	leader_proc_kill(struct leader_proc *);
/* Runs the job in a state, and takes it over.  -1 if there are no
 * descriptors for it. */
int	leader_proc_call(struct leader_proc *, uint64_t state, struct job *);
/* The number of a new state that starts as this one; branched() follows. */
uint64_t leader_proc_branch(struct leader_proc *, uint64_t state);
/* Ends a state. */
void	leader_proc_stop(struct leader_proc *, uint64_t state);
/* What the keeper reports. */
void	leader_proc_forked(struct leader_proc *, pid_t);
void	leader_proc_uses(struct leader_proc *, const struct msg_WORKER_USES *);
/* The process is gone, or was never there. */
void	leader_proc_ended(struct leader_proc *, const char *why);

#endif
