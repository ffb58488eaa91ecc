#ifndef ADDER_WORKER_PRIVATE_H
#define ADDER_WORKER_PRIVATE_H

#include <event2/util.h>

#include "job_verdict.h"
#include "worker_proc.h"

/* What the worker_*.c files share. */

/* How long the leader's word on a call is waited for; it ends much at
 * times. */
#define WORKER_SETTLE_MS	15000

/* The links of one worker: ours[] job socket, stdout, stderr; theirs[] the
 * other ends.  -1 with errno. */
int	worker_open_links(int ours[3], int theirs[3]);
void	worker_take_links(struct worker_proc *, struct event_base *,
	    const int ours[3]);
void	worker_make_timer(struct worker_proc *, struct event_base *);
void	worker_set_timer(struct worker_proc *, uint64_t ms);
/* The job, after the files that are to lie there. */
void	worker_send_job(struct worker_proc *, const struct job *);
/* Ends the job: its answer follows when the process is reaped. */
void	worker_condemn(struct worker_proc *, enum verdict);

/* --- worker_output.c */

/* With the job: somebody who reads along gets all output as it comes, others
 * after a moment, when the worker's timer calls worker_watch_late(). */
void	worker_watch_begin(struct worker_proc *, const struct job *);
void	worker_watch_late(struct worker_proc *);
void	worker_on_output(evutil_socket_t, short, void *);
/* Takes in what the pipes hold. */
void	worker_drain_output(struct worker_proc *);

/* --- worker_proc.c, worker_call.c, worker_idle.c */

void	worker_answer_job(struct worker_proc *, enum verdict);
/* No job and no use any more: waits only to be reaped. */
void	worker_become_gone(struct worker_proc *);
/* PREFAULTED came; -1 with why, MSG_WHY_BYTES. */
int	worker_on_prefaulted(struct worker_proc *, const struct frame *,
	    char *why);
/* DONE came from a call in a session. */
void	worker_call_done(struct worker_proc *, const struct msg_DONE *);
/* It ended before it was parked: tells why, by its wait status. */
void	worker_ended_early(struct worker_proc *, int status);

#endif
