#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "json.h"
#include "mcp_private.h"
#include "mem.h"

/*
 * The two eras of MCP.  Up to 2025-11-25 a handshake settles the version of
 * a connection or session; from 2026-07-28 on each request names it, together
 * with who asks, and nothing outlasts a request.  Which era a message belongs
 * to it says itself, so both may come over one connection.
 */

#define MODERN_VERSION	"2026-07-28"
#define META(name)	"io.modelcontextprotocol/" name
/* How long a client may keep what only a new configuration changes. */
#define CACHE_MS	60000

static const char	no_session[] =
    "The header Mcp-Session-Id is missing; it comes with the answer to "
    "initialize.";

static json_t *
meta_of(const json_t *params)
{
	return json_object_get(params, "_meta");
}

enum mcp_era
era_of(const json_t *params)
{
	return json_object_get(meta_of(params), META("protocolVersion")) !=
	    NULL ? ERA_MODERN : ERA_LEGACY;
}

static json_t *
all_versions(void)
{
	json_t *list = json_pack("[s]", MODERN_VERSION);
	const char *const *v;

	for (v = mcp_legacy_versions(); *v != NULL; v++)
		json_array_append_new(list, json_string(*v));
	return list;
}

static int
is_legacy(const char *version)
{
	const char *const *v;

	for (v = mcp_legacy_versions(); *v != NULL; v++)
		if (strcmp(*v, version) == 0)
			return 1;
	return 0;
}

int
mcp_serves(const char *version)
{
	return version == NULL || is_legacy(version);
}

static int
fail(struct request *r, enum rpc_code code, const char *why)
{
	exchange_status(r->exchange, 400);
	mcp_fail(r, code, NULL, "%s", why);
	return -1;
}

/* Versions are dates, so they compare as texts. */
static int
is_modern(const char *version)
{
	return strcmp(version, MODERN_VERSION) >= 0;
}

const char *
era_trouble(const struct session *s)
{
	const char *version;

	if (s->headers == NULL)
		return NULL;
	version = s->headers->version;
	if (version != NULL && strcmp(version, MODERN_VERSION) == 0)
		return NULL;
	if (version == NULL || is_legacy(version))
		return s->parent == NULL || s->parent->initialized ? NULL :
		    no_session;
	return "The header MCP-Protocol-Version names a version that is not "
	    "served.";
}

static int
check_legacy(struct request *r)
{
	const struct mcp_headers *h = r->session->headers;
	int handshake = strcmp(r->method, "initialize") == 0;

	if (h == NULL || ((h->version == NULL || is_legacy(h->version)) &&
	    (handshake || era_trouble(r->session) == NULL)))
		return 0;
	if (h->version == NULL)
		return fail(r, RPC_INVALID_REQUEST, no_session);
	if (is_modern(h->version) && !handshake)
		return fail(r, RPC_INVALID_PARAMS, "A request of version "
		    MODERN_VERSION " needs params._meta with "
		    META("protocolVersion") " and "
		    META("clientCapabilities") ".");
	if (is_modern(h->version))
		return fail(r, RPC_HEADER_MISMATCH, "The header "
		    "MCP-Protocol-Version names " MODERN_VERSION " or later, "
		    "which has no initialize, and the message does not.");
	/* A handshake is about to choose another. */
	if (handshake)
		return 0;
	return fail(r, RPC_INVALID_REQUEST, era_trouble(r->session));
}

/* A header may carry any text in the form =?base64?...?= (MCP 2026-07-28,
 * transports).  The caller frees. */
static char *
decode(const char *value)
{
	static const char start[] = "=?base64?";
	size_t len = strlen(value), out_len;
	char *text, *out;

	if (len < sizeof start + 1 ||
	    strncmp(value, start, sizeof start - 1) != 0 ||
	    strcmp(value + len - 2, "?=") != 0)
		return xstrdup(value);
	text = xmemdupz(value + sizeof start - 1, len - sizeof start - 1);
	out = base64_decode(text, len - sizeof start - 1, &out_len);
	free(text);
	return out != NULL ? out : xstrdup(value);
}

