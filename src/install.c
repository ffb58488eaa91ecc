#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <jansson.h>

#include "conf.h"
#include "fdutil.h"
#include "install.h"
#include "log.h"
#include "mem.h"
#include "msg.h"
#include "supervisor.h"
#include "units.h"

/* Longest line of a report, and bytes of it read in one turn. */
#define LINE_MAX_BYTES	(256 * 1024)
#define READ_BYTES	65536
#define EVICTED_MAX	1000000
/* Time for the rest of a report when the installer has ended. */
#define REPORT_REST_MS	2000

struct install {
	struct event_base	*base;
	struct supervisor	*supervisor;
	uint64_t		 id;
	uint64_t		 timeout_ms;
	char			*deps_dir;
	int			 fd;		/* its report, -1 when read */
	struct evbuffer		*in;
	struct event		*ev_report;
	struct event		*ev_timeout;
	int			 timed_out;
	int			 exited;
	int			 status;	/* as from wait(2), then */
	int			 has_result;
	struct install_result	 result;
	char			*why;		/* NULL unless it failed */
	const struct install_observer *observer;
	void			*arg;
};

static uint64_t	next_id = 1;

static void	on_report(evutil_socket_t, short, void *);
static void	on_timeout(evutil_socket_t, short, void *);

/* Ports in a text that holds addresses: the number after the host of each
 * scheme://host:port. */
static void
add_ports(FILE *out, const char *text)
{
	const char *at = text, *p;
	unsigned long port;

	while (at != NULL && (at = strstr(at, "://")) != NULL) {
		at += 3;
		p = at + strcspn(at, "/ \t");
		while (p > at && isdigit((unsigned char)p[-1]))
			p--;
		port = p > at && p[-1] == ':' ? strtoul(p, NULL, 10) : 0;
		if (port > 0 && port < 65536)
			fprintf(out, ",%lu", port);
	}
}

/* Where the installer may connect to. */
static char *
ports_of(const struct conf *conf)
{
	static const char *const names[] = { "PIP_INDEX_URL",
	    "PIP_EXTRA_INDEX_URL", "PIP_PROXY", "http_proxy", "https_proxy",
	    "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
	    "PIP_FIND_LINKS" };
	size_t i, len;
	char *text;
	FILE *out = open_memstream(&text, &len);

	fputs(conf->deps_ports, out);
	add_ports(out, conf->deps_index);
	for (i = 0; i < sizeof names / sizeof names[0]; i++)
		add_ports(out, getenv(names[i]));
	fclose(out);
	return text;
}

static char *
request_of(const struct conf *conf, const char *packages, const char *keep)
{
	json_t *ask = json_loads(packages, JSON_ALLOW_NUL, NULL);
	json_t *names = json_array();
	char *list = xstrdup(keep), *at = list, *name, *line;

	while ((name = strsep(&at, " ")) != NULL)
		if (*name != '\0')
			json_array_append_new(names, json_string(name));
	free(list);
	json_object_set_new(ask, "keep", names);
	json_object_set_new(ask, "dir", json_string(conf->deps_dir));
	json_object_set_new(ask, "index", json_string(conf->deps_index));
	json_object_set_new(ask, "offline", json_string(conf->deps_offline));
	json_object_set_new(ask, "allow", json_string(conf->deps_allow));
	json_object_set_new(ask, "deny", json_string(conf->deps_deny));
	json_object_set_new(ask, "sdist", json_boolean(conf->deps_sdist));
	json_object_set_new(ask, "max_bytes",
	    json_integer(conf->deps_max_bytes));
	line = json_dumps(ask, JSON_COMPACT);
	json_decref(ask);
	return line;
}

static void
send_request(struct install *in, const struct conf *conf,
    const char *packages, const char *keep, int report)
{
	char *ports = ports_of(conf), *request = request_of(conf, packages,
	    keep);
	struct msg_INSTALL_START m = { .install = in->id,
	    .python_env = slice_of(conf->python_env),
	    .deps_dir = slice_of(conf->deps_dir),
	    .offline = slice_of(conf->deps_offline),
	    .ports = slice_of(ports), .request = slice_of(request),
	    .uid_base = conf->sandbox_uid_base,
	    .max_bytes = conf->deps_max_bytes, .sdist = conf->deps_sdist };

	supervisor_install_start(in->supervisor, &m, report);
	free(ports);
	free(request);
}

