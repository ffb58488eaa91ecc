#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "conf.h"
#include "json.h"
#include "mem.h"
#include "result.h"
#include "run_store.h"
#include "tool.h"
#include "utf8.h"

/* Most bytes of a file that is no text in one answer. */
#define BINARY_MAX	(512 * 1024)

static const struct tool_param params[] = {
	{ "uri", TOOL_STRING, 1,
	    "Name of what is to be read, as an earlier answer gave it: "
	    "adder://run/..." },
	{ "offset", TOOL_NUMBER, 0,
	    "Bytes to skip from the start; 0 if absent." },
	{ "limit", TOOL_NUMBER, 0,
	    "Most bytes to read; as many as an answer may have if absent." }
};

static json_t *
describe(const struct conf *conf)
{
	return json_pack("{s:s, s:s, s:o}",
	    "title", "Read output or a file of an earlier run",
	    "description", "Reads what an earlier run_python left behind "
	    "and its answer did not show whole: long output, large pictures, "
	    "files.  The answer names it by a URI.  Reads a part of it from "
	    "offset, and says where to go on.  What is kept goes after some "
	    "minutes.",
	    "annotations", tool_annotations("Read a file of a run", 1, 1));
}

static enum tool_outcome
refuse(struct tool_call *c, const char *why)
{
	c->result = result_of_error(why);
	return TOOL_ANSWER;
}

/* A count of bytes, def if absent; -1 if the number is none. */
static int
get_count(const struct tool_call *c, const char *name, size_t def, size_t *n)
{
	const json_t *value = json_object_get(c->args, name);
	double d = json_number_value(value);

	*n = def;
	if (value == NULL)
		return 0;
	if (!(d >= 0 && d <= 1e15))
		return -1;
	*n = d;
	return 0;
}

static json_t *
text_block(json_t *text)
{
	return json_pack("{s:s, s:o}", "type", "text", "text", text);
}

/* The piece, with no character cut in two where it is UTF-8. */
static json_t *
text_part(const struct run_item *item, size_t *offset, size_t *len)
{
	*offset += utf8_whole_start(item->data + *offset, *len);
	if (*offset > item->len)
		*offset = item->len;
	if (*len > item->len - *offset)
		*len = item->len - *offset;
	/* At least one, or reading on would never end. */
	if (utf8_whole_end(item->data + *offset, *len) > 0)
		*len = utf8_whole_end(item->data + *offset, *len);
	return text_block(json_text(item->data + *offset, *len));
}

static json_t *
binary_part(const struct run_item *item, size_t offset, size_t len)
{
	char *data = base64_encode(item->data + offset, len);
	int picture = strncmp(item->mime, "image/", 6) == 0 &&
	    strcmp(item->mime, "image/svg+xml") != 0;
	json_t *block;

	if (picture && len == item->len)
		block = json_pack("{s:s, s:s, s:s}", "type", "image", "data",
		    data, "mimeType", item->mime);
	else
		block = json_pack("{s:s, s:{s:s, s:s, s:s}}", "type",
		    "resource", "resource", "uri", item->uri, "mimeType",
		    item->mime, "blob", data);
	free(data);
	return block;
}

static json_t *
where(const struct run_item *item, size_t offset, size_t len)
{
	if (offset + len < item->len)
		return json_textf("[bytes %zu to %zu of %zu; to go on: "
		    "offset %zu]", offset, offset + len, item->len,
		    offset + len);
	return json_textf("[bytes %zu to %zu of %zu, the end]", offset,
	    offset + len, item->len);
}

static enum tool_outcome
answer(struct tool_call *c, const struct run_item *item, size_t offset,
    size_t limit)
{
	int text = memchr(item->data, '\0', item->len) == NULL &&
	    strncmp(item->mime, "text/", 5) == 0;
	size_t max = text ? c->conf->result_max_text : BINARY_MAX;
	size_t len = item->len - offset;
	json_t *part;

	if (limit < max)
		max = limit;
	if (len > max)
		len = max;
	part = text ? text_part(item, &offset, &len) :
	    binary_part(item, offset, len);
	c->result = json_pack("{s:[o, o], s:b}", "content", part,
	    text_block(where(item, offset, len)), "isError", 0);
	return TOOL_ANSWER;
}

static enum tool_outcome
call(struct tool_call *c)
{
	const char *uri = json_string_value(json_object_get(c->args, "uri"));
	const struct run_item *item = NULL;
	size_t offset, limit;

	if (get_count(c, "offset", 0, &offset) == -1)
		return refuse(c, "The argument offset must be a number of "
		    "bytes, 0 or more.");
	if (get_count(c, "limit", SIZE_MAX, &limit) == -1 || limit == 0)
		return refuse(c, "The argument limit must be a number of "
		    "bytes, 1 or more.");
	if (c->store != NULL)
		item = run_store_find(c->store, uri);
	if (item == NULL)
		return refuse(c, "There is nothing of that URI, or not any "
		    "more: what a run leaves is kept for a limited time "
		    "(result.keep_age) and space (result.keep).  Run the "
		    "program again.");
	if (offset > item->len)
		return refuse(c, "The offset lies behind the end.");
	return answer(c, item, offset, limit);
}

const struct tool tool_read_file = {
	"read_file", params, sizeof params / sizeof params[0], describe, call,
	0
};
