#ifndef ADDER_SUPERVISOR_H
#define ADDER_SUPERVISOR_H

#include <sys/types.h>

#include "dispatcher.h"

struct msg_INSTALL_EXITED;
struct msg_INSTALL_START;
struct msg_WORKER_EXITED;
struct msg_ZYGOTE_FORK;
struct keeper_proc;
struct pool;
struct stat;
struct supervisor;

/* What concerns environments of packages; see supervisor_observe(). */
struct supervisor_observer {
	/* A zygote that was asked for by supervisor_zygote_*() serves or, with
	 * ready 0, is gone. */
	void	(*zygote)(uint64_t generation, int ready, void *arg);
	/* The plain zygote serves from now on. */
	void	(*plain_ready)(void *arg);
	/* The keeper is gone with all below it. */
	void	(*lost)(void *arg);
	void	(*install_exited)(const struct msg_INSTALL_EXITED *,
		    void *arg);
	/* Of workers that are none of the plain pool. */
	void	(*worker_forked)(uint64_t worker, pid_t, void *arg);
	void	(*worker_refused)(uint64_t worker, const char *why,
		    void *arg);
	void	(*worker_exited)(const struct msg_WORKER_EXITED *, void *arg);
};

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
/* To be called when a zygote that is warm is about to serve. */
void		 supervisor_on_warm(struct supervisor *,
		    void (*call)(void *), void *arg);
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
void		 supervisor_observe(struct supervisor *,
		    const struct supervisor_observer *, void *arg);
/* Starts a zygote that imports nothing, for one to be forked from it; its
 * generation, 0 if there is no keeper. */
uint64_t	 supervisor_zygote_bare(struct supervisor *);
/* Has a zygote, the plain one for generation 0, fork another one; fills in
 * both generations and returns that of the new one, 0 if there is none to
 * fork from. */
uint64_t	 supervisor_zygote_fork(struct supervisor *,
		    struct msg_ZYGOTE_FORK *);
void		 supervisor_zygote_stop(struct supervisor *,
		    uint64_t generation);
/* From whom workers of such zygotes come, NULL for nobody. */
struct keeper_proc *supervisor_keeper(struct supervisor *);
/* Whether zygotes may import code of strangers. */
int		 supervisor_may_import(const struct supervisor *);
/* Whether installs may be asked for. */
int		 supervisor_may_install(const struct supervisor *);
/* Fills in the layers; report stays the caller's. */
void		 supervisor_install_start(struct supervisor *,
		    struct msg_INSTALL_START *, int report);
void		 supervisor_install_stop(struct supervisor *,
		    uint64_t install);
/* Fills in what it knows: generation, ready, restarts, texts. */
void		 supervisor_status(const struct supervisor *,
		    struct dispatcher_status *);

#endif
