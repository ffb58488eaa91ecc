#include "config.h"

#include <stdlib.h>

#include "job_queue.h"
#include "job_record.h"
#include "mem.h"

struct job_turn {
	TAILQ_ENTRY(job_turn)	 entry;
	const void		*principal;
	TAILQ_HEAD(, job)	 jobs;		/* never empty */
};

void
job_queue_init(struct job_queue *q)
{
	TAILQ_INIT(&q->turns);
	q->n = 0;
}

static struct job_turn *
turn_find(const struct job_queue *q, const void *principal)
{
	struct job_turn *turn;

	TAILQ_FOREACH(turn, &q->turns, entry)
		if (turn->principal == principal)
			return turn;
	return NULL;
}

static struct job_turn *
turn_of(struct job_queue *q, const void *principal)
{
	struct job_turn *turn = turn_find(q, principal);

	if (turn != NULL)
		return turn;
	turn = xcalloc(1, sizeof *turn);
	turn->principal = principal;
	TAILQ_INIT(&turn->jobs);
	TAILQ_INSERT_TAIL(&q->turns, turn, entry);
	return turn;
}

static void
turn_done(struct job_queue *q, struct job_turn *turn)
{
	if (!TAILQ_EMPTY(&turn->jobs))
		return;
	TAILQ_REMOVE(&q->turns, turn, entry);
	free(turn);
}

void
job_queue_push(struct job_queue *q, struct job *job, int first)
{
	struct job_turn *turn = turn_of(q, job->spec.principal);

	if (first)
		TAILQ_INSERT_HEAD(&turn->jobs, job, entry);
	else
		TAILQ_INSERT_TAIL(&turn->jobs, job, entry);
	q->n++;
}

void
job_queue_remove(struct job_queue *q, struct job *job)
{
	struct job_turn *turn = turn_find(q, job->spec.principal);

	TAILQ_REMOVE(&turn->jobs, job, entry);
	turn_done(q, turn);
	q->n--;
}

struct job *
job_queue_next(const struct job_queue *q, const void *only)
{
	struct job_turn *turn = only == NULL ? TAILQ_FIRST(&q->turns) :
	    turn_find(q, only);

	return turn == NULL ? NULL : TAILQ_FIRST(&turn->jobs);
}

struct job *
job_queue_next_run(const struct job_queue *q, const void *only)
{
	struct job_turn *turn;
	struct job *job;

	TAILQ_FOREACH(turn, &q->turns, entry) {
		if (only != NULL && turn->principal != only)
			continue;
		TAILQ_FOREACH(job, &turn->jobs, entry)
			if (job->spec.opens == NULL)
				return job;
	}
	return NULL;
}

unsigned
job_queue_runs(const struct job_queue *q)
{
	struct job_turn *turn;
	struct job *job;
	unsigned n = 0;

	TAILQ_FOREACH(turn, &q->turns, entry)
		TAILQ_FOREACH(job, &turn->jobs, entry)
			n += job->spec.opens == NULL;
	return n;
}

void
job_queue_take(struct job_queue *q, struct job *job)
{
	struct job_turn *turn = turn_find(q, job->spec.principal);

	TAILQ_REMOVE(&q->turns, turn, entry);
	TAILQ_INSERT_TAIL(&q->turns, turn, entry);
	job_queue_remove(q, job);
}

struct job *
job_queue_oldest(const struct job_queue *q)
{
	struct job *oldest = NULL, *job;
	struct job_turn *turn;

	TAILQ_FOREACH(turn, &q->turns, entry) {
		job = TAILQ_FIRST(&turn->jobs);
		if (oldest == NULL ||
		    job->submitted_us < oldest->submitted_us)
			oldest = job;
	}
	return oldest;
}

void
job_queue_each(const struct job_queue *q, void (*call)(struct job *, void *),
    void *arg)
{
	struct job_turn *turn;
	struct job *job;

	TAILQ_FOREACH(turn, &q->turns, entry)
		TAILQ_FOREACH(job, &turn->jobs, entry)
			call(job, arg);
}
