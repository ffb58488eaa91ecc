#include "config.h"

#include <ctype.h>
#include <string.h>

#include "tail.h"

/* One that ends the line is looked for with it. */
static int
starts_with_word(const char *line, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len >= n && memcmp(line, word, n) == 0 &&
	    (len == n || (!isalnum((unsigned char)line[n]) &&
	    line[n] != '_' && (line[n] & 0x80) == 0));
}

static int
starts_with_any(const char *line, size_t len, const char *const *words)
{
	for (; *words != NULL; words++)
		if (starts_with_word(line, len, *words))
			return 1;
	return 0;
}

static enum tail_kind
kind_of(const char *line, size_t len)
{
	static const char *const compound[] = { "if", "for", "while", "with",
	    "def", "class", "try", "async", NULL };
	/* Parts of a statement that began before, and words that may be
	 * names as well. */
	static const char *const unsure[] = { "else", "elif", "except",
	    "finally", "match", "case", "type", "await", NULL };

	if (starts_with_any(line, len, compound))
		return TAIL_COMPOUND;
	if (starts_with_any(line, len, unsure))
		return TAIL_UNKNOWN;
	if (isalnum((unsigned char)line[0]) ||
	    strchr("_([{-+~'\"", line[0]) != NULL)
		return TAIL_SIMPLE;
	return TAIL_UNKNOWN;
}

/* The line before the one that starts at at; 0 if there is none. */
static int
line_before(const char *text, size_t *at, size_t *len)
{
	const char *nl;

	if (*at == 0)
		return 0;
	*len = *at - 1;		/* without its newline */
	nl = memrchr(text, '\n', *len);
	*at = nl == NULL ? 0 : (size_t)(nl - text) + 1;
	*len -= *at;
	return 1;
}

/* Lines that only go on or end what began before, or say nothing. */
static int
is_skipped(const char *line, size_t len)
{
	return len == 0 || isspace((unsigned char)line[0]) ||
	    strchr(")]}#", line[0]) != NULL;
}

/* It is compiled before the rest, so that nothing is shown twice if it does
 * not compile: it must not be what the compiler warns of. */
static int
may_warn(const char *text, size_t len)
{
	static const char *const signs[] = { "\\", " is ", "assert" };
	size_t i;

	for (i = 0; i < sizeof signs / sizeof signs[0]; i++)
		if (memmem(text, len, signs[i], strlen(signs[i])) != NULL)
			return 1;
	return 0;
}

enum tail_kind
tail_find(const char *text, size_t len, size_t *at)
{
	enum tail_kind kind;
	size_t n;

	/* Ends of lines of other systems; what turns features on for the
	 * whole; several statements in one line. */
	if (memchr(text, '\r', len) != NULL || memchr(text, '\f', len) != NULL
	    || memmem(text, len, "__future__", 10) != NULL)
		return TAIL_UNKNOWN;
	*at = len + (len > 0 && text[len - 1] != '\n');
	do
		if (!line_before(text, at, &n))
			return TAIL_UNKNOWN;
	while (is_skipped(text + *at, n));
	if (may_warn(text + *at, len - *at))
		return TAIL_UNKNOWN;
	kind = kind_of(text + *at, n);
	if (kind == TAIL_SIMPLE && memchr(text + *at, ';', len - *at) != NULL)
		return TAIL_UNKNOWN;
	return kind;
}
