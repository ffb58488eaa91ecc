#ifndef ADDER_KEEPER_PROC_H
#define ADDER_KEEPER_PROC_H

#include "msg.h"

struct event_base;
struct keeper_proc;
struct stat;

/* adderd's record of the keeper process, and the control link to it. */
struct keeper_observer {
	void	(*ready)(const struct msg_KEEPER_READY *, void *arg);
	void	(*zygote_ready)(const struct msg_ZYGOTE_READY *, void *arg);
	void	(*zygote_exited)(const struct msg_ZYGOTE_EXITED *, void *arg);
	void	(*worker_forked)(const struct msg_WORKER_FORKED *, void *arg);
	void	(*worker_refused)(const struct msg_WORKER_REFUSED *,
		    void *arg);
	void	(*worker_exited)(const struct msg_WORKER_EXITED *, void *arg);
	void	(*worker_uses)(const struct msg_WORKER_USES *, void *arg);
	void	(*install_exited)(const struct msg_INSTALL_EXITED *,
		    void *arg);
	/* The keeper is gone, and with it every process below it, and another
	 * one in its place waits for keeper_start(). */
	void	(*keeper_gone)(const struct msg_KEEPER_GONE *, void *arg);
	/* The keeper is gone, and with it every process below it; once.
	 * The record is to be freed, also from inside the call. */
	void	(*gone)(void *arg);
};

/* Re-executes this program as the keeper; NULL with errno. */
struct keeper_proc *keeper_proc_start(struct event_base *,
		    const struct keeper_observer *, void *arg);
/* Hangs up, which makes the keeper end everything below it, and waits for
 * its end. */
void		 keeper_proc_free(struct keeper_proc **);

/* Requests; descriptors are duplicated into the link, so the caller closes
 * its own.  Never fail: a dead keeper is told by gone(). */
void		 keeper_start(struct keeper_proc *, const char *without,
		    uint64_t uid_base, const char *scratch);
void		 keeper_socket_remove(struct keeper_proc *, const char *path,
		    const struct stat *);
void		 keeper_zygote_start(struct keeper_proc *,
		    const struct msg_ZYGOTE_START *);
void		 keeper_zygote_stop(struct keeper_proc *, uint64_t generation);
void		 keeper_zygote_fork(struct keeper_proc *,
		    const struct msg_ZYGOTE_FORK *);
void		 keeper_install_start(struct keeper_proc *,
		    const struct msg_INSTALL_START *, int report);
void		 keeper_install_stop(struct keeper_proc *, uint64_t install);
void		 keeper_worker_fork(struct keeper_proc *,
		    const struct msg_WORKER_FORK *, const int fds[3]);
void		 keeper_worker_kill(struct keeper_proc *, uint64_t worker);
/* Answered by worker_uses(), if the worker is there. */
void		 keeper_worker_look(struct keeper_proc *, uint64_t worker);

#endif
