#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "conf.h"
#include "dispatcher.h"
#include "http.h"
#include "http_run.h"
#include "http_run_private.h"
#include "http_sse.h"
#include "json.h"
#include "json_repair.h"
#include "mem.h"
#include "policy_name.h"
#include "run_answer.h"
#include "tool.h"
#include "utf8.h"

struct run_principal {
	TAILQ_ENTRY(run_principal) entry;
	char		*name;
};

static const void *
principal_of(struct http_run *h, const char *name)
{
	struct run_principal *p;

	TAILQ_FOREACH(p, &h->principals, entry)
		if (strcmp(p->name, name) == 0)
			return p;
	p = xcalloc(1, sizeof *p);
	p->name = xstrdup(name);
	TAILQ_INSERT_TAIL(&h->principals, p, entry);
	return p;
}

static void
run_free(struct run *run)
{
	if (run->merged != NULL)
		fclose(run->merged);
	free(run->merged_text);
	free(run->note);
	free(run);
}

static void
reply_json(struct http_request *r, int status, json_t *body)
{
	size_t len;
	char *line = json_line(body, &len);

	http_reply(r, status, "application/json", line, len);
	free(line);
	json_decref(body);
}

/* One event; takes the data. */
static void
send_event(struct run *run, const char *name, json_t *data)
{
	size_t len;
	char *line = json_line(data, &len);

	json_decref(data);
	http_sse_send(run->request, name, line, len);
	free(line);
}

static void
send_output(struct run *run, enum job_stream stream, const char *data,
    size_t len)
{
	size_t rest = run->rest_len[stream], whole;
	char *all = xmalloc(rest + len + 1);

	memcpy(all, run->rest[stream], rest);
	memcpy(all + rest, data, len);
	len += rest;
	whole = utf8_whole_end(all, len);
	run->rest_len[stream] = len - whole;
	memcpy(run->rest[stream], all + whole, len - whole);
	if (whole > 0)
		send_event(run, stream == JOB_STDOUT ? "stdout" : "stderr",
		    json_pack("{s:o}", "text", json_text(all, whole)));
	free(all);
}

static void
on_output(struct job *job, enum job_stream stream, const char *data,
    size_t len, void *arg)
{
	struct run *run = arg;

	run->sent[stream] += len;
	if (run->form == RUN_EVENTS)
		send_output(run, stream, data, len);
	else if (run->merged != NULL)
		fwrite(data, 1, len, run->merged);
}

static void
on_file(struct job *job, const struct job_file *f, int is_image, void *arg)
{
	struct run *run = arg;

	if (run->form == RUN_EVENTS)
		send_event(run, is_image ? "image" : "file",
		    run_answer_file(f));
}

/* What of the output was no event: only the first part is sent. */
static void
add_unsent(struct run *run, const struct job_result *r, json_t *o)
{
	static const char *const names[JOB_STREAMS] = {
		[JOB_STDOUT] = "stdout_unsent", [JOB_STDERR] = "stderr_unsent"
	};
	enum job_stream s;

	for (s = 0; s < JOB_STREAMS; s++)
		if (r->output[s].total > run->sent[s])
			json_object_set_new(o, names[s], json_integer(
			    r->output[s].total - run->sent[s]));
}

static void
finish_events(struct run *run, const struct job_result *r)
{
	json_t *result = run_answer(r, run->note, 1);
	enum job_stream s;

	/* A character that never became whole. */
	for (s = 0; s < JOB_STREAMS; s++)
		if (run->rest_len[s] > 0)
			send_event(run, s == JOB_STDOUT ? "stdout" : "stderr",
			    json_pack("{s:o}", "text", json_text(run->rest[s],
			    run->rest_len[s])));
	add_unsent(run, r, result);
	send_event(run, "result", result);
	http_stream_end(run->request);
}

static void
finish_eval(struct run *run, const struct job_result *r)
{
	fflush(run->merged);
	reply_json(run->request, 200, run_answer_eval(r, run->merged_text,
	    run->merged_len));
}

static void
on_done(struct job *job, const struct job_result *r, void *arg)
{
	struct run *run = arg;

	http_watch(run->request, NULL, NULL);
	if (run->form == RUN_EVENTS)
		finish_events(run, r);
	else if (r->verdict == VERDICT_BUSY) {
		http_set_header(run->request, "Retry-After", "1");
		http_fail(run->request, 503, "%s", r->reason);
	} else if (run->form == RUN_EVAL)
		finish_eval(run, r);
	else
		reply_json(run->request, 200, run_answer(r, run->note, 0));
	run_free(run);
}

static const struct job_observer observer = {
	NULL, on_output, on_done, on_file, NULL
};

static void
on_gone(struct http_request *r, void *arg)
{
	struct run *run = arg;

	dispatcher_cancel(run->owner->dispatcher, run->job);
	run_free(run);
}

static void
on_full(struct http_request *r, int on, void *arg)
{
	struct run *run = arg;

	dispatcher_pause(run->owner->dispatcher, run->job, on);
}

static void
on_stop(struct http_request *r, void *arg)
{
	static const char why[] = "The server is shutting down.";
	struct run *run = arg;

	dispatcher_cancel(run->owner->dispatcher, run->job);
	http_watch(r, NULL, NULL);
	if (run->form == RUN_EVENTS) {
		send_event(run, "result", json_pack("{s:{s:s, s:s}}", "error",
		    "verdict", "cancelled", "reason", why));
		http_stream_end(r);
	} else
		http_fail(r, 503, "%s", why);
	run_free(run);
}

static const struct http_watcher watcher = { on_gone, on_full, on_stop };

void
run_prepare(struct http_run *h, struct http_request *r, json_t *args,
    struct tool_call *t)
{
	const char *name = h->conf->listen_http_policy;

