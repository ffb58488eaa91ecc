#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <event2/event.h>

#include "conf.h"
#include "keeper_proc.h"
#include "log.h"
#include "mem.h"
#include "pool.h"
#include "probe.h"
#include "rmtree.h"
#include "supervisor.h"
#include "supervisor_private.h"

#define BACKOFF_MIN_MS	100
#define BACKOFF_MAX_MS	30000
/* Workers of one zygote that may fail in a row before it is replaced. */
#define FAILURES_MAX	8

static void	on_restart(evutil_socket_t, short, void *);
static void	on_keeper_ready(const struct msg_KEEPER_READY *, void *);
static void	on_zygote_ready(const struct msg_ZYGOTE_READY *, void *);
static void	on_zygote_exited(const struct msg_ZYGOTE_EXITED *, void *);
static void	on_worker_forked(const struct msg_WORKER_FORKED *, void *);
static void	on_worker_refused(const struct msg_WORKER_REFUSED *, void *);
static void	on_worker_exited(const struct msg_WORKER_EXITED *, void *);
static void	on_worker_uses(const struct msg_WORKER_USES *, void *);
static void	on_install_exited(const struct msg_INSTALL_EXITED *, void *);
static void	on_keeper_gone(const struct msg_KEEPER_GONE *, void *);
static void	on_gone(void *);

static const struct keeper_observer keeper_observer = {
	on_keeper_ready, on_zygote_ready, on_zygote_exited, on_worker_forked,
	on_worker_refused, on_worker_exited, on_worker_uses,
	on_install_exited, on_keeper_gone, on_gone
};

static void
set_text(char **field, struct slice s)
{
	free(*field);
	*field = xmemdupz(s.data, s.len);
}

/* Where the jail holds them: all of them end with their namespace, and the
 * user id of a worker counts them. */
static int
may_start_processes(const struct supervisor *s)
{
	jail_set need = JAIL_BIT(JAIL_PID) | JAIL_BIT(JAIL_UID);

	return strcmp(s->conf->sandbox_processes, "auto") == 0 &&
	    (jail_report_held(&s->jail) & need) == need;
}

uint64_t
supervisor_start_zygote(struct supervisor *s, int bare)
{
	char layers[512];
	struct msg_ZYGOTE_START m = {
		.generation = s->next_generation++,
		.path = slice_of(s->conf->zygote_path),
		.python_env = slice_of(s->conf->python_env),
		.modules = slice_of(bare ? "" : s->conf->python_modules),
		.warm_file = slice_of(bare ? "" : s->conf->zygote_warm_file),
		.deps_dir = slice_of(s->conf->deps_dir),
		.uid_base = s->conf->sandbox_uid_base,
		.processes = may_start_processes(s),
		.compact = s->conf->zygote_compact,
		.prefault = !bare && s->conf->pool_prefault > 0,
		.debug = log_get_level() == LOG_LEVEL_DEBUG
	};

	jail_set_format(jail_report_held(&s->jail), layers, sizeof layers);
	m.layers = slice_of(layers);
	keeper_zygote_start(s->keeper, &m);
	return m.generation;
}

static void
start_zygote(struct supervisor *s)
{
	s->starting = supervisor_start_zygote(s, 0);
	s->failures = 0;
	supervisor_early_ask(s);
}

static void
restart_later(struct supervisor *s)
{
	struct timeval tv = { s->backoff_ms / 1000,
	    s->backoff_ms % 1000 * 1000 };

	s->restarts++;
	log_warnx("starting again in %" PRIu64 " ms", s->backoff_ms);
	event_add(s->ev_restart, &tv);
	s->backoff_ms *= 2;
	if (s->backoff_ms > BACKOFF_MAX_MS)
		s->backoff_ms = BACKOFF_MAX_MS;
}

/* The zygote follows when the keeper has said what holds here. */
static void
greet_keeper(struct supervisor *s)
{
	const char *without = "";

#ifdef TEST_HOOKS
	without = s->conf->sandbox_without;
#endif
	keeper_start(s->keeper, without, s->conf->sandbox_uid_base,
	    s->scratch);
}

static int
start_keeper(struct supervisor *s)
{
	s->keeper = keeper_proc_start(s->base, &keeper_observer, s);
	if (s->keeper == NULL)
		return -1;
	greet_keeper(s);
	return 0;
}

static void
on_restart(evutil_socket_t fd, short what, void *arg)
{
	struct supervisor *s = arg;

	if (s->keeper != NULL) {
		if (s->starting == 0 && s->serving == 0)
			start_zygote(s);
	} else if (start_keeper(s) == -1) {
		log_warn("keeper: not started");
		restart_later(s);
	}
}

/* Scratch directories lie in a private directory below scratch.dir, which
 * goes when adderd or, if that is killed, its keeper ends. */
static int
make_scratch(struct supervisor *s, char **why)
{
	char *path;

	xasprintf(&path, "%s/adder-XXXXXX", s->conf->scratch_dir);
	/* Workers of other users look up their own directories in it. */
	if (mkdtemp(path) == NULL || chmod(path, 0711) == -1) {
		xasprintf(why, "No directory can be made in scratch.dir %s: "
		    "%s; name one that adderd may write to.",
		    s->conf->scratch_dir, strerror(errno));
		free(path);
		return -1;
	}
	s->scratch = path;
	return 0;
}

