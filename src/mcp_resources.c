#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include <event2/event.h>

#include "base64.h"
#include "conf.h"
#include "json.h"
#include "mcp_private.h"
#include "media_type.h"
#include "mem.h"
#include "result.h"
#include "run_store.h"

/* What recent runs left behind, as resources. */

#define PAGE	50
/* How often files.dir is looked at. */
#define LOOK_US	10000000

static void
watch_age(struct mcp *m)
{
	uint64_t us = run_store_expire(m->store);
	struct timeval tv;

	/* Runs come into files.dir in other ways, too. */
	if (run_store_has_dir(m->store) && (us == 0 || us > LOOK_US))
		us = LOOK_US;
	tv.tv_sec = us / 1000000;
	tv.tv_usec = us % 1000000;
	if (us > 0 && !event_pending(m->ev_expire, EV_TIMEOUT, NULL))
		event_add(m->ev_expire, &tv);
}

static void
on_expire(evutil_socket_t fd, short what, void *arg)
{
	watch_age(arg);
}

static void
on_item(const struct run_item *item, const void *owner, int added, void *arg)
{
	struct mcp *m = arg;

	if (owner != NULL)
		mcp_resources_changed(m, owner);
	if (!added)
		mcp_resource_updated(m, item->uri);
}

void
resources_init(struct mcp *m)
{
	m->store = run_store_new();
	run_store_observe(m->store, on_item, m);
	m->ev_expire = event_new(m->base, -1, 0, on_expire, m);
	resources_set_conf(m);
}

void
resources_set_conf(struct mcp *m)
{
	run_store_bound(m->store, m->conf->result_keep,
	    m->conf->result_keep_age * 1000);
}

void
resources_set_dir(struct mcp *m, struct file_dir *dir)
{
	run_store_set_dir(m->store, dir);
	watch_age(m);
}

void
resources_free(struct mcp *m)
{
	event_free(m->ev_expire);
	run_store_free(&m->store);
}

void
resources_options(struct session *s, int whole, struct result_options *o)
{
	const struct conf *c = s->mcp->conf;

	memset(o, 0, sizeof *o);
	o->structured = c->result_structured;
	if (whole)
		return;
	o->max_text = c->result_max_text;
	o->max_images = c->result_max_images;
	o->max_image_px = c->result_max_image_px;
	if (!run_store_keeps(s->mcp->store))
		return;
	o->links = session_root(s)->version >= MCP_2025_06_18;
	o->store = s->mcp->store;
	o->owner = session_root(s);
	watch_age(s->mcp);
}

static json_t *
describe(const struct run_item *item)
{
	return json_pack("{s:s, s:o, s:s, s:I}", "uri", item->uri, "name",
	    json_text(item->name, strlen(item->name)), "mimeType",
	    item->mime, "size", (json_int_t)item->len);
}

/* The serial in a cursor of ours; -1 if it is none. */
static int
parse_cursor(const json_t *cursor, uint64_t *serial)
{
	const char *text = json_string_value(cursor);
	char *end;

	*serial = 0;
	if (cursor == NULL)
		return 0;
	if (text == NULL || text[0] < '1' || text[0] > '9' ||
	    strlen(text) > 18)
		return -1;
	*serial = strtoull(text, &end, 10);
	return *end == '\0' ? 0 : -1;
}

json_t *
mcp_resources_list(struct request *r)
{
	struct session *s = r->session;
	json_t *list, *result;
	const struct run_item *item;
	uint64_t serial;

	if (parse_cursor(json_member(r->params, "cursor"), &serial) == -1)
		return mcp_fail(r, RPC_INVALID_PARAMS, NULL,
		    "The cursor is not one that this server gave.");
	run_store_expire(s->mcp->store);
	list = json_array();
	while ((item = run_store_next(s->mcp->store, session_root(s),
	    session_root(s)->owner, serial)) != NULL &&
	    json_array_size(list) < PAGE) {
		json_array_append_new(list, describe(item));
		serial = item->serial;
	}
	result = json_pack("{s:o}", "resources", list);
	if (item != NULL)
		json_object_set_new(result, "nextCursor",
		    json_textf("%" PRIu64, serial));
	return result;
}

static json_t *
contents(const struct run_item *item, const char *data, size_t len, int text)
{
	json_t *o = json_pack("{s:s, s:s}", "uri", item->uri, "mimeType",
	    item->mime);
	char *blob;

	if (text) {
		json_object_set_new(o, "text", json_text(data, len));
	} else {
		blob = base64_encode(data, len);
		json_object_set_new(o, "blob", json_string(blob));
		free(blob);
	}
	return json_pack("{s:[o]}", "contents", o);
}

static json_t *
too_large(struct request *r, const struct run_item *item)
{
	return mcp_fail(r, RPC_INVALID_PARAMS, NULL, "The resource has %zu "
	    "bytes, too many for one message; read it in parts with the tool "
	    "read_file.", item->len);
}

json_t *
mcp_resources_read(struct request *r)
{
	json_t *uri = json_object_get(r->params, "uri"), *result;
	struct run_store *store = r->session->mcp->store;
	const struct run_item *item;
	char *data = NULL;
	size_t len;
	int text;

	if (!json_is_string(uri))
		return mcp_wrong(r, r->params, "uri", "a string");
	item = run_store_find(store, json_string_value(uri));
	if (item != NULL && base64_length(item->len) > RESULT_BYTES_MAX)
		return too_large(r, item);
	if (item != NULL)
		data = run_store_read(store, item, 0, item->len, &len);
	if (data == NULL)
		return mcp_fail(r, RPC_UNKNOWN_RESOURCE,
		    json_pack("{s:O}", "uri", uri), "There is no such "
		    "resource, or not any more.");
	/* A byte takes up to six in JSON, and a message has its bound. */
	text = media_type_is_text(item->mime) && media_is_text(data, len);
	result = text && json_text_cost(data, len) > RESULT_BYTES_MAX ?
	    too_large(r, item) : contents(item, data, len, text);
	free(data);
	return result;
}

json_t *
mcp_templates_list(struct request *r)
{
	if (json_member(r->params, "cursor") != NULL)
		return mcp_fail(r, RPC_INVALID_PARAMS, NULL,
		    "The cursor is not one that this server gave.");
	return json_pack("{s:[{s:s, s:s, s:s}]}", "resourceTemplates",
	    "uriTemplate", "adder://run/{run_id}/{+path}",
	    "name", "run",
	    "description", "Output (stdout, stderr) or a file of a recent "
	    "run, where its answer did not have it whole.");
}
