#ifndef ADDER_SUPERVISOR_PRIVATE_H
#define ADDER_SUPERVISOR_PRIVATE_H

#include "msg.h"
#include "probe.h"
#include "supervisor.h"

struct supervisor {
	struct event_base	*base;
	struct conf		*conf;
	struct pool		*pool;
	struct keeper_proc	*keeper;
	char			*scratch;	/* a private directory */
	struct event		*ev_restart;
	uint64_t		 next_generation;
	uint64_t		 starting;	/* generation, 0 for none */
	uint64_t		 serving;	/* generation, 0 for none */
	uint64_t		 early;		/* generation, 0 for none */
	int			 early_serves;
	uint64_t		 backoff_ms;
	unsigned		 failures;
	uint64_t		 restarts;
	uint64_t		 import_ms;
	char			*python;
	char			*packages;
	char			*sandbox;	/* a line about the jail */
	struct jail_report	 jail;
	int			 confined;	/* adderd has no rights left */
	void			(*fatal)(const char *why, void *arg);
	void			*fatal_arg;
	void			(*warm)(void *arg);	/* or NULL */
	void			*warm_arg;
	const struct supervisor_observer *observer;	/* or NULL */
	void			*observer_arg;
};

/* Starts a zygote that the conf describes, or one without any module; its
 * generation. */
uint64_t	supervisor_start_zygote(struct supervisor *, int bare);

/* --- supervisor_early.c */

/* Has the zygote that starts fork an early one, where none serves. */
void		supervisor_early_ask(struct supervisor *);
/* Whether this was the early one's. */
int		supervisor_early_ready(struct supervisor *,
		    const struct msg_ZYGOTE_READY *);
int		supervisor_early_exited(struct supervisor *,
		    const struct msg_ZYGOTE_EXITED *);
/* It is needed no more; idle workers of it are the pool's affair. */
void		supervisor_early_stop(struct supervisor *);

#endif
