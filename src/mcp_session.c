#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "conf.h"
#include "dispatcher.h"
#include "json.h"
#include "mcp_private.h"
#include "mem.h"
#include "run_store.h"
#include "sandboxes.h"
#include "tool.h"

struct mcp *
mcp_new(struct event_base *base, struct conf *conf, struct dispatcher *d)
{
	struct mcp *m = xcalloc(1, sizeof *m);

	m->base = base;
	m->conf = conf_ref(conf);
	m->dispatcher = d;
	TAILQ_INIT(&m->sessions);
	changed_init(m);
	resources_init(m);
	return m;
}

void
mcp_free(struct mcp **mp)
{
	struct mcp *m = *mp;

	if (m == NULL)
		return;
	*mp = NULL;
	resources_free(m);
	changed_free(m);
	conf_unref(&m->conf);
	free(m);
}

void
mcp_set_files(struct mcp *m, struct file_dir *files)
{
	resources_set_dir(m, files);
}

void
mcp_set_selftest(struct mcp *m, const struct selftest *t)
{
	m->selftest = t;
}

void
mcp_set_conf(struct mcp *m, struct conf *conf)
{
	struct conf *old = m->conf;
	json_t *was = tool_list(old), *is = tool_list(conf);

	m->conf = conf_ref(conf);
	conf_unref(&old);
	resources_set_conf(m);
	if (!json_equal(was, is))
		mcp_changed(m, CHANGED_TOOLS, NULL);
	json_decref(was);
	json_decref(is);
}

static unsigned long long connections;

static struct session *
make(struct mcp *m, const struct mcp_carrier *carrier, void *arg,
    const char *name)
{
	struct session *s = xcalloc(1, sizeof *s);

	s->mcp = m;
	s->carrier = carrier;
	s->arg = arg;
	s->name = xstrdup(name);
	s->number = ++connections;
	s->version = MCP_2025_11_25;
	s->log_level = LEVELS;
	s->status = 200;
	TAILQ_INIT(&s->calls);
	TAILQ_INIT(&s->children);
	return s;
}

struct session *
session_new(struct mcp *m, const struct mcp_carrier *carrier, void *arg,
    const char *name)
{
	struct session *s = make(m, carrier, arg, name);

	TAILQ_INSERT_TAIL(&m->sessions, s, sibling);
	m->nsessions++;
	return s;
}

struct session *
session_below(struct session *parent, int shared_ids,
    const struct mcp_carrier *carrier, void *arg)
{
	struct session *s = make(parent->mcp, carrier, arg, parent->name);

	s->parent = parent;
	s->shared_ids = shared_ids;
	s->policy = parent->policy;
	TAILQ_INSERT_TAIL(&parent->children, s, sibling);
	return s;
}

struct session *
session_root(struct session *s)
{
	return s->parent != NULL ? s->parent : s;
}

void
session_move(struct session *s, struct session *parent)
{
	TAILQ_REMOVE(&s->parent->children, s, sibling);
	s->parent = parent;
	s->policy = parent->policy;
	s->shared_ids = 1;
	TAILQ_INSERT_TAIL(&parent->children, s, sibling);
}

int
session_status(const struct session *s)
{
	return s->status;
}

int
session_initialized(const struct session *s)
{
	return s->initialized;
}

int
session_streams(const struct session *s)
{
	const struct call *c;

	TAILQ_FOREACH(c, &s->calls, entry)
		if (c->progress != NULL || c->live != NULL ||
		    c->listen != NULL)
			return 1;
	return 0;
}

int
session_resumes(const struct session *s)
{
	const struct session *root = s->parent != NULL ? s->parent : s;

	return root->initialized && root->version >= MCP_2025_11_25;
}

void
session_set_owner(struct session *s, const char *owner)
{
	snprintf(s->owner, sizeof s->owner, "%s", owner);
}

void
session_set_policy(struct session *s, int policy)
{
	s->policy = policy;
}

void
session_holder(struct session *session, char name[HOLDER_BYTES])
{
	const struct session *s = session_root(session);

	if (s->owner[0] != '\0')
		snprintf(name, HOLDER_BYTES, "%s", s->owner);
	else
		snprintf(name, HOLDER_BYTES, "connection %llu", s->number);
}

static void
end_sandboxes(struct session *s)
{
	struct sandboxes *all = dispatcher_sandboxes(s->mcp->dispatcher);
	char holder[HOLDER_BYTES];

	if (all == NULL)
		return;
	session_holder(s, holder);
	sandboxes_stop_owner(all, holder);
}

void
session_free(struct session **sp)
{
	struct session *s = *sp;
	struct call *c;

	if (s == NULL)
		return;
	*sp = NULL;
	s->carrier = NULL;
	while ((c = TAILQ_FIRST(&s->calls)) != NULL)
		call_cancel(c);
	run_store_disown(s->mcp->store, s);
	if (s->parent == NULL && s->owner[0] == '\0')
		end_sandboxes(s);
	if (s->parent != NULL)
		TAILQ_REMOVE(&s->parent->children, s, sibling);
	else {
		TAILQ_REMOVE(&s->mcp->sessions, s, sibling);
		s->mcp->nsessions--;
	}
	changed_forget(s);
	json_decref(s->client);
	free(s->name);
	free(s);
}

void
session_send(struct session *s, json_t *message)
{
	size_t len;
	char *line;

	if (s->carrier != NULL) {
		line = json_line(message, &len);
		s->carrier->send(s->arg, line, len);
		free(line);
	}
	json_decref(message);
}

void
session_hold(struct session *s, int on)
{
	struct call *c;

	s->held = on;
	TAILQ_FOREACH(c, &s->calls, entry)
		call_pause(c, on);
	if (!on)
		changed_tell(s->mcp);
}

unsigned
session_open(const struct session *s)
{
	return s->open;
}

void
session_abort(struct session *s, const char *why)
{
	struct call *c;

	while ((c = TAILQ_FIRST(&s->calls)) != NULL)
		if (c->listen != NULL)
			listen_end(c);
		else
			call_answer(c, rpc_error(c->id, RPC_INTERNAL_ERROR,
			    why, NULL));
}

void
session_ended(struct session *s)
{
	struct call *c, *next;

	for (c = TAILQ_FIRST(&s->calls); c != NULL; c = next) {
		next = TAILQ_NEXT(c, entry);
		if (c->listen != NULL)
			listen_end(c);
	}
}

struct exchange *
exchange_new(struct session *s, int batch)
{
	struct exchange *x = xcalloc(1, sizeof *x);

	x->session = s;
	if (batch)
		x->batch = json_array();
	exchange_open(x);
	return x;
}

void
exchange_open(struct exchange *x)
{
	x->open++;
	x->session->open++;
}

void
exchange_status(struct exchange *x, int status)
{
	if (x->batch == NULL)
		x->session->status = status;
}

static void
exchange_close(struct exchange *x)
{
	struct session *s = x->session;

	s->open--;
	if (--x->open == 0) {
		if (x->batch != NULL && json_array_size(x->batch) > 0)
			session_send(s, json_incref(x->batch));
		json_decref(x->batch);
		free(x);
	}
	if (s->open == 0 && s->carrier != NULL)
		s->carrier->settled(s->arg);
}

void
exchange_answer(struct exchange *x, json_t *answer)
{
	if (x->batch != NULL)
		json_array_append_new(x->batch, answer);
	else
		session_send(x->session, answer);
	exchange_close(x);
}

void
exchange_drop(struct exchange *x)
{
	exchange_close(x);
}
