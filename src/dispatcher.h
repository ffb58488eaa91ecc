#ifndef ADDER_DISPATCHER_H
#define ADDER_DISPATCHER_H

#include <stdint.h>

#include "job.h"

struct conf;
struct dispatcher;
struct event_base;
struct file_dir;
struct jail_report;
struct metrics;
struct sandboxes;
struct stat;

/* What adderctl status and the log report. */
struct dispatcher_status {
	unsigned	 workers_idle;
	unsigned	 workers_prefaulted;	/* of the idle ones */
	unsigned	 workers_busy;
	unsigned	 workers_starting;
	uint64_t	 prepare_us;	/* median from fork to parked */
	uint64_t	 confine_us;	/* of that, entering the jail */
	unsigned	 queued;
	uint64_t	 queue_age_us;	/* of the job that waits longest */
	uint64_t	 generation;
	int		 ready;		/* a zygote serves, */
	int		 warm;		/* and is warm */
	uint64_t	 zygote_restarts;
	uint64_t	 zygote_import_ms;
	uint64_t	 calls[VERDICT_COUNT];
	const char	*python;	/* version, "" until known */
	const char	*packages;	/* "name version\n" lines */
	const char	*sandbox;	/* what the jail can do here */
	const struct jail_report *jail;
	unsigned	 sessions_open;
	unsigned	 sessions_busy;
	uint64_t	 sessions_memory;	/* bytes, as far as known */
	uint64_t	 sessions_opened;	/* ever, and how some ended: */
	uint64_t	 sessions_expired;
	uint64_t	 sessions_lost;
	uint64_t	 sessions_evicted;
	unsigned	 environments_zygotes;	/* that serve */
	unsigned	 environments_sessions;	/* held by sessions */
	uint64_t	 environments_installs;	/* ever, and: */
	uint64_t	 environments_failures;
	uint64_t	 environments_evictions;
	const struct metrics *metrics;	/* NULL where none are kept */
};

/* Starts keeper and zygote; the first job waits for them.  The conf is
 * referenced.  NULL with *why (the caller's to free) if no process can be
 * started. */
struct dispatcher *dispatcher_new(struct event_base *, struct conf *,
		    char **why);
/* To be called, from the loop, when nothing can be served: why is one
 * sentence. */
void		 dispatcher_on_fatal(struct dispatcher *,
		    void (*call)(const char *why, void *), void *arg);
/* To be called, from the loop, when a zygote that is warm is about to
 * serve: before any job gets a worker of it. */
void		 dispatcher_on_warm(struct dispatcher *,
		    void (*call)(void *), void *arg);
/* The private directory below scratch.dir. */
const char	*dispatcher_scratch(const struct dispatcher *);
/* Dispatches only the jobs of one principal until it is called with NULL. */
void		 dispatcher_hold(struct dispatcher *, const void *principal);
/* What jobs make is kept there from now on; borrowed. */
void		 dispatcher_keep_files(struct dispatcher *,
		    struct file_dir *);
/* From now on adderd can start no process itself. */
void		 dispatcher_set_confined(struct dispatcher *);
/* Has the file of a socket removed by the keeper, which still may. */
void		 dispatcher_socket_remove(struct dispatcher *,
		    const char *path, const struct stat *);
/* A new conf: the next generation is started and the old one drained. */
void		 dispatcher_reload(struct dispatcher *, struct conf *);
/* Kills all jobs, without a call to their observers, and every process. */
void		 dispatcher_free(struct dispatcher **);

/* Queues a job; always returns one, and a job that cannot be queued ends
 * with verdict busy. */
struct job	*dispatcher_submit(struct dispatcher *, struct job_spec *,
		    const struct job_observer *, void *arg);
/* Ends a job, queued or running, with everything it started.  Its observer
 * is not called again and the job is gone. */
void		 dispatcher_cancel(struct dispatcher *, struct job *);
/* Backpressure: while paused, output of a running job is not read. */
void		 dispatcher_pause(struct dispatcher *, struct job *, int on);
void		 dispatcher_status(const struct dispatcher *,
		    struct dispatcher_status *);
/* The sessions that keep variables; stay the dispatcher's. */
struct sandboxes *dispatcher_sandboxes(struct dispatcher *);
/* Jobs queued or running. */
unsigned	 dispatcher_jobs(const struct dispatcher *);

#endif
