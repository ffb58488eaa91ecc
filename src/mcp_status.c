#include "config.h"

#include "dispatcher.h"
#include "mcp_private.h"

static json_t *
call_counts(const struct dispatcher_status *st)
{
	json_t *counts = json_object();
	enum verdict v;

	for (v = 0; v < VERDICT_COUNT; v++)
		json_object_set_new(counts, verdict_name(v),
		    json_integer(st->calls[v]));
	return counts;
}

unsigned
mcp_sessions(const struct mcp *m)
{
	return m->nsessions;
}

json_t *
mcp_status(const struct mcp *m)
{
	struct dispatcher_status st;

	dispatcher_status(m->dispatcher, &st);
	return json_pack("{s:s, s:b, s:s, s:I,"
	    " s:{s:i, s:i, s:i, s:i, s:I, s:I}, s:{s:i, s:f},"
	    " s:{s:i, s:i, s:I, s:I, s:I, s:I, s:I},"
	    " s:{s:i, s:i, s:I, s:I, s:I},"
	    " s:i, s:o, s:{s:I, s:I}, s:s, s:s, s:s}",
	    "version", PACKAGE_VERSION,
	    "ready", st.ready,
	    "state", st.warm ? "serving" : st.ready ? "warming up" :
	    "starting",
	    "generation", (json_int_t)st.generation,
	    "workers", "idle", (int)st.workers_idle,
	    "prefaulted", (int)st.workers_prefaulted,
	    "busy", (int)st.workers_busy,
	    "starting", (int)st.workers_starting,
	    "prepare_us", (json_int_t)st.prepare_us,
	    "confine_us", (json_int_t)st.confine_us,
	    "queue", "length", (int)st.queued,
	    "oldest_ms", (double)st.queue_age_us / 1000.0,
	    "sessions", "open", (int)st.sessions_open,
	    "busy", (int)st.sessions_busy,
	    "memory", (json_int_t)st.sessions_memory,
	    "opened", (json_int_t)st.sessions_opened,
	    "expired", (json_int_t)st.sessions_expired,
	    "lost", (json_int_t)st.sessions_lost,
	    "evicted", (json_int_t)st.sessions_evicted,
	    "environments", "zygotes", (int)st.environments_zygotes,
	    "held", (int)st.environments_sessions,
	    "installs", (json_int_t)st.environments_installs,
	    "failures", (json_int_t)st.environments_failures,
	    "evictions", (json_int_t)st.environments_evictions,
	    "clients", (int)m->nsessions,
	    "calls", call_counts(&st),
	    "zygote", "restarts", (json_int_t)st.zygote_restarts,
	    "import_ms", (json_int_t)st.zygote_import_ms,
	    "python", st.python,
	    "sandbox", st.sandbox,
	    "packages", st.packages);
}

json_t *
mcp_status_method(struct request *r)
{
	return mcp_status(r->session->mcp);
}
