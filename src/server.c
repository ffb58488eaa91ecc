#include "config.h"

#include <sys/resource.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <event2/event.h>

#include "clock.h"
#include "conf.h"
#include "confine.h"
#include "dispatcher.h"
#include "fixture.h"
#include "http.h"
#include "http_health.h"
#include "http_mcp.h"
#include "http_sse_pair.h"
#include "http_run.h"
#include "json.h"
#include "listener.h"
#include "log.h"
#include "mcp.h"
#include "mem.h"
#include "selftest.h"
#include "server_private.h"
#include "stdio_fds.h"

/* Time to send the last answers once a stop is asked for. */
#define STOP_US		300000
/* How often, and how long after a start, Python is asked if it is ready. */
#define READY_LOOK_US	20000
#define READY_WAIT_US	120000000

int
server_has_clients(const struct server *s)
{
	return s->nclients > 0 ||
	    (s->http != NULL && http_connections(s->http) > 0);
}

void
server_stop(struct server *s)
{
	static const struct timeval wait = { 0, STOP_US };

	if (!s->stopping) {
		s->stopping = 1;
		log_debug("stopping");
		listeners_free(&s->listeners);
		clients_stop(s, "The server is shutting down.");
		if (s->http != NULL)
			http_stop(s->http);
		if (s->health != NULL)
			http_health_stop(s->health);
		event_add(s->ev_stop, &wait);
		if (server_has_clients(s))
			return;
	}
	event_base_loopbreak(s->base);
}

static void
on_stop(evutil_socket_t fd, short what, void *arg)
{
	server_stop(arg);
}

static void
on_fatal(const char *why, void *arg)
{
	struct server *s = arg;

	log_errorx("%s", why);
	s->status = 1;
	server_stop(s);
}

static void
on_ready(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;
	struct dispatcher_status st;

	dispatcher_status(s->dispatcher, &st);
	if (st.warm && st.generation != s->ready_generation) {
		s->ready_generation = st.generation;
		/* Tests and scripts wait for this line. */
		log_info("ready: Python %s, imported in %" PRIu64 " ms",
		    st.python, st.zygote_import_ms);
	} else if (clock_us() < s->ready_until_us)
		return;
	event_del(s->ev_ready);
}

static void
watch_ready(struct server *s)
{
	static const struct timeval look = { 0, READY_LOOK_US };

	s->ready_until_us = clock_us() + READY_WAIT_US;
	event_add(s->ev_ready, &look);
}

static void
set_log_level(const struct server *s)
{
	enum log_level level;

	if (s->options->debug)
		log_set_level(LOG_LEVEL_DEBUG);
	else if (log_level_parse(s->conf->log_level, &level) == 0)
		log_set_level(level);
}

/* The new conf as a whole, or none of it. */
static void
reload(struct server *s)
{
	struct conf *conf;
	char *why = NULL;

	conf = conf_load(s->options->file, s->options->overrides, &why);
	if (conf != NULL)
		conf_check_reload(s->conf, conf, &why);
	if (why != NULL) {
		log_warnx("reload refused, the configuration stays as it "
		    "was: %s", why);
		conf_unref(&conf);
		free(why);
		return;
	}
	conf_unref(&s->conf);
	s->conf = conf;
	set_log_level(s);
	server_files_set_conf(s);
	mcp_set_conf(s->mcp, conf);
	clients_set_conf(s);
	http_set_conf(s->http, conf);
	http_mcp_set_conf(s->http_mcp, conf);
	http_pair_set_conf(s->http_pair, conf);
	http_run_set_conf(s->http_run, conf);
	dispatcher_reload(s->dispatcher, conf);
	log_info("reloaded");
	watch_ready(s);
}

static void
log_status(const struct server *s)
{
	json_t *status = mcp_status(s->mcp);
	size_t len;
	char *line;

	/* Too long for a line of the log; adderctl status shows it. */
	json_object_del(status, "packages");
	line = json_line(status, &len);
	log_info("status %s", line);
	free(line);
	json_decref(status);
}

static void
on_signal(evutil_socket_t sig, short what, void *arg)
{
	struct server *s = arg;

	switch (sig) {
	case SIGHUP:
		reload(s);
		break;
	case SIGUSR1:
		log_status(s);
		break;
	default:
		log_info("stopping on signal %d", (int)sig);
		server_stop(s);
		break;
	}
}

static void
watch_signals(struct server *s)
{
	static const int signals[SERVER_SIGNALS] = { SIGTERM, SIGINT,
	    SIGQUIT, SIGHUP, SIGUSR1 };
	size_t i;

	signal(SIGPIPE, SIG_IGN);
	for (i = 0; i < SERVER_SIGNALS; i++) {
		s->ev_signals[i] = evsignal_new(s->base, signals[i],
		    on_signal, s);
		event_add(s->ev_signals[i], NULL);
	}
}

static void
on_accept(int fd, enum transport_kind kind, const char *name, void *arg)
{
	client_new(arg, kind, fd, fd, name);
}

static void
on_http_idle(void *arg)
{
	struct server *s = arg;

	if (s->stopping && !server_has_clients(s))
		server_stop(s);
}

