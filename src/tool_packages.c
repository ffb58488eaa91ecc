#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dispatcher.h"
#include "json.h"
#include "mem.h"
#include "result.h"
#include "tool.h"

static const struct tool_param params[] = {
	{ "filter", TOOL_STRING, 0,
	    "Only packages whose name contains this text; all if absent." }
};

static json_t *
describe(const struct conf *conf)
{
	return json_pack("{s:s, s:s, s:o}",
	    "title", "List Python packages",
	    "description", "Lists the Python version and the packages, with "
	    "their versions and the names to import where those are others, "
	    "that run_python can import besides the standard library without "
	    "asking for them as dependencies.",
	    "annotations", tool_annotations("List Python packages", 1, 1));
}

/* Whether the name, up to the blank before its version, has the text. */
static int
matches(const char *line, size_t len, const char *filter)
{
	const char *blank = memchr(line, ' ', len);
	char *name = xmemdupz(line, blank != NULL ? (size_t)(blank - line) :
	    len);
	int found = strcasestr(name, filter) != NULL;

	free(name);
	return found;
}

static char *
list(const struct dispatcher_status *st, const char *filter)
{
	const char *line = st->packages;
	size_t len, total, count = 0;
	char *text;
	FILE *out;

	out = open_memstream(&text, &total);
	fprintf(out, "Python %s\n", st->python);
	for (; *line != '\0'; line += len + (line[len] == '\n')) {
		len = strcspn(line, "\n");
		if (len == 0 || !matches(line, len, filter))
			continue;
		fprintf(out, "%.*s\n", (int)len, line);
		count++;
	}
	if (count == 0)
		fprintf(out, "No package has \"%.60s\" in its name.\n", filter);
	fclose(out);
	return text;
}

static enum tool_outcome
call(struct tool_call *c)
{
	const char *filter = json_string_value(json_object_get(c->args,
	    "filter"));
	struct dispatcher_status st;
	char *text;

	dispatcher_status(c->dispatcher, &st);
	/* The last known list will do while a zygote is restarted. */
	if (!st.warm && st.packages[0] == '\0')
		return TOOL_WAIT;
	text = list(&st, filter != NULL ? filter : "");
	c->result = result_of_text(text);
	free(text);
	return TOOL_ANSWER;
}

const struct tool tool_list_packages = {
	"list_packages", params, sizeof params / sizeof params[0], describe,
	call, 0, 0
};
