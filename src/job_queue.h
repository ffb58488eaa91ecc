#ifndef ADDER_JOB_QUEUE_H
#define ADDER_JOB_QUEUE_H

#include <sys/queue.h>

struct job;

/*
 * Jobs wait in one line a principal; principals take turns.  So a client
 * that sends a hundred calls delays another one by one call at most.
 */
struct job_queue {
	TAILQ_HEAD(, job_turn)	 turns;
	unsigned		 n;
};

void		 job_queue_init(struct job_queue *);
/* At the end of its principal's line, or before all others of it. */
void		 job_queue_push(struct job_queue *, struct job *, int first);
void		 job_queue_remove(struct job_queue *, struct job *);
/* Whose turn it is, among those of one principal unless only is NULL; NULL
 * if there is none.  It stays in the queue. */
struct job	*job_queue_next(const struct job_queue *, const void *only);
/* The same among those that do not start a session. */
struct job	*job_queue_next_run(const struct job_queue *,
		    const void *only);
/* How many those are. */
unsigned	 job_queue_runs(const struct job_queue *);
/* Takes it out, and its principal goes to the end. */
void		 job_queue_take(struct job_queue *, struct job *);
/* Calls back with every one, in no order that counts. */
void		 job_queue_each(const struct job_queue *,
		    void (*call)(struct job *, void *arg), void *arg);
/* The one that waits longest, NULL if there is none. */
struct job	*job_queue_oldest(const struct job_queue *);

#endif
