#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "mem.h"
#include "packages.h"

#define BLOCK_START	"# /// script"
#define BLOCK_END	"# ///"

/* Whether the line at s is just text, blanks at its end aside. */
static int
is_line(const char *s, size_t len, const char *text)
{
	size_t n = strlen(text);

	while (len > 0 && strchr(" \t\r", s[len - 1]) != NULL)
		len--;
	return len == n && memcmp(s, text, n) == 0;
}

/* The block of script metadata with its first and last line; NULL if there
 * is none.  It ends with the last line that is BLOCK_END before one that is
 * no comment. */
static const char *
find_block(const char *code, size_t len, size_t *block_len)
{
	const char *at, *end = code + len, *block = NULL, *line, *next;

	*block_len = 0;
	for (at = code; (at = memmem(at, end - at, BLOCK_START,
	    sizeof BLOCK_START - 1)) != NULL; at++) {
		next = memchr(at, '\n', end - at);
		if (next == NULL)
			return NULL;
		if ((at == code || at[-1] == '\n') &&
		    is_line(at, next - at, BLOCK_START))
			break;
	}
	if (at == NULL)
		return NULL;
	for (line = next + 1; line < end && *line == '#'; line = next + 1) {
		next = memchr(line, '\n', end - line);
		if (next == NULL)
			next = end;
		if (is_line(line, next - line, BLOCK_END)) {
			block = at;
			*block_len = line + sizeof BLOCK_END - 1 - at;
		}
		if (next == end)
			break;
	}
	return block;
}

char *
packages_of(const json_t *list, const char *code, size_t len, char **why)
{
	size_t block_len, bytes;
	const char *block = find_block(code, len, &block_len);
	json_t *ask;
	char *line;

	*why = NULL;
	if (json_array_size(list) == 0 && block == NULL)
		return NULL;
	if (json_array_size(list) > PACKAGES_MAX) {
		xasprintf(why, "The argument dependencies names %zu packages, "
		    "more than the %d that a call may; leave out what others "
		    "bring along.", json_array_size(list), PACKAGES_MAX);
		return NULL;
	}
	ask = json_pack("{s:o, s:o}", "requirements", list != NULL ?
	    json_deep_copy(list) : json_array(), "script", block != NULL ?
	    json_text(block, block_len) : json_string(""));
	line = json_line(ask, &bytes);
	json_decref(ask);
	if (bytes <= PACKAGES_BYTES_MAX)
		return line;
	xasprintf(why, "The packages that are asked for take %zu bytes of "
	    "text, more than the %d that a call may; ask for less.", bytes,
	    PACKAGES_BYTES_MAX);
	free(line);
	return NULL;
}

static int
has_text(const json_t *list, const char *text)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
		if (strcmp(json_string_value(item), text) == 0)
			return 1;
	return 0;
}

static int
has_all(const json_t *list, const json_t *of)
{
	const json_t *item;
	size_t i;

	json_array_foreach(of, i, item)
		if (!has_text(list, json_string_value(item)))
			return 0;
	return 1;
}

int
packages_are(const json_t *list, const char *packages)
{
	json_t *ask = json_loads(packages, JSON_ALLOW_NUL, NULL);
	const json_t *ours = json_object_get(ask, "requirements");
	int same = json_array_size(list) <= PACKAGES_MAX &&
	    has_all(list, ours) && has_all(ours, list);

	json_decref(ask);
	return same;
}

char *
packages_text(const char *packages)
{
	json_t *ask = json_loads(packages, JSON_ALLOW_NUL, NULL);
	size_t len;
	char *text = json_line(json_object_get(ask, "requirements"), &len);

	json_decref(ask);
	return text;
}