struct supervisor *
supervisor_new(struct event_base *base, struct conf *conf, struct pool *pool,
    char **why)
{
	struct supervisor *s = xcalloc(1, sizeof *s);

	s->base = base;
	s->conf = conf_ref(conf);
	s->pool = pool;
	s->next_generation = 1;
	s->backoff_ms = BACKOFF_MIN_MS;
	s->python = xstrdup("");
	s->packages = xstrdup("");
	s->sandbox = xstrdup("");
	s->ev_restart = event_new(base, -1, 0, on_restart, s);
	if (make_scratch(s, why) == -1) {
		supervisor_free(&s);
		return NULL;
	}
	if (start_keeper(s) == -1) {
		xasprintf(why, "The keeper process cannot be started from "
		    "/proc/self/exe: %s.", strerror(errno));
		supervisor_free(&s);
		return NULL;
	}
	return s;
}

void
supervisor_free(struct supervisor **sp)
{
	struct supervisor *s = *sp;

	if (s == NULL)
		return;
	*sp = NULL;
	pool_set_source(s->pool, NULL, 0);
	keeper_proc_free(&s->keeper);
	if (s->scratch != NULL)
		rmtree_at(AT_FDCWD, s->scratch);
	free(s->scratch);
	event_free(s->ev_restart);
	conf_unref(&s->conf);
	free(s->python);
	free(s->packages);
	free(s->sandbox);
	free(s);
}

void
supervisor_reload(struct supervisor *s, struct conf *conf)
{
	conf_unref(&s->conf);
	s->conf = conf_ref(conf);
	if (s->keeper == NULL || s->sandbox[0] == '\0')
		return;		/* a start is under way and will use it */
	if (s->starting != 0)
		keeper_zygote_stop(s->keeper, s->starting);
	event_del(s->ev_restart);
	start_zygote(s);
}

void
supervisor_worker_born(struct supervisor *s, const char *why)
{
	uint64_t from = s->serving != 0 ? s->serving :
	    s->early_serves ? s->early : 0;

	if (why == NULL) {
		s->failures = 0;
		/* One that does not become warm is no success. */
		if (s->serving != 0)
			s->backoff_ms = BACKOFF_MIN_MS;
		return;
	}
	if (from == 0 || s->keeper == NULL || ++s->failures != FAILURES_MAX)
		return;
	log_errorx("zygote %" PRIu64 ": %u workers in a row failed; it is "
	    "replaced", from, s->failures);
	if (s->serving == 0)
		supervisor_early_stop(s);
	else
		keeper_zygote_stop(s->keeper, s->serving);
	pool_set_source(s->pool, s->keeper, 0);
}

/* Fails closed: below the minimum nothing is served. */
static int
jail_suffices(struct supervisor *s)
{
	enum jail_tier have = jail_tier_of(jail_report_held(&s->jail));
	enum jail_tier want = JAIL_TIER_MEDIUM;
	char *why;

	jail_tier_parse(s->conf->sandbox_minimum, &want);
	if (have >= want) {
		log_info("sandbox: %s", s->sandbox);
		return 1;
	}
	if (strcmp(s->conf->sandbox_mode, "off") == 0) {
		log_warnx("sandbox.mode is off and the jail is %s: programs "
		    "run less confined than sandbox.minimum (%s) asks for.  "
		    "sandbox: %s", jail_tier_name(have),
		    s->conf->sandbox_minimum, s->sandbox);
		return 1;
	}
	xasprintf(&why, "The jail would be %s, but sandbox.minimum is %s: "
	    "adderd does not run programs less confined than that.  It is: "
	    "%s.  adderctl doctor says what to do about each missing layer.",
	    jail_tier_name(have), s->conf->sandbox_minimum, s->sandbox);
	if (s->fatal != NULL)
		s->fatal(why, s->fatal_arg);
	free(why);
	return 0;
}

static void
on_keeper_ready(const struct msg_KEEPER_READY *m, void *arg)
{
	struct supervisor *s = arg;

	char line[1024];

	if (jail_report_parse(m->report.data, m->report.len, &s->jail) == -1) {
		log_errorx("keeper: its report on the jail cannot be read");
		memset(&s->jail, 0, sizeof s->jail);
	}
	jail_report_line(&s->jail, line, sizeof line);
	set_text(&s->sandbox, slice_of(line));
	if (m->cgroup.len > 0)
		log_debug("control groups %.*s", (int)m->cgroup.len,
		    m->cgroup.data);
	if (jail_suffices(s))
		start_zygote(s);
}

/* A zygote that says less than was asked of it must not serve. */
static int
is_jailed(const struct supervisor *s, const struct msg_ZYGOTE_READY *m)
{
	char want[512];

	jail_set_format(jail_report_held(&s->jail), want, sizeof want);
	if (m->layers.len == strlen(want) &&
	    memcmp(m->layers.data, want, m->layers.len) == 0)
		return 1;
	log_errorx("zygote %" PRIu64 ": it entered the layers \"%.*s\" of "
	    "the jail instead of \"%s\" and is stopped", m->generation,
	    (int)m->layers.len, m->layers.data, want);
	return 0;
}