static void
arm(struct event *ev, uint64_t ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	event_add(ev, &tv);
}

struct install *
install_start(struct event_base *base, const struct conf *conf,
    struct supervisor *supervisor, const char *packages, const char *keep,
    const struct install_observer *observer, void *arg)
{
	struct install *in = xcalloc(1, sizeof *in);
	int fds[2] = { -1, -1 };

	in->base = base;
	in->supervisor = supervisor;
	in->id = next_id++;
	in->deps_dir = xstrdup(conf->deps_dir);
	in->timeout_ms = conf->deps_timeout;
	in->observer = observer;
	in->arg = arg;
	in->in = evbuffer_new();
	in->ev_timeout = event_new(base, -1, 0, on_timeout, in);
	arm(in->ev_timeout, in->timeout_ms);
	in->fd = -1;
	if (pipe2(fds, O_CLOEXEC) == -1 || fd_set_nonblock(fds[0]) == -1) {
		/* The keeper's answer is what ends it. */
		log_warn("installer %" PRIu64 ": no pipe", in->id);
		fd_close(&fds[0]);
		fds[1] = open("/dev/null", O_WRONLY | O_CLOEXEC);
	}
	in->fd = fds[0];
	if (in->fd != -1) {
		in->ev_report = event_new(base, in->fd, EV_READ | EV_PERSIST,
		    on_report, in);
		event_add(in->ev_report, NULL);
	}
	send_request(in, conf, packages, keep, fds[1]);
	fd_close(&fds[1]);
	return in;
}

static void
result_free(struct install_result *r)
{
	free(r->path);
	free(r->site);
	free(r->modules);
	memset(r, 0, sizeof *r);
}

void
install_free(struct install **inp)
{
	struct install *in = *inp;

	if (in == NULL)
		return;
	*inp = NULL;
	if (!in->exited)
		supervisor_install_stop(in->supervisor, in->id);
	if (in->ev_report != NULL)
		event_free(in->ev_report);
	event_free(in->ev_timeout);
	evbuffer_free(in->in);
	fd_close(&in->fd);
	result_free(&in->result);
	free(in->deps_dir);
	free(in->why);
	free(in);
}

static void
fail(struct install *in, const char *sentence, const char *log)
{
	if (in->why == NULL)
		xasprintf(&in->why, "%s%s%s", sentence,
		    log[0] != '\0' ? "\n" : "", log);
}

/* Directly below dir, and nothing but a plain name there. */
static int
is_environment(const char *path, const char *dir)
{
	size_t len = strlen(dir);
	const char *name = path + len + 1;

	return strncmp(path, dir, len) == 0 && path[len] == '/' &&
	    strncmp(name, "env-", 4) == 0 && strchr(name, '/') == NULL;
}

static int
is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && path[len] == '/' &&
	    strstr(path, "/../") == NULL;
}

static char *
join_names(const json_t *names)
{
	const char *name, *p;
	size_t i, len;
	json_t *item;
	char *text;
	FILE *out = open_memstream(&text, &len);

	json_array_foreach(names, i, item) {
		name = json_string_value(item);
		for (p = name; p != NULL && (isalnum((unsigned char)*p) ||
		    *p == '_'); p++)
			;
		if (p != NULL && p != name && *p == '\0')
			fprintf(out, "%s%s", ftell(out) > 0 ? "," : "", name);
	}
	fclose(out);
	return text;
}

/* The word of the installer, so no more than can be. */
static unsigned
evicted_of(const json_t *ok)
{
	json_int_t n = json_integer_value(json_object_get(ok, "evicted"));

	return n > 0 && n < EVICTED_MAX ? n : 0;
}

