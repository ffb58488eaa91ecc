#include "config.h"

#include "keeper_proc.h"
#include "supervisor.h"
#include "supervisor_private.h"

/* What environments of packages ask of the supervisor. */

void
supervisor_observe(struct supervisor *s, const struct supervisor_observer *o,
    void *arg)
{
	s->observer = o;
	s->observer_arg = arg;
}

uint64_t
supervisor_zygote_bare(struct supervisor *s)
{
	return supervisor_may_install(s) ? supervisor_start_zygote(s, 1) : 0;
}

uint64_t
supervisor_zygote_fork(struct supervisor *s, struct msg_ZYGOTE_FORK *m)
{
	if (m->generation == 0)
		m->generation = s->serving;
	if (m->generation == 0 || s->keeper == NULL)
		return 0;
	m->child = s->next_generation++;
	keeper_zygote_fork(s->keeper, m);
	return m->child;
}

void
supervisor_zygote_stop(struct supervisor *s, uint64_t generation)
{
	if (s->keeper != NULL)
		keeper_zygote_stop(s->keeper, generation);
}

struct keeper_proc *
supervisor_keeper(struct supervisor *s)
{
	return s->keeper;
}

/* The keeper has said what holds here. */
int
supervisor_may_install(const struct supervisor *s)
{
	return s->keeper != NULL && s->sandbox[0] != '\0';
}

int
supervisor_may_import(const struct supervisor *s)
{
	return (jail_report_held(&s->jail) & JAIL_FOR_IMPORTS) ==
	    JAIL_FOR_IMPORTS;
}

void
supervisor_install_start(struct supervisor *s, struct msg_INSTALL_START *m,
    int report)
{
	char layers[512];

	m->layers = slice_of(jail_set_format(jail_report_held(&s->jail),
	    layers, sizeof layers));
	keeper_install_start(s->keeper, m, report);
}

void
supervisor_install_stop(struct supervisor *s, uint64_t install)
{
	if (s->keeper != NULL)
		keeper_install_stop(s->keeper, install);
}
