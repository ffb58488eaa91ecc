#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf.h"
#include "dispatcher.h"
#include "fdutil.h"
#include "log.h"
#include "mem.h"
#include "selftest.h"
#include "selftest_code.h"

struct selftest {
	struct dispatcher	*dispatcher;
	struct conf		*conf;
	char			*file;		/* that no job may read */
	int			 listener;
	unsigned		 port;
	enum { FIRST_WAITS, FIRST_RUNS, FIRST_ENDED } first;
	int			 again;		/* the first part, after this */
	int			 limits;	/* the second has begun */
	unsigned		 tries;
	enum selftest_state	 state[SELFTEST_CHECKS];
	char			*detail[SELFTEST_CHECKS];
	void			(*broken)(const char *, void *);
	void			*arg;
};

static const struct {
	const char	*name;
	const char	*what;
} checks[] = {
#define X(id, text, does) { text, does },
	SELFTEST_LIST(X)
#undef X
};

/* Programs against the limits, and how they have to end. */
static const struct {
	enum selftest_check	 check;
	const char		*code;
	uint64_t		 timeout_ms;
	enum verdict		 expect[2];
} limits[] = {
	{ SELFTEST_TIME, "while True: pass", 100,
	  { VERDICT_TIMEOUT, VERDICT_TIMEOUT } },
	{ SELFTEST_OUTPUT, "import os\nwhile True: os.write(1, b'x' * 65536)",
	  20000, { VERDICT_OUTPUT, VERDICT_OUTPUT } },
	{ SELFTEST_SCRATCH, "with open('f', 'wb', 0) as f:\n"
	  "    while True: f.write(bytes(1 << 20))", 20000,
	  { VERDICT_FILES, VERDICT_FILES } },
	{ SELFTEST_MEMORY, "a = []\nwhile True: a.append(b'x' * (1 << 22))",
	  20000, { VERDICT_MEMORY, VERDICT_MEMORY } },
};

#define NLIMITS	(sizeof limits / sizeof limits[0])
/* How often the first part is tried until it comes to its end. */
#define TRIES_MAX	8

static void	run_first(struct selftest *);
static void	run_limit(struct selftest *, size_t);
static void	on_first_started(struct job *, void *);
static void	on_warm(void *);
static void	on_first_done(struct job *, const struct job_result *,
		    void *);
static void	on_limit_done(struct job *, const struct job_result *,
		    void *);

static const struct job_observer first_observer = { on_first_started, NULL,
    on_first_done, NULL, NULL };
static const struct job_observer limit_observer = { NULL, NULL,
    on_limit_done, NULL, NULL };

const char *
selftest_name(enum selftest_check c)
{
	return checks[c].name;
}

const char *
selftest_what(enum selftest_check c)
{
	return checks[c].what;
}

enum selftest_state
selftest_state(const struct selftest *t, enum selftest_check c)
{
	return t->state[c];
}

const char *
selftest_detail(const struct selftest *t, enum selftest_check c)
{
	return t->detail[c] != NULL ? t->detail[c] : "";
}

int
selftest_complete(const struct selftest *t)
{
	int c;

	for (c = 0; c < SELFTEST_CHECKS; c++)
		if (t->state[c] == SELFTEST_OPEN)
			return 0;
	return 1;
}

/* World-readable, so that only the jail keeps a job from it. */
static int
make_file(struct selftest *t)
{
	int fd;

	xasprintf(&t->file, "%s/selftest",
	    dispatcher_scratch(t->dispatcher));
	fd = open(t->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd == -1)
		return -1;
	return fd_write_all(fd, "adderd's own\n", 13) == -1 ||
	    close(fd) == -1 ? -1 : 0;
}

static int
make_listener(struct selftest *t)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof sin;

	t->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (t->listener == -1 ||
	    bind(t->listener, (struct sockaddr *)&sin, sizeof sin) == -1 ||
	    listen(t->listener, 8) == -1 ||
	    getsockname(t->listener, (struct sockaddr *)&sin, &len) == -1)
		return -1;
	t->port = ntohs(sin.sin_port);
	return 0;
}

