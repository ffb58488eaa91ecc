#ifndef ADDER_JOB_FILES_H
#define ADDER_JOB_FILES_H

#include "job.h"
#include "msg.h"

struct file_dir;
struct job;

/*
 * The pictures and files that a worker sends, on their way into the result
 * and, where there is one, into files.dir.  What is too much is named, and
 * what is more than can be named is counted.
 */

/* What of a job may come, for its JOB frame: files with their bytes. */
void	 job_files_bounds(const struct job *, uint64_t *files,
	    uint64_t *bytes);
/* The job's files are to be kept there. */
void	 job_files_keep(struct job *, struct file_dir *);
/* An IMAGE, FILE or FILE_PART.  -1 with why (MSG_WHY_BYTES) if it is against
 * the rules. */
int	 job_files_frame(struct job *, const struct frame *, char *why);
/* No more will come: what is not whole goes, what is to be kept is. */
void	 job_files_end(struct job *);
void	 job_files_free(struct job *);

#endif