	memset(t, 0, sizeof *t);
	t->conf = h->conf;
	t->dispatcher = h->dispatcher;
	t->args = args;
	t->policy = POLICY_ISOLATED;
	(void)policy_parse(name[0] != '\0' ? name : h->conf->policy,
	    &t->policy);
}

void
run_start(struct http_run *h, struct http_request *r, struct tool_call *t,
    enum run_form form)
{
	struct run *run = xcalloc(1, sizeof *run);

	run->owner = h;
	run->request = r;
	run->form = form;
	run->note = t->note;
	if (form == RUN_EVAL)
		run->merged = open_memstream(&run->merged_text,
		    &run->merged_len);
	if (form == RUN_EVENTS)
		http_sse_start(r);
	http_watch(r, &watcher, run);
	t->spec.live = form == RUN_EVENTS;
	t->spec.principal = principal_of(h, http_principal(r));
	t->spec.keep = 1;
	if (http_principal(r)[0] != '\0')
		snprintf(t->spec.owner, sizeof t->spec.owner, "token %s",
		    http_principal(r));
	run->job = dispatcher_submit(h->dispatcher, &t->spec, &observer,
	    run);
}

/* The arguments in a JSON body; NULL after an answer. */
static json_t *
json_arguments(struct http_request *r, const char *body, size_t len)
{
	json_error_t error;
	json_t *args = json_load(body, len, JSON_REJECT_DUPLICATES |
	    JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);

	if (args == NULL)
		http_fail(r, 400, "The body is no JSON: %s, line %d.",
		    error.text, error.line);
	else if (!json_is_object(args)) {
		http_fail(r, 400, "The body must be a JSON object such as "
		    "{\"code\": \"print(1)\"}, not %s.",
		    json_type_name(args));
		json_decref(args);
		args = NULL;
	}
	return args;
}

/* The arguments of a program as it is; its timeout is in the query. */
static json_t *
text_arguments(struct http_request *r, const char *body, size_t len)
{
	const char *query = http_query(r);
	json_t *args;

	if (!utf8_valid(body, len)) {
		http_fail(r, 400, "The program is not UTF-8 text.");
		return NULL;
	}
	args = json_pack("{s:o}", "code", json_text(body, len));
	if (query[0] != '\0')
		json_object_set_new(args, "timeout", json_string(query + 8));
	return args;
}

static int
wants_events(const struct http_request *r)
{
	const char *accept = http_header(r, "Accept");

	return accept != NULL && strcasestr(accept, "text/event-stream") !=
	    NULL;
}

static void
answer_refusal(struct http_request *r, json_t *result)
{
	http_fail(r, 400, "%s", json_string_value(json_object_get(
	    json_array_get(json_object_get(result, "content"), 0), "text")));
	json_decref(result);
}

static void
run_checked(struct http_run *h, struct http_request *r, json_t *args)
{
	struct tool_call t;

	run_prepare(h, r, args, &t);
	if (tool_run_python.call(&t) == TOOL_JOB)
		run_start(h, r, &t, wants_events(r) ? RUN_EVENTS : RUN_JSON);
	else {
		free(t.note);
		answer_refusal(r, t.result);
	}
}

/* What is in the query is never passed over in silence; -1 after an answer. */
static int
check_query(struct http_request *r, int json)
{
	const char *query = http_query(r);

	if (query[0] == '\0' || (!json && strncmp(query, "timeout=", 8) == 0))
		return 0;
	http_fail(r, 400, "The query is \"%.60s\", but %s.", query, json ?
	    "all arguments belong into the JSON body" : "only "
	    "timeout=SECONDS can be there; send other arguments as "
	    "application/json");
	return -1;
}

static void
on_run(struct http_request *r, void *arg)
{
	int json = http_content_is(r, "application/json");
	json_t *args, *checked;
	const char *body;
	char *why;
	size_t len;

	if (check_query(r, json) == -1)
		return;
	body = http_body(r, &len);
	if (json)
		args = json_arguments(r, body, len);
	else if (http_content_is(r, "text/x-python"))
		args = text_arguments(r, body, len);
	else {
		http_fail(r, 415, "Send a program as Content-Type "
		    "text/x-python, or as application/json: {\"code\": "
		    "\"print(1)\"}.");
		return;
	}
	if (args == NULL)
		return;
	checked = tool_check(&tool_run_python, args, &why);
	json_decref(args);
	if (checked == NULL) {
		http_fail(r, 400, "%s", why);
		free(why);
		return;
	}
	run_checked(arg, r, checked);
	json_decref(checked);
}

static const struct http_route routes[] = {
	{ "/run", HTTP_M_POST, 0, on_run },
	{ "/eval", HTTP_M_POST, 0, run_on_eval }
};

struct http_run *
http_run_new(struct http *http, struct conf *conf, struct dispatcher *d)
{
	struct http_run *h = xcalloc(1, sizeof *h);
	size_t i;

	h->conf = conf_ref(conf);
	h->dispatcher = d;
	TAILQ_INIT(&h->principals);
	for (i = 0; i < sizeof routes / sizeof routes[0]; i++)
		http_add_route(http, &routes[i], h);
	return h;
}

void
http_run_free(struct http_run **hp)
{
	struct http_run *h = *hp;
	struct run_principal *p;

	if (h == NULL)
		return;
	*hp = NULL;
	while ((p = TAILQ_FIRST(&h->principals)) != NULL) {
		TAILQ_REMOVE(&h->principals, p, entry);
		free(p->name);
		free(p);
	}
	conf_unref(&h->conf);
	free(h);
}

void
http_run_set_conf(struct http_run *h, struct conf *conf)
{
	struct conf *old = h->conf;

	h->conf = conf_ref(conf);
	conf_unref(&old);
}
