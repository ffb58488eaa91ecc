#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "dispatcher.h"
#include "http.h"
#include "http_health.h"
#include "mcp.h"
#include "mem.h"
#include "metrics.h"
#include "selftest.h"

struct http_health {
	struct dispatcher	*dispatcher;
	const struct mcp	*mcp;
	const struct selftest	*selftest;
	int			 stopping;
};

static void
reply_text(struct http_request *r, int status, const char *text)
{
	http_reply(r, status, "text/plain; charset=utf-8", text,
	    strlen(text));
}

static void
on_live(struct http_request *r, void *arg)
{
	reply_text(r, 200, "ok\n");
}

/* NULL, or why nothing should be sent here. */
static const char *
not_ready(const struct http_health *h)
{
	struct dispatcher_status st;
	enum selftest_check c;

	if (h->stopping)
		return "The server is shutting down.\n";
	for (c = 0; h->selftest != NULL && c < SELFTEST_CHECKS; c++) {
		if (selftest_state(h->selftest, c) == SELFTEST_BROKEN)
			return "The self-test of the jail has failed; "
			    "adderctl doctor says where.\n";
		if (c < SELFTEST_LIMITS &&
		    selftest_state(h->selftest, c) == SELFTEST_OPEN)
			return "The self-test of the jail still runs.\n";
	}
	dispatcher_status(h->dispatcher, &st);
	return st.ready ? NULL : "Python is still starting.\n";
}

static void
on_readiness(struct http_request *r, void *arg)
{
	struct http_health *h = arg;
	const char *why = not_ready(h);
	struct dispatcher_status st;

	dispatcher_status(h->dispatcher, &st);
	if (why != NULL)
		reply_text(r, 503, why);
	else
		reply_text(r, 200, st.warm ? "ok\n" :
		    "ok, but still warming up\n");
}

static void
on_metrics(struct http_request *r, void *arg)
{
	struct http_health *h = arg;
	struct dispatcher_status st;
	size_t len;
	char *text;

	dispatcher_status(h->dispatcher, &st);
	text = metrics_text(&st, mcp_sessions(h->mcp), &len);
	http_reply(r, 200, "text/plain; version=0.0.4; charset=utf-8", text,
	    len);
	free(text);
}

/* Who asks whether we live has no token; what is counted is not for all. */
static const struct http_route routes[] = {
	{ "/livez", HTTP_M_GET, HTTP_PUBLIC, on_live },
	{ "/readyz", HTTP_M_GET, HTTP_PUBLIC, on_readiness },
	{ "/metrics", HTTP_M_GET, 0, on_metrics }
};

struct http_health *
http_health_new(struct http *http, struct dispatcher *d,
    const struct mcp *mcp, const struct selftest *selftest)
{
	struct http_health *h = xcalloc(1, sizeof *h);
	size_t i;

	h->dispatcher = d;
	h->mcp = mcp;
	h->selftest = selftest;
	for (i = 0; i < sizeof routes / sizeof routes[0]; i++)
		http_add_route(http, &routes[i], h);
	return h;
}

void
http_health_free(struct http_health **hp)
{
	free(*hp);
	*hp = NULL;
}

void
http_health_stop(struct http_health *h)
{
	h->stopping = 1;
}
