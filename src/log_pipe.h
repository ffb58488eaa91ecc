#ifndef ADDER_LOG_PIPE_H
#define ADDER_LOG_PIPE_H

struct event_base;

/* A pipe whose lines go to our log under the name who (a literal).  Returns
 * the end to write to, the caller's to close; the rest frees itself when all
 * writers are gone.  /dev/null where there is no pipe to be had. */
int	log_pipe_open(struct event_base *, const char *who);
/* The same, but what is more than this many lines is dropped. */
int	log_pipe_open_bounded(struct event_base *, const char *who,
	    unsigned lines);
/* Ends those that are left, at the end of the program. */
void	log_pipe_close_all(void);

#endif