struct selftest *
selftest_new(struct dispatcher *d, struct conf *conf, char **why)
{
	struct selftest *t = xcalloc(1, sizeof *t);

	t->dispatcher = d;
	t->conf = conf_ref(conf);
	t->listener = -1;
	if (make_file(t) == 0 && make_listener(t) == 0)
		return t;
	xasprintf(why, "The self-test cannot be prepared: %s.",
	    strerror(errno));
	selftest_free(&t);
	return NULL;
}

void
selftest_free(struct selftest **tp)
{
	struct selftest *t = *tp;
	int c;

	if (t == NULL)
		return;
	*tp = NULL;
	for (c = 0; c < SELFTEST_CHECKS; c++)
		free(t->detail[c]);
	if (t->file != NULL)
		unlink(t->file);
	free(t->file);
	fd_close(&t->listener);
	conf_unref(&t->conf);
	free(t);
}

static void
note(struct selftest *t, enum selftest_check c, int held,
    const char *detail)
{
	char *why;

	/* What has failed once has failed. */
	if (t->state[c] == SELFTEST_BROKEN)
		return;
	t->state[c] = held ? SELFTEST_HELD : SELFTEST_BROKEN;
	free(t->detail[c]);
	t->detail[c] = xstrdup(detail);
	log_debug("self-test %s: %s (%s)", checks[c].name,
	    held ? "held" : "broken", detail);
	if (held || t->broken == NULL)
		return;
	xasprintf(&why, "The self-test of the jail failed: a program could "
	    "%s%s (%s: %s).", c == SELFTEST_WORK ? "not " : "",
	    checks[c].what, checks[c].name, detail);
	t->broken(why, t->arg);
	free(why);
}

static void
submit(struct selftest *t, const char *code, char *input,
    uint64_t timeout_ms, const struct job_observer *observer)
{
	struct job_spec spec = { .code = xstrdup(code),
	    .code_len = strlen(code), .stdin_data = input,
	    .stdin_len = input != NULL ? strlen(input) : 0,
	    .principal = t };

	spec.limits.timeout_ms = timeout_ms;
	spec.limits.cpu_ms = timeout_ms + 2000;
	spec.limits.memory = t->conf->limits_memory;
	spec.limits.output = 4096;
	spec.limits.scratch = t->conf->limits_scratch;
	spec.limits.files = t->conf->limits_files;
	spec.limits.pids = t->conf->limits_pids;
	spec.limits.fds = t->conf->limits_fds;
	dispatcher_submit(t->dispatcher, &spec, observer, t);
}

void
selftest_run(struct selftest *t, void (*broken)(const char *, void *),
    void *arg)
{
	t->broken = broken;
	t->arg = arg;
	dispatcher_on_warm(t->dispatcher, on_warm, t);
	run_first(t);
}

static void
run_first(struct selftest *t)
{
	char *input;

	t->first = FIRST_WAITS;
	dispatcher_hold(t->dispatcher, t);
	xasprintf(&input, "{\"file\": \"%s\", \"port\": %u, "
	    "\"pids\": [%ld, %ld]}", t->file, t->port, (long)getpid(),
	    (long)getppid());
	submit(t, selftest_code, input, 10000, &first_observer);
}

static void
on_first_started(struct job *job, void *arg)
{
	struct selftest *t = arg;

	t->first = FIRST_RUNS;
}

/* One line: name, state, detail, separated by tabs. */
static void
read_line(struct selftest *t, char *line, int spoken[SELFTEST_LIMITS])
{
	char *name = strsep(&line, "\t"), *state = strsep(&line, "\t");
	int c;

	if (state == NULL)
		return;
	for (c = 0; c < SELFTEST_LIMITS; c++)
		if (strcmp(checks[c].name, name) == 0) {
			spoken[c] = 1;
			note(t, c, strcmp(state, "held") == 0,
			    line != NULL ? line : "");
		}
}