static int
take_result(struct install *in, const json_t *ok)
{
	const char *path = json_string_value(json_object_get(ok, "path"));
	const char *site = json_string_value(json_object_get(ok, "site"));

	if (json_is_true(json_object_get(ok, "plain"))) {
		in->result.plain = 1;
		in->has_result = 1;
		return 0;
	}
	if (in->has_result || path == NULL || site == NULL ||
	    !is_environment(path, in->deps_dir) || !is_below(site, path))
		return -1;
	in->result.path = xstrdup(path);
	in->result.site = xstrdup(site);
	in->result.modules = join_names(json_object_get(ok, "imports"));
	in->result.shadows = json_is_true(json_object_get(ok, "shadows"));
	in->result.made = json_is_true(json_object_get(ok, "made"));
	in->result.evicted = evicted_of(ok);
	in->has_result = 1;
	return 0;
}

static int
take_line(struct install *in, const char *line, size_t len)
{
	json_t *report = json_loadb(line, len, JSON_ALLOW_NUL, NULL);
	const char *progress, *error, *log;
	int rv = 0;

	progress = json_string_value(json_object_get(report, "progress"));
	error = json_string_value(json_object_get(report, "error"));
	log = json_string_value(json_object_get(report, "log"));
	if (progress != NULL)
		in->observer->progress(progress, in->arg);
	else if (error != NULL)
		fail(in, error, log != NULL ? log : "");
	else
		rv = take_result(in, json_object_get(report, "ok"));
	json_decref(report);
	return rv;
}

static void
stop_reading(struct install *in)
{
	if (in->ev_report != NULL)
		event_free(in->ev_report);
	in->ev_report = NULL;
	fd_close(&in->fd);
}

static void
finish(struct install *in)
{
	char sentence[160];

	if (!in->has_result && WIFSIGNALED(in->status)) {
		snprintf(sentence, sizeof sentence, "The installer of "
		    "packages was ended by signal %d (%s), as it may be for "
		    "want of memory; try again.", WTERMSIG(in->status),
		    strsignal(WTERMSIG(in->status)));
		fail(in, sentence, "");
	} else if (!in->has_result)
		fail(in, "The installer of packages ended without a word; "
		    "the log of the server may say why.", "");
	in->observer->done(in->why == NULL ? &in->result : NULL, in->why,
	    in->arg);
}

static void
on_report(evutil_socket_t fd, short what, void *arg)
{
	struct install *in = arg;
	int n = evbuffer_read(in->in, fd, READ_BYTES);
	size_t len;
	char *line;

	while ((line = evbuffer_readln(in->in, &len, EVBUFFER_EOL_LF)) !=
	    NULL) {
		if (take_line(in, line, len) == -1)
			fail(in, "The installer of packages reported what "
			    "makes no sense.", "");
		free(line);
	}
	if (n > 0 && evbuffer_get_length(in->in) <= LINE_MAX_BYTES)
		return;
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	stop_reading(in);
	if (in->exited)
		finish(in);
}

static void
on_timeout(evutil_socket_t fd, short what, void *arg)
{
	struct install *in = arg;
	char limit[32], sentence[160];

	if (in->exited) {
		stop_reading(in);
		finish(in);
		return;
	}
	duration_text(in->timeout_ms, limit, sizeof limit);
	snprintf(sentence, sizeof sentence, "The packages were not installed "
	    "within %s, the limit (deps.timeout); ask for less, or try again.",
	    limit);
	fail(in, sentence, "");
	supervisor_install_stop(in->supervisor, in->id);
}

/* Nobody else says why. */
static void
say_not_started(struct install *in, int error)
{
	char sentence[256];

	snprintf(sentence, sizeof sentence, "No packages can be installed: "
	    "the server cannot use its directory for them (deps.dir) or start "
	    "their installer: %s.  Do without them, or tell whoever runs the "
	    "server.", strerror(error));
	fail(in, sentence, "");
}

void
install_exited(struct install *in, const struct msg_INSTALL_EXITED *m)
{
	if (m->install != in->id || in->exited)
		return;
	in->exited = 1;
	in->status = (int)m->status;
	if (m->error != 0)
		say_not_started(in, (int)m->error);
	event_del(in->ev_timeout);
	if (m->status != 0)
		log_debug("installer %" PRIu64 " ended, wait status 0x%x",
		    in->id, (unsigned)m->status);
	if (in->fd == -1)
		finish(in);
	else	/* what a builder left behind may hold the other end */
		arm(in->ev_timeout, REPORT_REST_MS);
}
