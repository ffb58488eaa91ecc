#include "config.h"

#include <stdlib.h>

#include "conf.h"
#include "json.h"
#include "mcp_private.h"
#include "mem.h"
#include "run_store.h"

struct mcp *
mcp_new(struct event_base *base, struct conf *conf, struct dispatcher *d)
{
	struct mcp *m = xcalloc(1, sizeof *m);

	m->base = base;
	m->conf = conf_ref(conf);
	m->dispatcher = d;
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
	conf_unref(&m->conf);
	free(m);
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

	m->conf = conf_ref(conf);
	conf_unref(&old);
	resources_set_conf(m);
}

struct session *
session_new(struct mcp *m, const struct mcp_carrier *carrier, void *arg,
    const char *name)
{
	struct session *s = xcalloc(1, sizeof *s);

	s->mcp = m;
	s->carrier = carrier;
	s->arg = arg;
	s->name = xstrdup(name);
	s->version = MCP_2025_11_25;
	s->log_level = LEVELS;
	s->status = 200;
	TAILQ_INIT(&s->calls);
	TAILQ_INIT(&s->children);
	m->nsessions++;
	return s;
}

struct session *
session_below(struct session *parent, int shared_ids,
    const struct mcp_carrier *carrier, void *arg)
{
	struct session *s = session_new(parent->mcp, carrier, arg,
	    parent->name);

	s->parent = parent;
	s->shared_ids = shared_ids;
	s->policy = parent->policy;
	TAILQ_INSERT_TAIL(&parent->children, s, sibling);
	s->mcp->nsessions--;
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
		if (c->progress != NULL || c->live != NULL)
			return 1;
	return 0;
}

void
session_set_policy(struct session *s, int policy)
{
	s->policy = policy;
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
	if (s->parent != NULL)
		TAILQ_REMOVE(&s->parent->children, s, sibling);
	else
		s->mcp->nsessions--;
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
		call_answer(c, rpc_error(c->id, RPC_INTERNAL_ERROR, why,
		    NULL));
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
