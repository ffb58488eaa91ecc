#include "config.h"

#include <string.h>

#include "conf.h"
#include "json.h"
#include "log.h"
#include "mcp_private.h"
#include "units.h"

static const char *const versions[MCP_VERSIONS] = {
	[MCP_2024_11_05] = "2024-11-05",
	[MCP_2025_03_26] = "2025-03-26",
	[MCP_2025_06_18] = "2025-06-18",
	[MCP_2025_11_25] = "2025-11-25"
};

const char *const *
mcp_legacy_versions(void)
{
	static const char *list[MCP_VERSIONS + 1];
	size_t i;

	for (i = 0; i < MCP_VERSIONS; i++)
		list[i] = versions[MCP_VERSIONS - 1 - i];
	return list;
}

/* The version asked for, or our latest: whether that will do is for the
 * client to decide, so this is no error. */
static enum mcp_version
negotiate(const char *asked)
{
	size_t i;

	for (i = 0; i < MCP_VERSIONS; i++)
		if (strcmp(versions[i], asked) == 0)
			return i;
	return MCP_2025_11_25;
}

static const char	always_fresh[] =
    "Every call is a fresh process in an empty directory: no variables or "
    "files are kept between calls, so send complete programs.";
static const char	fresh_or_session[] =
    "Every call is a fresh process in an empty directory: no variables or "
    "files are kept between calls, so send complete programs, or make a "
    "session with sandbox_initialize and give its session_id.";

/* Hosts put this into a model's prompt; some cut it at 2048 characters. */
json_t *
mcp_instructions(const struct conf *c)
{
	char timeout[32], most[32], output[32];

	duration_text(c->limits_timeout, timeout, sizeof timeout);
	duration_text(c->limits_timeout_max, most, sizeof most);
	size_text(c->limits_output, output, sizeof output);
	return json_textf("adder runs Python programs.  Use run_python to "
	    "compute, simulate, solve equations, analyse data or draw "
	    "instead of working it out in your head.  NumPy, SciPy, SymPy, "
	    "pandas and Matplotlib are imported ahead, so importing them "
	    "costs nothing; list_packages names all packages.  Print the "
	    "results that you need, with labels.  %s  Open Matplotlib "
	    "figures and files written to the current directory come back "
	    "with the answer.  There is no network.  A program is stopped "
	    "after %s unless timeout asks for more (at most %s); output "
	    "beyond %s is cut in the middle.  If a program fails, the "
	    "answer has the traceback and a sentence on the cause: repair "
	    "the program and call again.", c->sessions_max > 0 ?
	    fresh_or_session : always_fresh, timeout, most, output);
}

json_t *
mcp_capabilities(void)
{
	return json_pack("{s:{s:b}, s:{}, s:{s:b, s:b}, s:{}, s:{}}",
	    "tools", "listChanged", 1, "logging",
	    "resources", "listChanged", 1, "subscribe", 1,
	    "prompts", "completions");
}

json_t *
mcp_server_info(void)
{
	return json_pack("{s:s, s:s, s:s}", "name", "adder", "title",
	    "adder: run Python", "version", PACKAGE_VERSION);
}

/* Over HTTP a handshake makes the session that it is for. */
static int
make_session(struct request *r)
{
	struct session *s = r->session, *parent;

	if (s->headers == NULL || s->carrier->handshake == NULL)
		return 0;
	parent = s->carrier->handshake(s->arg);
	if (parent != NULL) {
		session_move(s, parent);
		return 0;
	}
	exchange_status(r->exchange, 400);
	mcp_fail(r, RPC_INVALID_REQUEST, NULL, "This session has had its "
	    "initialize, or as many sessions as may be kept are in use "
	    "(http.sessions).");
	return -1;
}

json_t *
mcp_initialize(struct request *r)
{
	struct session *s;
	const char *asked = json_string_value(json_object_get(r->params,
	    "protocolVersion"));
	const char *client = json_string_value(json_object_get(
	    json_object_get(r->params, "clientInfo"), "name"));

	if (asked == NULL)
		return mcp_wrong(r, r->params, "protocolVersion", "a string "
		    "such as \"2025-11-25\"");
	if (make_session(r) == -1)
		return NULL;
	s = session_root(r->session);
	s->version = negotiate(asked);
	s->initialized = 1;
	/* Nobody else asks, and a client may say a lot. */
	if (s->mcp->fixtures != NULL) {
		json_decref(s->client);
		s->client = json_incref(json_object_get(r->params,
		    "capabilities"));
	}
	log_debug("%s is %s, version %s", s->name,
	    client != NULL ? client : "a client without a name",
	    versions[s->version]);
	return json_pack("{s:s, s:o, s:o, s:o}",
	    "protocolVersion", versions[s->version],
	    "capabilities", mcp_capabilities(),
	    "serverInfo", mcp_server_info(),
	    "instructions", mcp_instructions(s->mcp->conf));
}
