#ifndef ADDER_JOB_H
#define ADDER_JOB_H

#include <stddef.h>
#include <stdint.h>

#include "limit.h"
#include "proto.h"
#include "verdict.h"

/*
 * A job is one run of one program: made from a spec, told about through an
 * observer, ended with exactly one result.
 */

enum job_stream { JOB_STDOUT, JOB_STDERR, JOB_STREAMS };

struct job;
struct sandbox;

/* A file that a program finds in its scratch directory. */
struct job_input {
	char		*path;		/* fit for beneath_open() */
	char		*data;
	size_t		 len;
};

/* A session that is to be started, instead of a program. */
struct job_session {
	struct sandbox	*from;		/* NULL, or it is a branch of this; */
					/* looked at only at submission */
	uint64_t	 ttl_ms;	/* 0 for the default */
	char		 owner[160];	/* who may use it */
};

/* What to run.  dispatcher_submit() copies nothing and takes over code,
 * stdin_data, inputs, packages and opens (malloc'd); the rest is copied. */
struct job_spec {
	char		*code;
	size_t		 code_len;
	char		*stdin_data;	/* NULL for none */
	size_t		 stdin_len;
	struct job_input *inputs;	/* NULL for none */
	size_t		 ninputs;
	enum policy	 policy;
	struct limits	 limits;	/* already clamped */
	int		 live;		/* its output is read as it comes */
	const void	*principal;	/* whose turn it is; compared only */
	int		 keep;		/* what it makes, in files.dir */
	char		 owner[128];	/* whom lists of files show it later */
	char		 session[80];	/* the session it runs in, or "" */
	struct sandbox	*sandbox;	/* session it runs in, or NULL */
	char		*packages;	/* NULL, or as packages.h says */
	struct job_session *opens;	/* NULL: it runs code */
};

/* What is kept of one output stream: all of it, or its head and its tail. */
struct job_output {
	char		*head;		/* raw bytes, any encoding */
	size_t		 head_len;
	char		*tail;		/* NULL unless bytes were dropped */
	size_t		 tail_len;
	uint64_t	 total;		/* bytes the program wrote */
	uint64_t	 dropped;	/* total less head and tail */
};

/* A picture or file that came back; names and data are untrusted bytes. */
struct job_file {
	char		*name;		/* NUL-terminated */
	char		*mime;		/* "" if it is to be found out */
	char		*data;
	size_t		 len;
	uint64_t	 size;		/* of the file, even if not whole */
	int		 whole;		/* data holds all of it */
	char		*small;		/* NULL, or a smaller picture of it */
	size_t		 small_len;
	char		*kept;		/* its name in files.dir, or NULL */
	const char	*why;		/* if it is not whole: why not */
	int		 shown;		/* a picture that an image shows */
};

struct job_result {
	enum verdict	 verdict;
	/* One sentence: what happened, the limit, the value seen, what to
	 * do.  Empty for ok. */
	char		*reason;
	int		 exit_code;	/* -1 if there is none */
	int		 signal;	/* 0 if there is none */
	char		*exc_type;	/* NULL unless an exception ended it */
	char		*exc_message;
	char		*traceback;
	uint64_t	 exc_line;	/* 0 if unknown */
	char		*denied;	/* call the jail refused, or NULL */
	char		*value;		/* repr of a last expression, or NULL */
	size_t		 value_len;
	struct job_output output[JOB_STREAMS];
	struct job_file	*images;
	size_t		 nimages;
	struct job_file	*files;
	size_t		 nfiles;
	size_t		 files_kept_more;	/* kept, not named */
	size_t		 files_left_out;	/* neither */
	uint64_t	 wall_us;	/* start to end of the run */
	uint64_t	 cpu_us;
	uint64_t	 queue_us;	/* submission to start */
	uint64_t	 peak_kib;
	char		 run_id[40];
	enum session_fate fate;		/* of its session's variables */
	int		 threads;	/* live on in the session */
	char		 opened[80];	/* the session that it started, */
	uint64_t	 opened_ttl_ms;	/* which ends so long after a call */
};

/*
 * Calls up to whoever submitted a job; all from the main loop, never from
 * inside dispatcher_submit().
 */
struct job_observer {
	/* A worker has taken the job.  May be NULL. */
	void	(*started)(struct job *, void *arg);
	/* Output as it arrives, up to limits.output a stream.  May be NULL. */
	void	(*output)(struct job *, enum job_stream, const char *, size_t,
		    void *arg);
	/* The end, once.  The result and the job are gone after it returns. */
	void	(*done)(struct job *, const struct job_result *, void *arg);
	/* A picture or file as it comes; the result has it too.  May be
	 * NULL. */
	void	(*file)(struct job *, const struct job_file *, int is_image,
		    void *arg);
	/* What it waits for, if that is more than a worker; not our own text.
	 * May be NULL. */
	void	(*waits)(struct job *, const char *what, void *arg);
};

#endif