/* epoll cannot watch regular files, which stdin or stdout may be. */
static struct event_base *
new_base(int any_fd)
{
	struct event_config *config = event_config_new();
	struct event_base *base;

	if (any_fd)
		event_config_require_features(config, EV_FEATURE_FDS);
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
	base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

static int
open_base(struct server *s)
{
	int any_fd = s->options->stdio &&
	    (!stdio_fd_pollable(STDIN_FILENO) ||
	    !stdio_fd_pollable(STDOUT_FILENO));

	s->base = new_base(any_fd);
	if (s->base == NULL)
		return -1;
	s->ev_ready = event_new(s->base, -1, EV_PERSIST, on_ready, s);
	s->ev_stop = event_new(s->base, -1, 0, on_stop, s);
	watch_signals(s);
	return 0;
}

static void
on_broken(const char *why, void *arg)
{
	struct server *s = arg;

	if (strcmp(s->conf->sandbox_mode, "off") == 0)
		log_warnx("sandbox.mode is off: %s", why);
	else
		on_fatal(why, s);
}

static int
start_selftest(struct server *s, char **why)
{
	if (!s->conf->sandbox_selftest)
		return 0;
	s->selftest = selftest_new(s->dispatcher, s->conf, why);
	if (s->selftest == NULL)
		return -1;
	selftest_run(s->selftest, on_broken, s);
	return 0;
}

static void
remove_socket(const char *path, const struct stat *st, void *arg)
{
	struct server *s = arg;

	dispatcher_socket_remove(s->dispatcher, path, st);
}

/* The listeners are open and the keeper runs: nothing else needs rights. */
static int
confine(struct server *s, char **why)
{
	if (confine_server(s->conf, s->options->file, why) == 0) {
		dispatcher_set_confined(s->dispatcher);
		return 0;
	}
	if (strcmp(s->conf->sandbox_mode, "off") != 0)
		return -1;
	log_warnx("sandbox.mode is off: %s", *why);
	free(*why);
	*why = NULL;
	return 0;
}

/* Clients, and a socket and two pipes a worker, should never lack one. */
static void
raise_descriptor_limit(const struct conf *conf)
{
	rlim_t want = 2 * conf->clients_max + 4 * (conf->pool_max +
	    conf->pool_warm) + 2 * conf->sessions_max + 128;
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == -1 || rl.rlim_cur >= want)
		return;
	rl.rlim_cur = want < rl.rlim_max ? want : rl.rlim_max;
	if (rl.rlim_cur < want)
		log_warnx("%llu descriptors may be open, but clients.max, "
		    "pool.max and sessions.max may need %llu",
		    (unsigned long long)rl.rlim_cur,
		    (unsigned long long)want);
	setrlimit(RLIMIT_NOFILE, &rl);
}

/* Everything that can fail, in the order in which it depends on another.
 * -1 with *why. */
static int
start(struct server *s, char **why)
{
	int in = -1, out = -1;

	if (open_base(s) == -1) {
		xasprintf(why, "cannot make an event loop: %s",
		    strerror(errno));
		return -1;
	}
	raise_descriptor_limit(s->conf);
	/* Before any process is started that could write there. */
	if (s->options->stdio && stdio_fds_take(&in, &out) == -1) {
		xasprintf(why, "cannot take over standard input and output, "
		    "or put /dev/null in their place: %s", strerror(errno));
		return -1;
	}
	if (server_files_open(s, why) == -1)
		return -1;
	s->dispatcher = dispatcher_new(s->base, s->conf, why);
	if (s->dispatcher == NULL)
		return -1;
	dispatcher_on_fatal(s->dispatcher, on_fatal, s);
	if (start_selftest(s, why) == -1)
		return -1;
	s->mcp = mcp_new(s->base, s->conf, s->dispatcher);
	mcp_set_selftest(s->mcp, s->selftest);
	if (s->options->fixtures)
		fixture_install(s->mcp);
	if (s->options->stdio)
		client_new(s, TRANSPORT_STDIO, in, out, "stdio client");
	s->listeners = listeners_open(s->base, s->conf, on_accept, s, why);
	if (s->listeners == NULL)
		return -1;
	listeners_set_remover(s->listeners, remove_socket, s);
	s->http = http_new(s->base, s->conf, on_http_idle, s, why);
	if (s->http == NULL)
		return -1;
	s->http_mcp = http_mcp_new(s->base, s->http, s->mcp, s->conf);
	s->http_pair = http_pair_new(s->http, s->mcp, s->conf);
	s->health = http_health_new(s->http, s->dispatcher, s->mcp,
	    s->selftest);
	s->http_run = http_run_new(s->http, s->conf, s->dispatcher);
	if (confine(s, why) == -1 || server_files_load(s, why) == -1)
		return -1;
	watch_ready(s);
	return 0;
}

static void
end(struct server *s)
{
	size_t i;

	listeners_free(&s->listeners);
	clients_free(s);
	http_free(&s->http);
	http_mcp_free(&s->http_mcp);
	http_pair_free(&s->http_pair);
	http_health_free(&s->health);
	http_run_free(&s->http_run);
	mcp_free(&s->mcp);
	selftest_free(&s->selftest);
	dispatcher_free(&s->dispatcher);
	server_files_free(s);
	for (i = 0; i < SERVER_SIGNALS; i++)
		if (s->ev_signals[i] != NULL)
			event_free(s->ev_signals[i]);
	if (s->base != NULL) {
		event_free(s->ev_ready);
		event_free(s->ev_stop);
		event_base_free(s->base);
	}
	conf_unref(&s->conf);
}

int
server_run(struct conf *conf, const struct server_options *options)
{
	struct server s = { .options = options, .conf = conf };
	char *why = NULL;

	TAILQ_INIT(&s.clients);
	set_log_level(&s);
	json_init();
	if (start(&s, &why) == -1) {
		log_errorx("%s", why != NULL ? why : "cannot start");
		free(why);
		s.status = 1;
	} else
		event_base_dispatch(s.base);
	end(&s);
	return s.status;
}