static void
tell_zygote(struct supervisor *s, uint64_t generation, int ready)
{
	if (s->observer != NULL)
		s->observer->zygote(generation, ready, s->observer_arg);
}

static void
on_zygote_ready(const struct msg_ZYGOTE_READY *m, void *arg)
{
	struct supervisor *s = arg;
	uint64_t old = s->serving;

	if (!is_jailed(s, m)) {
		keeper_zygote_stop(s->keeper, m->generation);
		return;
	}
	if (supervisor_early_ready(s, m)) {
		set_text(&s->python, m->python);
		return;
	}
	if (m->generation != s->starting) {
		/* An environment's, or one that a reload has overtaken. */
		tell_zygote(s, m->generation, 1);
		return;
	}
	/* Before any worker of it can get a job. */
	if (s->warm != NULL)
		s->warm(s->warm_arg);
	s->starting = 0;
	s->serving = m->generation;
	s->failures = 0;
	s->import_ms = m->import_ms;
	set_text(&s->python, m->python);
	set_text(&s->packages, m->packages);
	log_info("zygote %" PRIu64 " ready: pid %" PRIu64 ", Python %s, "
	    "imports %" PRIu64 " ms, %" PRIu64 " KiB", m->generation, m->pid,
	    s->python, m->import_ms, m->rss_kib);
	pool_permit_sessions(s->pool, m->sessions);
	pool_set_source(s->pool, s->keeper, m->generation);
	supervisor_early_stop(s);
	if (old != 0)
		keeper_zygote_stop(s->keeper, old);
	if (s->observer != NULL)
		s->observer->plain_ready(s->observer_arg);
}

static void
on_zygote_exited(const struct msg_ZYGOTE_EXITED *m, void *arg)
{
	struct supervisor *s = arg;

	if (supervisor_early_exited(s, m))
		return;
	if (m->generation == s->starting)
		s->starting = 0;
	else if (m->generation == s->serving) {
		s->serving = 0;
		pool_set_source(s->pool, s->keeper, 0);
	} else {
		/* An environment's, or one stopped on purpose. */
		tell_zygote(s, m->generation, 0);
		return;
	}
	log_errorx("zygote %" PRIu64 " ended, wait status 0x%x",
	    m->generation, (unsigned)m->status);
	if (s->serving == 0 && s->starting == 0)
		restart_later(s);
}

static void
on_worker_forked(const struct msg_WORKER_FORKED *m, void *arg)
{
	struct supervisor *s = arg;

	if (!pool_worker_forked(s->pool, m->worker, m->pid) &&
	    s->observer != NULL)
		s->observer->worker_forked(m->worker, m->pid,
		    s->observer_arg);
}

static void
on_worker_refused(const struct msg_WORKER_REFUSED *m, void *arg)
{
	struct supervisor *s = arg;
	char *why = xmemdupz(m->reason.data, m->reason.len);

	if (!pool_worker_refused(s->pool, m->worker, why) &&
	    s->observer != NULL)
		s->observer->worker_refused(m->worker, why, s->observer_arg);
	free(why);
}

static void
on_worker_exited(const struct msg_WORKER_EXITED *m, void *arg)
{
	struct supervisor *s = arg;

	if (!pool_worker_exited(s->pool, m) && s->observer != NULL)
		s->observer->worker_exited(m, s->observer_arg);
}

static void
on_install_exited(const struct msg_INSTALL_EXITED *m, void *arg)
{
	struct supervisor *s = arg;

	if (s->observer != NULL)
		s->observer->install_exited(m, s->observer_arg);
}

static void
on_worker_uses(const struct msg_WORKER_USES *m, void *arg)
{
	struct supervisor *s = arg;

	pool_worker_uses(s->pool, m);
}

static void
forget_processes(struct supervisor *s)
{
	s->starting = s->serving = s->early = 0;
	s->early_serves = 0;
	/* Else the zygote that a new keeper starts would be replaced. */
	event_del(s->ev_restart);
	set_text(&s->sandbox, slice_of(""));
	s->restarts++;
	pool_abandon(s->pool);
	if (s->observer != NULL)
		s->observer->lost(s->observer_arg);
}

/* Its guard has started another one. */
static void
on_keeper_gone(const struct msg_KEEPER_GONE *m, void *arg)
{
	struct supervisor *s = arg;

	log_errorx("keeper ended, wait status 0x%x, and all workers with it",
	    (unsigned)m->status);
	forget_processes(s);
	greet_keeper(s);
}

/* The guard ended, too. */
static void
on_gone(void *arg)
{
	struct supervisor *s = arg;

	log_errorx("keeper ended with its guard, and all workers with it");
	forget_processes(s);
	keeper_proc_free(&s->keeper);
	if (s->confined)
		s->fatal("The guard of the keeper is gone, and adderd has no "
		    "right to start another one; start adderd again.",
		    s->fatal_arg);
	else
		restart_later(s);
}
