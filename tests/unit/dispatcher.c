/*
 * Dispatcher, pool, supervisor, keeper and worker records against a zygote
 * that speaks frames without Python.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include <event2/event.h>

#include "conf.h"
#include "dispatcher.h"
#include "fdutil.h"
#include "keeper_guard.h"
#include "log.h"
#include "mem.h"
#include "unit.h"

/* Far beyond what any case takes: a loop that never ends fails. */
#define GUARD_SECONDS	30
#define RESULTS_MAX	512

static char zygote_path[4096];
static char scratch_path[64];

struct seen {
	enum verdict	verdict;
	int		exit_code;
	int		signal;
	char		out[256];
	char		err[256];
	char		value[64];
	char		reason[512];
	uint64_t	out_total;
	size_t		nimages;
	long		tag;
};

struct call {
	struct fixture	*fx;
	long		 tag;
};

struct fixture {
	struct event_base	*base;
	struct dispatcher	*d;
	struct conf		*conf;
	struct seen		 seen[RESULTS_MAX];
	size_t			 nseen;
	size_t			 want;
	struct call		 calls[RESULTS_MAX];
	size_t			 ncalls;
};

static void
copy(char *to, size_t size, const char *from, size_t len)
{
	if (len >= size)
		len = size - 1;
	memcpy(to, from, len);
	to[len] = '\0';
}

static void
on_done(struct job *job, const struct job_result *r, void *arg)
{
	struct call *c = arg;
	struct fixture *fx = c->fx;
	struct seen *s = &fx->seen[fx->nseen++];

	memset(s, 0, sizeof *s);
	s->verdict = r->verdict;
	s->exit_code = r->exit_code;
	s->signal = r->signal;
	s->tag = c->tag;
	s->nimages = r->nimages;
	s->out_total = r->output[JOB_STDOUT].total;
	copy(s->out, sizeof s->out, r->output[JOB_STDOUT].head,
	    r->output[JOB_STDOUT].head_len);
	copy(s->err, sizeof s->err, r->output[JOB_STDERR].head,
	    r->output[JOB_STDERR].head_len);
	if (r->value != NULL)
		copy(s->value, sizeof s->value, r->value, r->value_len);
	copy(s->reason, sizeof s->reason, r->reason, strlen(r->reason));
	if (fx->nseen >= fx->want)
		event_base_loopbreak(fx->base);
}

static const struct job_observer observer = { NULL, NULL, on_done,
    NULL, NULL };

static void
on_guard(evutil_socket_t fd, short what, void *arg)
{
	fprintf(stderr, "the loop did not end in %d s\n", GUARD_SECONDS);
	abort();
}

static struct fixture *
begin(const char *const *extra)
{
	const char *overrides[16];
	struct fixture *fx = xcalloc(1, sizeof *fx);
	char *path, *scratch, *why = NULL;
	size_t n = 0;

	xasprintf(&path, "zygote.path=%s", zygote_path);
	strcpy(scratch_path, "/tmp/adder-unit-XXXXXX");
	if (mkdtemp(scratch_path) == NULL)
		fail_msg("%s: %s", scratch_path, strerror(errno));
	xasprintf(&scratch, "scratch.dir=%s", scratch_path);
	overrides[n++] = path;
	overrides[n++] = scratch;
	overrides[n++] = "pool.warm=2";
	overrides[n++] = "deps.dir=";
	overrides[n++] = "limits.timeout=20s";
	for (; extra != NULL && *extra != NULL; extra++)
		overrides[n++] = *extra;
	overrides[n] = NULL;
	fx->conf = conf_load(NULL, overrides, &why);
	if (fx->conf == NULL)
		fail_msg("%s", why);
	fx->base = event_base_new();
	fx->d = dispatcher_new(fx->base, fx->conf, &why);
	if (fx->d == NULL)
		fail_msg("%s", why);
	free(path);
	free(scratch);
	return fx;
}

static void
end(struct fixture *fx)
{
	dispatcher_free(&fx->d);
	conf_unref(&fx->conf);
	event_base_free(fx->base);
	free(fx);
	/* Nothing is left in it. */
	assert_int_equal(rmdir(scratch_path), 0);
}

static struct job *
submit(struct fixture *fx, const char *code, uint64_t timeout_ms,
    const void *principal, long tag)
{
	struct job_spec spec = { 0 };
	struct call *c = &fx->calls[fx->ncalls++ % RESULTS_MAX];

	c->fx = fx;
	c->tag = tag;
	spec.code = xstrdup(code);
	spec.code_len = strlen(code);
	spec.limits.timeout_ms = timeout_ms;
	spec.limits.output = 4096;
	spec.principal = principal;
	return dispatcher_submit(fx->d, &spec, &observer, c);
}

