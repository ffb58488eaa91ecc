#ifndef ADDER_JOB_RECORD_H
#define ADDER_JOB_RECORD_H

#include <sys/queue.h>

#include "capture.h"
#include "job.h"
#include "msg.h"

struct conf;
struct file_dir;
struct file_run;
struct environment;
struct worker_proc;

/* A file that is being sent; see job_files.h. */
struct incoming {
	struct job_file	 file;
	uint64_t	 got;
	int		 active, is_image, to_memory, to_disk;
};

/* A job from submission to its answer, as the side that runs it sees it. */
struct job {
	TAILQ_ENTRY(job)	 entry;		/* in its turn's queue */
	struct job_spec		 spec;
	struct conf		*conf;		/* the one it started with */
	const struct job_observer *observer;
	void			*arg;
	struct worker_proc	*worker;	/* NULL while it waits */
	struct environment	*env;		/* NULL: the plain one */
	uint64_t		 submitted_us;
	uint64_t		 started_us;	/* 0 while it waits */
	unsigned		 tries;		/* workers it was given to */
	int			 paused;	/* its output is not read */
	/* Set when adder itself ends the job, before the kernel's word. */
	int			 condemned;
	enum verdict		 condemned_as;
	int			 has_done;	/* the worker's claims: */
	int			 done_exit_code;
	int			 done_signal;
	struct capture		 capture[JOB_STREAMS];
	size_t			 files_whole, files_named, files_bytes;
	struct incoming		 incoming;
	struct file_dir		*keep_dir;	/* NULL: nothing is kept */
	struct file_run		*keep;
	struct job_result	 result;
};

/* Takes over the spec's buffers. */
struct job	*job_new(const struct job_spec *, struct conf *,
		    const struct job_observer *, void *arg);
void		 job_free(struct job **);
/* What a worker sent: recorded, within the bounds of the conf. */
void		 job_output(struct job *, enum job_stream, const char *,
		    size_t);
void		 job_value(struct job *, const struct msg_VALUE *);
void		 job_exception(struct job *, const struct msg_EXCEPTION *);
void		 job_done(struct job *, const struct msg_DONE *);
/* Marks a job that adder ends itself; the first mark counts. */
void		 job_condemn(struct job *, enum verdict);
/* Completes the result, tells the observer, frees the job. */
void		 job_finish(struct job **, enum verdict, char *reason);

#endif