static int
same(const char *header, const char *value)
{
	char *text;
	int rv;

	if (header == NULL || value == NULL)
		return 0;
	text = decode(header);
	rv = strcmp(text, value) == 0;
	free(text);
	return rv;
}

/* The member of params that Mcp-Name repeats, or NULL. */
static const char *
name_member(const char *method)
{
	if (strcmp(method, "tools/call") == 0 ||
	    strcmp(method, "prompts/get") == 0)
		return "name";
	return strcmp(method, "resources/read") == 0 ? "uri" : NULL;
}

static int
check_headers(struct request *r)
{
	const struct mcp_headers *h = r->session->headers;
	const char *member = name_member(r->method), *name;

	if (h == NULL)
		return 0;
	if (!same(h->method, r->method))
		return fail(r, RPC_HEADER_MISMATCH, "The header Mcp-Method "
		    "must be there and repeat the method of the message.");
	name = member == NULL ? NULL : json_string_value(json_object_get(
	    r->params, member));
	/* Without it the method has its own complaint. */
	if (name != NULL && !same(h->name, name))
		return fail(r, RPC_HEADER_MISMATCH, "The header Mcp-Name must "
		    "be there and repeat the name or uri of the message.");
	return 0;
}

static int
check_modern(struct request *r)
{
	const struct mcp_headers *h = r->session->headers;
	const json_t *meta = meta_of(r->params);
	const char *version = json_string_value(json_object_get(meta,
	    META("protocolVersion")));

	if (version == NULL)
		return fail(r, RPC_INVALID_PARAMS, "In params._meta, "
		    META("protocolVersion") " must be a string.");
	if (h != NULL && !same(h->version, version))
		return fail(r, RPC_HEADER_MISMATCH, "The header "
		    "MCP-Protocol-Version must be there and repeat "
		    META("protocolVersion") " of params._meta.");
	if (strcmp(version, MODERN_VERSION) != 0) {
		exchange_status(r->exchange, 400);
		mcp_fail(r, RPC_UNSUPPORTED_VERSION, json_pack("{s:o, s:s}",
		    "supported", all_versions(), "requested", version),
		    "A request by itself can only be of version "
		    MODERN_VERSION "; others begin with initialize.");
		return -1;
	}
	if (!json_is_object(json_object_get(meta,
	    META("clientCapabilities"))))
		return fail(r, RPC_INVALID_PARAMS, "In params._meta, "
		    META("clientCapabilities") " must be an object.");
	return check_headers(r);
}

int
era_check(struct request *r)
{
	return r->era == ERA_MODERN ? check_modern(r) : check_legacy(r);
}

json_t *
era_finish(enum mcp_era era, unsigned flags, json_t *result)
{
	json_t *meta;

	if (era != ERA_MODERN)
		return result;
	meta = json_object_get(result, "_meta");
	if (meta == NULL) {
		meta = json_object();
		json_object_set_new(result, "_meta", meta);
	}
	json_object_set_new(meta, META("serverInfo"), mcp_server_info());
	if (json_object_get(result, "resultType") == NULL)
		json_object_set_new(result, "resultType",
		    json_string("complete"));
	if ((flags & (CACHED | UNCACHED)) != 0) {
		json_object_set_new(result, "ttlMs",
		    json_integer((flags & CACHED) != 0 ? CACHE_MS : 0));
		json_object_set_new(result, "cacheScope",
		    json_string("private"));
	}
	return result;
}

json_t *
mcp_discover(struct request *r)
{
	return json_pack("{s:o, s:o, s:o}", "supportedVersions",
	    all_versions(), "capabilities", mcp_capabilities(),
	    "instructions", mcp_instructions(r->session->mcp->conf));
}
