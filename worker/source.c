#include "config.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "source.h"

#define FENCE		"```"
#define FENCE_LEN	3

/* A line without its end; next is where the following one starts. */
struct line {
	const char	*start, *end, *next;
};

static int
next_line(const char *at, const char *limit, struct line *l)
{
	const char *nl;

	if (at >= limit)
		return 0;
	nl = memchr(at, '\n', limit - at);
	l->start = at;
	l->next = nl == NULL ? limit : nl + 1;
	l->end = nl == NULL ? limit : nl;
	while (l->end > l->start && isspace((unsigned char)l->end[-1]))
		l->end--;
	return 1;
}

static int
is_fence(const struct line *l)
{
	return l->end - l->start >= FENCE_LEN &&
	    memcmp(l->start, FENCE, FENCE_LEN) == 0;
}

/* An opening fence whose info string says nothing or says Python. */
static int
opens_python(const struct line *l)
{
	static const char *const names[] = { "", "py", "python", "python3",
	    "ipython" };
	const char *p = l->start + FENCE_LEN;
	size_t i, len;

	if (!is_fence(l))
		return 0;
	while (p < l->end && (*p == ' ' || *p == '`'))
		p++;
	len = l->end - p;
	for (i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strlen(names[i]) == len &&
		    strncasecmp(names[i], p, len) == 0)
			return 1;
	return 0;
}

/* Line ends stay, so that the lines keep their numbers. */
static void
blank(char *from, const char *to)
{
	for (; from < to; from++)
		if (*from != '\n' && *from != '\r')
			*from = ' ';
}

void
source_strip_fence(char *text, size_t len)
{
	const char *limit = text + len, *body, *close_at = limit;
	struct line l;

	if (!next_line(text, limit, &l))
		return;
	while (l.end == l.start)
		if (!next_line(l.next, limit, &l))
			return;
	if (!opens_python(&l))
		return;
	body = l.next;
	while (next_line(l.next, limit, &l))
		if (l.end - l.start == FENCE_LEN && is_fence(&l))
			close_at = l.start;
	blank(text, body);
	blank(text + (close_at - text), limit);
}

size_t
source_bom(const char *text, size_t len)
{
	return len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* A cookie in this line that names something other than UTF-8. */
static int
names_other_encoding(const struct line *l)
{
	static const char word[] = "coding";
	const char *p, *name;
	size_t n;

	if (memchr(l->start, '#', l->end - l->start) == NULL)
		return 0;
	p = memmem(l->start, l->end - l->start, word, sizeof word - 1);
	if (p == NULL)
		return 0;
	p += sizeof word - 1;
	if (p == l->end || (*p != ':' && *p != '='))
		return 0;
	for (p++; p < l->end && (*p == ' ' || *p == '\t'); p++)
		;
	for (name = p; p < l->end && (isalnum((unsigned char)*p) ||
	    strchr("-_.", *p) != NULL); p++)
		;
	n = p - name;
	return !(n == 5 && (strncasecmp(name, "utf-8", n) == 0 ||
	    strncasecmp(name, "utf_8", n) == 0)) &&
	    !(n == 4 && strncasecmp(name, "utf8", n) == 0);
}

int
source_is_plain(const char *text, size_t len)
{
	const char *at = text, *limit = text + len;
	struct line l;
	int i;

	if (memchr(text, '\0', len) != NULL)
		return 0;
	/* PEP 263: the cookie is in the first or second line. */
	for (i = 0; i < 2 && next_line(at, limit, &l); i++, at = l.next)
		if (names_other_encoding(&l))
			return 0;
	return 1;
}
