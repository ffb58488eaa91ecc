#ifndef ADDER_ENVIRONMENT_H
#define ADDER_ENVIRONMENT_H

#include <stdint.h>
#include <sys/queue.h>

#include "environments.h"
#include "install.h"
#include "job_queue.h"

/*
 * COLD --job--> QUEUED --slot--> INSTALLING --> FOUND --room--> STARTING
 *   --> READY --idle, or room for another--> COLD
 * A failure answers all its jobs and leads to COLD, too.
 */
enum environment_state { ENV_COLD, ENV_QUEUED, ENV_INSTALLING, ENV_FOUND,
    ENV_STARTING, ENV_READY };

struct environment {
	TAILQ_ENTRY(environment) entry;
	struct environments	*all;
	enum environment_state	 state;
	char			*packages;	/* first text it is known by */
	struct job_queue	 queue;
	struct pool		*pool;
	struct install		*install;	/* only INSTALLING */
	struct install_result	 found;		/* path NULL until known */
	uint64_t		 bare;		/* generation to fork from */
	uint64_t		 generation;	/* STARTING and READY */
	int			 import;	/* ahead of forks */
	unsigned		 starts;	/* that failed in a row */
	unsigned		 failures;	/* of workers in a row */
	unsigned		 others;	/* environment_busy() */
	uint64_t		 ready_us;
	uint64_t		 used_us;
	struct event		*ev_start;	/* STARTING takes too long */
};

/* environments.c: what the state machine needs of all. */
const struct conf *environments_conf(const struct environments *);
struct supervisor *environments_supervisor(struct environments *);
struct event_base *environments_base(struct environments *);
/* Something has changed that others may wait for. */
void	environments_look(struct environments *);
void	environments_available(struct environments *);
void	environments_returned(struct environments *, struct job *);
/* It needs nothing that is not there: its jobs are plain, and so will be
 * those that ask for the same. */
void	environments_plain(struct environment *);
/* The same environment under another name gets its jobs. */
void	environments_merge(struct environment *);
/* Names of those whose files are in use, space separated; to be freed. */
char	*environments_in_use(const struct environments *);

struct environment *environment_new(struct environments *,
	    const char *packages);
void	environment_free(struct environment **);
/* QUEUED to INSTALLING. */
void	environment_install(struct environment *);
/* FOUND to STARTING, if there is a zygote to fork. */
void	environment_start(struct environment *);
/* To COLD: processes go, but for those with a job. */
void	environment_cool(struct environment *);
/* Answers all its jobs with a sentence, and cools. */
void	environment_fail(struct environment *, const char *why);
/* A zygote of this generation serves, or is gone. */
void	environment_zygote(struct environment *, uint64_t generation,
	    int ready);
/* The keeper is gone, and with it every process. */
void	environment_lost(struct environment *);

#endif
