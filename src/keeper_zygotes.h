#ifndef ADDER_KEEPER_ZYGOTES_H
#define ADDER_KEEPER_ZYGOTES_H

#include <stdint.h>

#include "layers.h"

struct cgroup_root;
struct control_queue;
struct event_base;
struct keeper_strays;
struct keeper_workers;
struct keeper_zygotes;
struct msg_WORKER_FORK;
struct msg_ZYGOTE_FORK;
struct msg_ZYGOTE_START;

/*
 * The keeper's zygotes: those that it executes and those that a zygote forks.
 * What they say is checked and passed on to adderd; what cannot be done is
 * told as the end of the zygote.
 */
struct keeper_zygotes *keeper_zygotes_new(struct event_base *,
		    struct control_queue *to_server, struct keeper_workers *,
		    struct keeper_strays *);
/* Kills, reaps and forgets all. */
void		 keeper_zygotes_free(struct keeper_zygotes **);
/* The layers that hold, and the directory of scratch directories ("" if it
 * cannot be used). */
void		 keeper_zygotes_set(struct keeper_zygotes *, jail_set layers,
		    const char *scratch);
/* Where forked ones get control groups; stays the caller's, NULL for none. */
void		 keeper_zygotes_set_cgroup(struct keeper_zygotes *,
		    struct cgroup_root *);
/* Descriptors stay the caller's. */
void		 keeper_zygotes_start(struct keeper_zygotes *,
		    const struct msg_ZYGOTE_START *, int log_fd);
void		 keeper_zygotes_fork(struct keeper_zygotes *,
		    const struct msg_ZYGOTE_FORK *, int log_fd);
void		 keeper_zygotes_stop(struct keeper_zygotes *,
		    uint64_t generation);
/* Passes on the request for a worker. */
void		 keeper_zygotes_worker(struct keeper_zygotes *,
		    const struct msg_WORKER_FORK *, const int *fds, int nfds);

#endif
