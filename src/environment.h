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

/* What was asked for, and what that is. */
struct environment_name {
	TAILQ_ENTRY(environment_name) entry;
	char			*packages;
	struct environment	*env;		/* NULL: nothing is needed */
};

struct environments {
	struct event_base	*base;
	struct conf		*conf;
	struct supervisor	*supervisor;
	TAILQ_HEAD(, environment) list;
	/* Last used first. */
	TAILQ_HEAD(environment_names, environment_name) names;
	unsigned		 nnames;
	const struct sandboxes	*sandboxes;	/* NULL for none */
	struct event		*ev_look;
	struct event		*ev_idle;
	struct environments_counts counts;	/* of what has happened */
	const struct environments_observer *observer;
	void			*arg;
};

/* --- environment_names.c */

/* NULL if it is not known. */
struct environment_name *environment_names_find(struct environments *,
	    const char *packages);
void	environment_names_add(struct environments *, const char *packages,
	    struct environment *);
/* Those of one environment become those of another, NULL for what needs none;
 * or are dropped. */
void	environment_names_move(struct environment *from,
	    struct environment *to, int drop);
void	environment_names_clear(struct environments *);

/* --- environments_status.c */

/* An installer has ended; NULL: it has failed. */
void	environments_note(struct environments *,
	    const struct install_result *);

/* --- environments.c: what the state machine needs of all. */
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