/* Runs the loop until n more results are in. */
static void
run(struct fixture *fx, size_t n)
{
	struct timeval tv = { GUARD_SECONDS, 0 };
	struct event *guard = event_new(fx->base, -1, 0, on_guard, NULL);

	fx->want = fx->nseen + n;
	event_add(guard, &tv);
	event_base_dispatch(fx->base);
	event_free(guard);
	assert_int_equal(fx->nseen, fx->want);
}

/* Runs one program to its end and returns what came of it. */
static const struct seen *
run_code(struct fixture *fx, const char *code, uint64_t timeout_ms)
{
	submit(fx, code, timeout_ms, NULL, 0);
	run(fx, 1);
	return &fx->seen[fx->nseen - 1];
}

/* Whatever happened before, the server goes on. */
static void
expect_alive(struct fixture *fx)
{
	const struct seen *s = run_code(fx, "out alive\ndone 0", 20000);

	assert_int_equal(s->verdict, VERDICT_OK);
	assert_string_equal(s->out, "alive");
}

static const struct {
	const char	*name;
	const char	*code;
	enum verdict	 verdict;
	int		 exit_code;
	int		 signal;
	const char	*out;
} endings[] = {
	{ "plain", "out hello\ndone 0", VERDICT_OK, 0, 0, "hello" },
	{ "status", "out x\ndone 3", VERDICT_EXIT, 3, 0, "x" },
	{ "exception", "raise ValueError\ndone 1", VERDICT_EXCEPTION,
	  1, 0, "" },
	{ "memory error", "raise MemoryError\ndone 1", VERDICT_MEMORY,
	  1, 0, "" },
	{ "_exit(0)", "out a\nexit 0", VERDICT_OK, 0, 0, "a" },
	{ "_exit(7)", "out a\nexit 7", VERDICT_EXIT, 7, 0, "a" },
	{ "segfault", "out a\nsignal 11", VERDICT_SIGNAL, -1, 11,
	  "a" },
	{ "kill -9", "signal 9", VERDICT_SIGNAL, -1, 9, "" },
	{ "cpu", "signal 24", VERDICT_CPU, -1, 24, "" },
	{ "denied", "signal 31", VERDICT_DENIED, -1, 31, "" },
	{ "hang up, then exit", "close\nout b\nexit 5", VERDICT_EXIT,
	  5, 0, "b" },
	{ "goes on after done", "out a\ndone 0\nout b\nhang",
	  VERDICT_OK, 0, 0, NULL },
	{ "frames after done", "done 0\nvalue x\nheader 9 9 9",
	  VERDICT_OK, 0, 0, "" },
	{ "unknown type", "out a\nheader 1 999 0\nexit 6",
	  VERDICT_EXIT, 6, 0, "a" },
	{ "too long", "header 4294967295 56 0\nexit 6",
	  VERDICT_EXIT, 6, 0, "" },
	{ "wrong direction", "header 4 40 0\nexit 6",
	  VERDICT_EXIT, 6, 0, "" },
	{ "control frame", "header 4 25 0\nexit 6",
	  VERDICT_EXIT, 6, 0, "" },
	{ "reserved bytes", "header 4 56 1\nexit 6",
	  VERDICT_EXIT, 6, 0, "" },
	{ "cut short", "header 100 52 0\nexit 4", VERDICT_EXIT, 4, 0,
	  "" },
	{ "payload is noise", "header 200 53 0\nrandom 1\nexit 6",
	  VERDICT_EXIT, 6, 0, "" },
	{ "noise", "random 7\nexit 6",
	  VERDICT_EXIT, 6, 0, "" },
	{ "parked twice", "header 0 50 0\nexit 6",
	  VERDICT_EXIT, 6, 0, "" },
};

static void
test_endings(void **state)
{
	struct fixture *fx = begin(NULL);
	size_t i;

	for (i = 0; i < sizeof endings / sizeof endings[0]; i++) {
		const struct seen *s = run_code(fx, endings[i].code, 20000);

		if (s->verdict != endings[i].verdict ||
		    s->exit_code != endings[i].exit_code ||
		    s->signal != endings[i].signal)
			fail_msg("%s: %s, exit code %d, signal %d",
			    endings[i].name, verdict_name(s->verdict),
			    s->exit_code, s->signal);
		if (endings[i].out != NULL)
			assert_string_equal(s->out, endings[i].out);
		assert_true((s->reason[0] == '\0') ==
		    (s->verdict == VERDICT_OK));
	}
	expect_alive(fx);
	end(fx);
}

