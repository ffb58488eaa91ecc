/* What a peer on a stream says, line by line, to a server whose programs are
 * run by nobody.  Whatever it is, the answers are messages. */
#include "config.h"

#include <string.h>
#include <sys/time.h>

#include <event2/event.h>

#include "conf.h"
#include "dispatcher.h"
#include "fake_dispatcher.h"
#include "fuzz.h"
#include "mcp.h"
#include "mem.h"
#include "peer.h"
#include "rpc_id_scan.h"

/* Turns of the loop after each line; a job of the fake takes a few. */
#define TURNS	4

static void
on_send(void *arg, const char *text, size_t len)
{
	fuzz_check_message(text, len);
}

static void
on_settled(void *arg)
{
}

static const struct mcp_carrier carrier = { on_send, on_settled, NULL, NULL };

static void
turn(struct event_base *base)
{
	int i;

	for (i = 0; i < TURNS; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

static void
say_lines(struct event_base *base, struct session *s, const char *text,
    size_t len)
{
	const char *end;
	size_t n;

	while (len > 0) {
		end = memchr(text, '\n', len);
		n = end == NULL ? len : (size_t)(end - text);
		if (n > 0)
			session_receive(s, text, n);
		turn(base);
		n += end != NULL;
		text += n;
		len -= n;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *overrides[] = { "python.env=system",
	    "compat.tools=on", "result.structured=on", NULL };
	static struct conf *conf;
	struct event_base *base = event_base_new();
	struct dispatcher *d;
	struct session *s;
	struct rpc_id_scan scan = { 0 };
	struct mcp *mcp;
	char *why;

	if (conf == NULL)
		conf = fuzz_conf(overrides);
	d = dispatcher_new(base, conf, &why);
	mcp = mcp_new(base, conf, d);
	s = session_new(mcp, &carrier, NULL, "peer");
	say_lines(base, s, (const char *)data, len);
	session_hold(s, 1);
	turn(base);
	session_hold(s, 0);
	rpc_id_scan(&scan, (const char *)data, len);
	session_overlong(s, len, len, &scan);
	session_abort(s, "The server is shutting down.");
	FUZZ_CHECK(session_open(s) == 0);
	session_free(&s);
	FUZZ_CHECK(dispatcher_jobs(d) == 0);
	mcp_free(&mcp);
	dispatcher_free(&d);
	event_base_free(base);
	return 0;
}
