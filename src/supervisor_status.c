#include "config.h"

#include <sys/stat.h>

#include "keeper_proc.h"
#include "supervisor.h"
#include "supervisor_private.h"

/* What adderd tells the supervisor once, and asks it. */

void
supervisor_on_fatal(struct supervisor *s, void (*call)(const char *, void *),
    void *arg)
{
	s->fatal = call;
	s->fatal_arg = arg;
}

void
supervisor_on_warm(struct supervisor *s, void (*call)(void *), void *arg)
{
	s->warm = call;
	s->warm_arg = arg;
}

const char *
supervisor_scratch(const struct supervisor *s)
{
	return s->scratch;
}

void
supervisor_set_confined(struct supervisor *s)
{
	s->confined = 1;
}

void
supervisor_socket_remove(struct supervisor *s, const char *path,
    const struct stat *st)
{
	if (s->keeper != NULL)
		keeper_socket_remove(s->keeper, path, st);
}

void
supervisor_status(const struct supervisor *s, struct dispatcher_status *st)
{
	st->generation = s->serving;
	st->warm = s->serving != 0;
	st->ready = st->warm || s->early_serves;
	if (!st->warm && st->ready)
		st->generation = s->early;
	st->zygote_restarts = s->restarts;
	st->zygote_import_ms = s->import_ms;
	st->python = s->python;
	st->packages = s->packages;
	st->sandbox = s->sandbox;
	st->jail = &s->jail;
}
