#ifndef ADDER_KEEPER_STRAYS_H
#define ADDER_KEEPER_STRAYS_H

#include <sys/types.h>

struct event_base;
struct keeper_strays;
struct keeper_workers;

/*
 * Ends what dead workers have left behind where no pid namespace does it.
 * Their orphans become children of the keeper, which is a subreaper; a scan
 * of /proc soon after a worker's end kills and reaps every child that is
 * neither a worker, nor of a living worker's session, nor spared.  While a
 * fork is under way a child may be a newborn worker, so the scan waits.
 */
struct keeper_strays *keeper_strays_new(struct event_base *,
		struct keeper_workers *);
void	keeper_strays_free(struct keeper_strays **);
/* The worker is dead but not reaped, so that its pid is still its own:
 * kills its process group at once and has the rest looked for. */
void	keeper_strays_of(struct keeper_strays *, pid_t worker);
/* Has unknown children looked for soon. */
void	keeper_strays_look(struct keeper_strays *);
/* Looks at once, at the end of everything; NULL: every child is a stray. */
void	keeper_strays_sweep(struct keeper_strays *);
/* While a zygote forks one (on 1, then 0), a child may be a newborn zygote. */
void	keeper_strays_wait(struct keeper_strays *, int on);
/* A child of the keeper that is no worker and is left alone. */
void	keeper_strays_spare(struct keeper_strays *, pid_t, int on);

#endif