static void
test_everything_comes_back(void **state)
{
	struct fixture *fx = begin(NULL);
	const struct seen *s = run_code(fx, "out o\nerr e\nvalue 42\n"
	    "image 1\nimage 2\ndone 0", 20000);

	assert_string_equal(s->out, "o");
	assert_string_equal(s->err, "e");
	assert_string_equal(s->value, "42");
	assert_int_equal(s->nimages, 2);
	end(fx);
}

static void
test_images_bounded(void **state)
{
	const char *extra[] = { "result.files=3", NULL };
	struct fixture *fx = begin(extra);
	const struct seen *s = run_code(fx, "image 1\nimage 2\n"
	    "image 3\nimage 4\nimage 5\ndone 0", 20000);

	assert_int_equal(s->verdict, VERDICT_OK);
	assert_int_equal(s->nimages, 3);
	end(fx);
}

static void
test_deadline(void **state)
{
	struct fixture *fx = begin(NULL);
	const struct seen *s = run_code(fx, "out so far\nhang", 50);

	assert_int_equal(s->verdict, VERDICT_TIMEOUT);
	assert_string_equal(s->out, "so far");
	assert_non_null(strstr(s->reason, "0.05 s"));
	/* Before it has begun, too. */
	s = run_code(fx, "hang", 50);
	assert_int_equal(s->verdict, VERDICT_TIMEOUT);
	expect_alive(fx);
	end(fx);
}

static void
test_flood(void **state)
{
	const char *extra[] = { "limits.output_kill=1m", NULL };
	struct fixture *fx = begin(extra);
	const struct seen *s;

	s = run_code(fx, "flood 500000\ndone 0", 20000);
	assert_int_equal(s->verdict, VERDICT_OK);
	assert_true(s->out_total >= 500000);
	s = run_code(fx, "flood 1000000000000\ndone 0", 20000);
	assert_int_equal(s->verdict, VERDICT_OUTPUT);
	assert_non_null(strstr(s->reason, "1 MiB"));
	expect_alive(fx);
	end(fx);
}

static void
test_cancel(void **state)
{
	const char *extra[] = { "pool.max=1", NULL };
	struct fixture *fx = begin(extra);
	struct job *running, *queued;
	struct dispatcher_status st;

	running = submit(fx, "hang", 20000, NULL, 1);
	queued = submit(fx, "done 0", 20000, NULL, 2);
	/* Until the first one runs. */
	do {
		event_base_loop(fx->base, EVLOOP_ONCE);
		dispatcher_status(fx->d, &st);
	} while (st.workers_busy == 0);
	dispatcher_cancel(fx->d, queued);
	dispatcher_cancel(fx->d, running);
	assert_int_equal(dispatcher_jobs(fx->d), 0);
	expect_alive(fx);
	assert_int_equal(fx->nseen, 1);
	end(fx);
}

static void
test_busy(void **state)
{
	const char *extra[] = { "pool.max=1", "queue.max=3", NULL };
	struct fixture *fx = begin(extra);
	size_t i, busy = 0;

	for (i = 0; i < 10; i++)
		submit(fx, "done 0", 20000, NULL, i);
	assert_int_equal(fx->nseen, 0);
	run(fx, 10);
	for (i = 0; i < 10; i++)
		if (fx->seen[i].verdict == VERDICT_BUSY) {
			busy++;
			assert_non_null(strstr(fx->seen[i].reason, "again"));
		}
	assert_int_equal(busy, 7);
	end(fx);
}

static void
test_queue_timeout(void **state)
{
	const char *extra[] = { "pool.max=1", "queue.timeout=200ms", NULL };
	struct fixture *fx = begin(extra);
	struct dispatcher_status st;

	/* So that the first one does not wait. */
	do {
		event_base_loop(fx->base, EVLOOP_ONCE);
		dispatcher_status(fx->d, &st);
	} while (st.workers_idle != 2);
	submit(fx, "hang", 1000, NULL, 1);
	submit(fx, "done 0", 20000, NULL, 2);
	run(fx, 2);
	assert_int_equal(fx->seen[0].verdict, VERDICT_BUSY);
	assert_int_equal(fx->seen[0].tag, 2);
	assert_int_equal(fx->seen[1].verdict, VERDICT_TIMEOUT);
	end(fx);
}

static void
test_fairness(void **state)
{
	const char *extra[] = { "pool.max=1", NULL };
	struct fixture *fx = begin(extra);
	int greedy, modest;
	size_t i;

	for (i = 0; i < 20; i++)
		submit(fx, "done 0", 20000, &greedy, 1);
	submit(fx, "done 0", 20000, &modest, 2);
	run(fx, 21);
	for (i = 0; i < 21; i++)
		if (fx->seen[i].tag == 2)
			break;
	assert_uint_in_range(i, 0, 2);
	end(fx);
}

