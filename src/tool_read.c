#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "conf.h"
#include "json.h"
#include "media_type.h"
#include "mem.h"
#include "result.h"
#include "run_store.h"
#include "tool.h"
#include "utf8.h"

/* Most bytes of a file that is no text in one answer. */
#define BINARY_MAX	(512 * 1024)
/* Largest offset that is no slip. */
#define COUNT_MAX	1e15

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

/* A count of bytes from least on, def if absent; NULL, or what is wrong with
 * it, the caller's to free. */
static char *
get_count(const struct tool_call *c, const char *name, size_t least,
    size_t def, size_t *n)
{
	const json_t *value = json_object_get(c->args, name);
	double d = json_number_value(value);
	char *why;

	*n = def;
	if (value == NULL)
		return NULL;
	if (!(d >= least && d <= COUNT_MAX)) {
		xasprintf(&why, "The argument %s must be a number of bytes "
		    "from %zu to %.0f, not %.15g.", name, least, COUNT_MAX,
		    d);
		return why;
	}
	*n = d;
	return NULL;
}

static json_t *
text_block(json_t *text)
{
	return json_pack("{s:s, s:o}", "type", "text", "text", text);
}

/* A piece of an item as it was read. */
struct piece {
	char	*data;
	size_t	 offset, len;
};

/* The piece, with no character cut in two where it is UTF-8. */
static json_t *
text_part(struct piece *p)
{
	size_t skip = utf8_whole_start(p->data, p->len), whole;

	if (skip > p->len)
		skip = p->len;
	p->offset += skip;
	p->len -= skip;
	/* At least one, or reading on would never end. */
	whole = utf8_whole_end(p->data + skip, p->len);
	if (whole > 0)
		p->len = whole;
	return text_block(json_text(p->data + skip, p->len));
}

static json_t *
binary_part(const struct run_item *item, const struct piece *p)
{
	char *data = base64_encode(p->data, p->len);
	json_t *block;

	if (p->len == item->len && media_picture(p->data, p->len) != NULL)
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
where(const struct run_item *item, const struct piece *p)
{
	if (p->offset + p->len < item->len)
		return json_textf("[bytes %zu to %zu of %zu; to go on: "
		    "offset %zu]", p->offset, p->offset + p->len, item->len,
		    p->offset + p->len);
	return json_textf("[bytes %zu to %zu of %zu, the end]", p->offset,
	    p->offset + p->len, item->len);
}

static enum tool_outcome
answer(struct tool_call *c, const struct run_item *item, size_t offset,
    size_t limit)
{
	int text = media_type_is_text(item->mime);
	size_t max = text ? c->conf->result_max_text : BINARY_MAX;
	struct piece p = { .offset = offset };
	json_t *part;

	p.data = run_store_read(c->store, item, offset, limit < max ? limit :
	    max, &p.len);
	if (p.data == NULL)
		return refuse(c, "The file is kept no more, or cannot be "
		    "read.  Run the program again.");
	part = text && memchr(p.data, '\0', p.len) == NULL ? text_part(&p) :
	    binary_part(item, &p);
	c->result = json_pack("{s:[o, o], s:b}", "content", part,
	    text_block(where(item, &p)), "isError", 0);
	free(p.data);
	return TOOL_ANSWER;
}

/* Takes why over. */
static enum tool_outcome
refuse_by(struct tool_call *c, char *why)
{
	enum tool_outcome outcome = refuse(c, why);

	free(why);
	return outcome;
}

static enum tool_outcome
call(struct tool_call *c)
{
	const char *uri = json_string_value(json_object_get(c->args, "uri"));
	const struct run_item *item = NULL;
	size_t offset, limit;
	char *why;

	if ((why = get_count(c, "offset", 0, 0, &offset)) != NULL ||
	    (why = get_count(c, "limit", 1, SIZE_MAX, &limit)) != NULL)
		return refuse_by(c, why);
	if (c->store != NULL)
		item = run_store_find(c->store, uri);
	if (item == NULL) {
		xasprintf(&why, "There is nothing of the URI \"%.120s\", or "
		    "not any more: what a run leaves is kept for a limited "
		    "time and space (result.keep and result.keep_age, or "
		    "files.quota and files.age).  Run the program again.",
		    uri);
		return refuse_by(c, why);
	}
	if (offset > item->len) {
		xasprintf(&why, "The offset %zu lies behind the end, which is "
		    "at %zu bytes.", offset, item->len);
		return refuse_by(c, why);
	}
	return answer(c, item, offset, limit);
}

const struct tool tool_read_file = {
	"read_file", params, sizeof params / sizeof params[0], describe, call,
	0, 0
};