/* What it says, up to where it came. */
static void
read_first(struct selftest *t, const struct job_result *r,
    int spoken[SELFTEST_LIMITS])
{
	char *text, *at, *line;

	text = at = xmemdupz(r->output[JOB_STDOUT].head,
	    r->output[JOB_STDOUT].head_len);
	while ((line = strsep(&at, "\n")) != NULL)
		read_line(t, line, spoken);
	free(text);
}

/* Whether all has held so far, or nobody cares. */
static int
may_go_on(const struct selftest *t)
{
	int c;

	if (strcmp(t->conf->sandbox_mode, "off") == 0)
		return 1;
	for (c = 0; c < SELFTEST_CHECKS; c++)
		if (t->state[c] == SELFTEST_BROKEN)
			return 0;
	return 1;
}

static void
release(struct selftest *t)
{
	struct dispatcher_status st;

	dispatcher_hold(t->dispatcher, NULL);
	dispatcher_status(t->dispatcher, &st);
	if (!st.warm)
		return;		/* the limits are tried behind one that is */
	t->limits = 1;
	run_limit(t, 0);
}

/* Where a check has failed the server stops, and until it has no job may
 * run. */
static void
on_first_done(struct job *job, const struct job_result *r, void *arg)
{
	struct selftest *t = arg;
	int c, spoken[SELFTEST_LIMITS] = { 0 };

	t->first = FIRST_ENDED;
	read_first(t, r, spoken);
	if (!may_go_on(t))
		return;
	/* It was killed, or lost, or the machine is too busy: no answer. */
	if (r->verdict != VERDICT_OK && ++t->tries < TRIES_MAX) {
		run_first(t);
		return;
	}
	/* What it does not speak of has not held. */
	for (c = 0; c < SELFTEST_LIMITS; c++)
		if (!spoken[c])
			note(t, c, 0, r->reason[0] != '\0' ? r->reason :
			    "the self-test did not come to it");
	if (!may_go_on(t))
		return;
	if (t->again) {
		t->again = 0;
		run_first(t);
	} else
		release(t);
}

/*
 * The zygote that serves from now on is not the one that the first part was
 * tried behind: all calls wait until it has held behind this one, too.
 */
static void
on_warm(void *arg)
{
	struct selftest *t = arg;

	if (t->limits)
		return;
	if (t->first == FIRST_RUNS)
		t->again = 1;
	else if (t->first == FIRST_ENDED)
		run_first(t);
}

static int
limit_set(const struct selftest *t, enum selftest_check c)
{
	return (c != SELFTEST_MEMORY || t->conf->limits_memory != 0) &&
	    (c != SELFTEST_SCRATCH || t->conf->limits_scratch != 0);
}

static void
run_limit(struct selftest *t, size_t i)
{
	if (i >= NLIMITS)
		return;
	if (!limit_set(t, limits[i].check)) {
		note(t, limits[i].check, 1, "no limit is set");
		run_limit(t, i + 1);
		return;
	}
	submit(t, limits[i].code, NULL, limits[i].timeout_ms,
	    &limit_observer);
}

static void
on_limit_done(struct job *job, const struct job_result *r, void *arg)
{
	struct selftest *t = arg;
	size_t i;

	for (i = 0; i < NLIMITS; i++)
		if (t->state[limits[i].check] == SELFTEST_OPEN)
			break;
	if (i == NLIMITS)
		return;
	/* A server under load says busy: that is no answer yet. */
	if (r->verdict == VERDICT_BUSY || r->verdict == VERDICT_LOST) {
		run_limit(t, i);
		return;
	}
	note(t, limits[i].check, r->verdict == limits[i].expect[0] ||
	    r->verdict == limits[i].expect[1], verdict_name(r->verdict));
	run_limit(t, i + 1);
}