static void
test_given_again(void **state)
{
	struct fixture *fx = begin(NULL);
	char path[] = "/tmp/adder-unit-XXXXXX", *code;
	const struct seen *s;

	close(mkstemp(path));
	unlink(path);
	xasprintf(&code, "die-once %s\nout second\ndone 0", path);
	s = run_code(fx, code, 20000);
	assert_int_equal(s->verdict, VERDICT_OK);
	assert_string_equal(s->out, "second");
	unlink(path);
	free(code);
	/* But not for ever, and never once it has begun. */
	s = run_code(fx, "exit 1", 20000);
	assert_int_equal(s->verdict, VERDICT_EXIT);
	end(fx);
}

static void
test_zygote_dies(void **state)
{
	const char *extra[] = { "pool.max=2", NULL };
	struct fixture *fx = begin(extra);
	struct dispatcher_status st;
	size_t i;

	submit(fx, "kill-zygote\ndone 0", 20000, NULL, 0);
	for (i = 0; i < 20; i++)
		submit(fx, "done 0", 20000, NULL, 1);
	run(fx, 21);
	for (i = 0; i < 21; i++)
		assert_int_equal(fx->seen[i].verdict, VERDICT_OK);
	dispatcher_status(fx->d, &st);
	assert_true(st.zygote_restarts >= 1);
	end(fx);
}

static void
test_keeper_dies(void **state)
{
	const char *extra[] = { "pool.max=1", NULL };
	struct fixture *fx = begin(extra);

	submit(fx, "kill-keeper\nhang", 20000, NULL, 0);
	submit(fx, "out kept\ndone 0", 20000, NULL, 1);
	run(fx, 2);
	assert_int_equal(fx->seen[0].verdict, VERDICT_LOST);
	assert_int_equal(fx->seen[1].verdict, VERDICT_OK);
	assert_string_equal(fx->seen[1].out, "kept");
	end(fx);
}

static void
test_faults_at_start(void **state)
{
	static const char *const faults[] = { "python.modules=die_early",
	    "python.modules=refuse_some" };
	size_t i;

	for (i = 0; i < 2; i++) {
		const char *extra[] = { faults[i], NULL };
		struct fixture *fx = begin(extra);

		expect_alive(fx);
		end(fx);
	}
}

static void
test_reload(void **state)
{
	struct fixture *fx = begin(NULL);
	struct dispatcher_status st;
	uint64_t old;

	expect_alive(fx);
	dispatcher_status(fx->d, &st);
	old = st.generation;
	submit(fx, "out old\nhang", 300, NULL, 1);
	dispatcher_reload(fx->d, fx->conf);
	run(fx, 1);
	assert_int_equal(fx->seen[1].verdict, VERDICT_TIMEOUT);
	do {
		expect_alive(fx);
		dispatcher_status(fx->d, &st);
	} while (st.generation == old);
	expect_alive(fx);
	end(fx);
}

static void
test_nothing_leaks(void **state)
{
	struct fixture *fx = begin(NULL);
	struct dispatcher_status st;
	int before = 0, i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < 100; i++)
			run_code(fx, i % 10 == 0 ? "signal 11" :
			    "orphan session\nout x\ndone 0", 20000);
		/* Until the pool is at rest again. */
		do {
			event_base_loop(fx->base, EVLOOP_ONCE);
			dispatcher_status(fx->d, &st);
		} while (st.workers_idle != 2 || st.workers_starting != 0);
		if (round == 0)
			before = fd_count();
		fx->nseen = 0;
	}
	assert_uint_in_range(fd_count(), 0, before + 3);
	end(fx);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_endings),
		cmocka_unit_test(test_everything_comes_back),
		cmocka_unit_test(test_images_bounded),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_queue_timeout),
		cmocka_unit_test(test_fairness),
		cmocka_unit_test(test_given_again),
		cmocka_unit_test(test_zygote_dies),
		cmocka_unit_test(test_keeper_dies),
		cmocka_unit_test(test_faults_at_start),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_nothing_leaks),
	};
	const char *build = getenv("ADDER_BUILD");

	if (argc > 1 && strcmp(argv[1], "--keeper") == 0)
		return keeper_main(0);
	snprintf(zygote_path, sizeof zygote_path, "%s/tests/unit/fake_zygote",
	    build != NULL ? build : ".");
	log_init("dispatcher.t", LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
