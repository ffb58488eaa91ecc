#include "config.h"

#include "json.h"
#include "mcp_private.h"
#include "tool.h"

/* The small methods: lists, most of them empty, and settings.  Clients call
 * the lists whether or not they are announced, and take an error badly. */

json_t *
mcp_ping(struct request *r)
{
	return json_object();
}

json_t *
mcp_set_level(struct request *r)
{
	const char *name = json_string_value(json_object_get(r->params,
	    "level"));
	enum mcp_level level = name == NULL ? LEVELS : level_parse(name);

	if (level == LEVELS)
		return mcp_wrong(r, r->params, "level", "debug, info, notice, "
		    "warning, error, critical, alert or emergency");
	session_root(r->session)->log_level = level;
	return json_object();
}

/* Every list is one page, so no cursor was ever handed out. */
static json_t *
page(struct request *r, const char *name, json_t *items)
{
	if (json_member(r->params, "cursor") != NULL) {
		json_decref(items);
		return mcp_fail(r, RPC_INVALID_PARAMS, NULL,
		    "The cursor is not one that this server gave.");
	}
	return json_pack("{s:o}", name, items);
}

json_t *
mcp_tools_list(struct request *r)
{
	return page(r, "tools", tool_list(r->session->mcp->conf));
}

json_t *
mcp_prompts_list(struct request *r)
{
	return page(r, "prompts", json_array());
}

json_t *
mcp_prompts_get(struct request *r)
{
	const char *name = json_string_value(json_object_get(r->params,
	    "name"));

	if (name == NULL)
		return mcp_wrong(r, r->params, "name", "a string");
	return mcp_fail(r, RPC_INVALID_PARAMS, NULL,
	    "There is no prompt \"%.100s\".", name);
}

json_t *
mcp_complete(struct request *r)
{
	if (!json_is_object(json_object_get(r->params, "ref")))
		return mcp_wrong(r, r->params, "ref", "an object");
	if (!json_is_object(json_object_get(r->params, "argument")))
		return mcp_wrong(r, r->params, "argument", "an object");
	return json_pack("{s:{s:[], s:i, s:b}}", "completion", "values",
	    "total", 0, "hasMore", 0);
}
