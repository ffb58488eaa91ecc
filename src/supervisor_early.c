#include "config.h"

#include <inttypes.h>

#include "conf.h"
#include "keeper_proc.h"
#include "log.h"
#include "pool.h"
#include "supervisor.h"
#include "supervisor_private.h"

/*
 * The early zygote: where nothing serves, each zygote that starts is asked to
 * fork another one once its imports are done, which serves plain calls at
 * once while the first one warms up and compacts.  Sessions and environments
 * of packages, which last, wait for that one: what they are forked from they
 * stay.
 */

void
supervisor_early_ask(struct supervisor *s)
{
	struct msg_ZYGOTE_FORK m = { .generation = s->starting };

	if (!s->conf->zygote_early || s->serving != 0 || s->early_serves)
		return;
	if (s->early != 0)
		keeper_zygote_stop(s->keeper, s->early);
	s->early = m.child = s->next_generation++;
	m.path = m.site = m.modules = slice_of("");
	keeper_zygote_fork(s->keeper, &m);
}

int
supervisor_early_ready(struct supervisor *s, const struct msg_ZYGOTE_READY *m)
{
	if (s->early == 0 || m->generation != s->early)
		return 0;
	s->early_serves = 1;
	log_info("zygote %" PRIu64 " serves while zygote %" PRIu64 " warms "
	    "up: pid %" PRIu64 ", imports %" PRIu64 " ms", s->early,
	    s->starting, m->pid, m->import_ms);
	/* In that, the other one will be no different. */
	pool_permit_sessions(s->pool, m->sessions);
	pool_set_early(s->pool, s->keeper, s->early);
	return 1;
}

int
supervisor_early_exited(struct supervisor *s,
    const struct msg_ZYGOTE_EXITED *m)
{
	if (s->early == 0 || m->generation != s->early)
		return 0;
	if (s->early_serves)
		log_warnx("zygote %" PRIu64 ", which served meanwhile, "
		    "ended, wait status 0x%x; calls wait for one that is warm",
		    s->early, (unsigned)m->status);
	else
		log_debug("no early zygote %" PRIu64 ", wait status 0x%x",
		    s->early, (unsigned)m->status);
	if (s->early_serves)
		pool_set_source(s->pool, s->keeper, 0);
	s->early = 0;
	s->early_serves = 0;
	return 1;
}

void
supervisor_early_stop(struct supervisor *s)
{
	if (s->early != 0)
		keeper_zygote_stop(s->keeper, s->early);
	s->early = 0;
	s->early_serves = 0;
}
