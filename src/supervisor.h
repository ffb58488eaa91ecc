#ifndef ADDER_SUPERVISOR_H
#define ADDER_SUPERVISOR_H

#include "dispatcher.h"

struct pool;
struct stat;
struct supervisor;

/*
 * Keeps one keeper and one zygote alive, and tells the pool where workers
 * come from.  Whatever dies is started again after a delay that doubles
 * until one works.
 */
struct supervisor *supervisor_new(struct event_base *, struct conf *,
		    struct pool *, char **why);
/* To be called when the jail is weaker than sandbox.minimum. */
void		 supervisor_on_fatal(struct supervisor *,
		    void (*call)(const char *why, void *), void *arg);
/* Ends every process below adderd. */
void		 supervisor_free(struct supervisor **);
/* Starts a zygote with the new conf; it takes over when it is ready. */
void		 supervisor_reload(struct supervisor *, struct conf *);
/* A worker was made (why NULL) or could not be. */
void		 supervisor_worker_born(struct supervisor *,
		    const char *why);
/* The private directory below scratch.dir. */
const char	*supervisor_scratch(const struct supervisor *);
/* From now on adderd can start no process. */
void		 supervisor_set_confined(struct supervisor *);
/* Has the file of a socket removed by who still may. */
void		 supervisor_socket_remove(struct supervisor *,
		    const char *path, const struct stat *);
/* Fills in what it knows: generation, ready, restarts, texts. */
void		 supervisor_status(const struct supervisor *,
		    struct dispatcher_status *);

#endif
