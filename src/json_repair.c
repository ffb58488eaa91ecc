#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_repair.h"
#include "mem.h"

struct scan {
	const char	*in, *end;
	char		*out;		/* room is made in json_repair() */
	size_t		 at;
	int		 changed;
};

static const char	replacement[] = "\\ufffd";
static const char	largest[] = "1.7976931348623157e308";

static void
copy(struct scan *s, const char *text, size_t len)
{
	memcpy(s->out + s->at, text, len);
	s->at += len;
}

/* The code unit of a \uXXXX escape at p, or -1 if there is none. */
static long
code_unit(const char *p, const char *end)
{
	char hex[5];
	size_t i;

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	memcpy(hex, p + 2, 4);
	hex[4] = '\0';
	for (i = 0; i < 4; i++)
		if (strchr("0123456789abcdefABCDEF", hex[i]) == NULL)
			return -1;
	return strtol(hex, NULL, 16);
}

static void
scan_escape(struct scan *s)
{
	long unit = code_unit(s->in, s->end);
	long next = code_unit(s->in + 6 <= s->end ? s->in + 6 : s->end,
	    s->end);
	size_t len = unit == -1 ? 2 : 6;

	if (unit >= 0xd800 && unit <= 0xdbff && next >= 0xdc00 &&
	    next <= 0xdfff)
		len = 12;
	else if (unit >= 0xd800 && unit <= 0xdfff) {
		copy(s, replacement, sizeof replacement - 1);
		s->changed = 1;
		s->in += 6;
		return;
	}
	if (len > (size_t)(s->end - s->in))
		len = s->end - s->in;
	copy(s, s->in, len);
	s->in += len;
}

/* From one quote to behind the other. */
static void
scan_string(struct scan *s)
{
	copy(s, s->in++, 1);
	while (s->in < s->end) {
		const char *run = s->in;

		while (s->in < s->end && *s->in != '"' && *s->in != '\\')
			s->in++;
		copy(s, run, s->in - run);
		if (s->in == s->end)
			return;
		if (*s->in == '"') {
			copy(s, s->in++, 1);
			return;
		}
		scan_escape(s);
	}
}

static int
is_number_char(char c)
{
	return c != '\0' && strchr("+-.0123456789eE", c) != NULL;
}

static void
scan_number(struct scan *s)
{
	const char *run = s->in;
	size_t len;
	char *text;

	while (s->in < s->end && is_number_char(*s->in))
		s->in++;
	len = s->in - run;
	text = xmemdupz(run, len);
	errno = 0;
	if (isinf(strtod(text, NULL))) {
		if (*run == '-')
			copy(s, "-", 1);
		copy(s, largest, sizeof largest - 1);
		s->changed = 1;
	} else {
		copy(s, run, len);
		errno = 0;
		strtoll(text, NULL, 10);
		if (errno == ERANGE && strpbrk(text, ".eE") == NULL) {
			copy(s, ".0", 2);
			s->changed = 1;
		}
	}
	free(text);
}

/* Whether the string that ends here is followed by a colon, so is a key. */
static int
colon_follows(const struct scan *s)
{
	const char *p = s->in;

	while (p < s->end && strchr(" \t\r\n", *p) != NULL)
		p++;
	return p < s->end && *p == ':';
}

static void
scan_text(struct scan *s, struct json_repair *r)
{
	int id_next = 0, top_object = 0;
	size_t depth = 0, start;
	char c;

	while (s->in < s->end) {
		c = *s->in;
		start = s->at;
		if (c == '"') {
			scan_string(s);
			if (depth == 1 && top_object && colon_follows(s)) {
				id_next = s->at - start == 4 &&
				    memcmp(s->out + start, "\"id\"", 4) == 0;
				continue;
			}
		} else if (c == '-' || (c >= '0' && c <= '9')) {
			scan_number(s);
		} else {
			if (c == '{' || c == '[') {
				if (depth++ == 0)
					top_object = c == '{';
			} else if ((c == '}' || c == ']') && depth > 0)
				depth--;
			copy(s, s->in++, 1);
			if (strchr(" \t\r\n:", c) == NULL || c == '\0')
				id_next = 0;
			continue;
		}
		if (id_next) {
			r->id = s->out + start;
			r->id_len = s->at - start;
		}
		id_next = 0;
	}
}

void
json_repair(const char *text, size_t len, struct json_repair *r)
{
	/* A number grows most: "1e999", five bytes, to 22. */
	struct scan s = { text, text + len, xmalloc(len * 5 + 32), 0, 0 };

	memset(r, 0, sizeof *r);
	scan_text(&s, r);
	r->text = s.out;
	r->len = s.at;
	r->changed = s.changed;
}

json_t *
json_load(const char *text, size_t len, size_t flags, json_error_t *error)
{
	json_t *value = json_loadb(text, len, flags, error);
	struct json_repair r;

	if (value != NULL)
		return value;
	json_repair(text, len, &r);
	if (r.changed)
		value = json_loadb(r.text, r.len, flags, NULL);
	free(r.text);
	return value;
}
