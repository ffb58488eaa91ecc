#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "log.h"
#include "mem.h"
#include "utf8.h"

void
json_init(void)
{
	json_set_alloc_funcs(xmalloc, free);
}

json_t *
json_text(const char *s, size_t len)
{
	json_t *value = json_stringn(s, len);
	char *clean;

	if (value != NULL)
		return value;
	clean = utf8_clean(s, len, &len);
	value = json_stringn_nocheck(clean, len);
	free(clean);
	return value;
}

json_t *
json_textf(const char *fmt, ...)
{
	json_t *value;
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = xvasprintf(&s, fmt, ap);
	va_end(ap);
	value = json_text(s, n);
	free(s);
	return value;
}

json_t *
json_member(const json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	return json_is_null(value) ? NULL : value;
}

const char *
json_type_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	case JSON_NULL:
		break;
	}
	return "null";
}

const char *
json_seen(const json_t *value, char buf[JSON_SEEN_BYTES])
{
	if (value == NULL)
		return "missing";
	if (json_is_string(value))
		snprintf(buf, JSON_SEEN_BYTES, "\"%.40s\"",
		    json_string_value(value));
	else if (json_is_integer(value))
		snprintf(buf, JSON_SEEN_BYTES, "%" JSON_INTEGER_FORMAT,
		    json_integer_value(value));
	else if (json_is_real(value))
		snprintf(buf, JSON_SEEN_BYTES, "%.15g",
		    json_real_value(value));
	else
		return json_type_name(value);
	return buf;
}

char *
json_line(const json_t *value, size_t *len)
{
	char *s = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII |
	    JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));

	if (s == NULL)
		fatalx("a message of ours cannot be written as JSON");
	*len = strlen(s);
	return s;
}

/* A continuation byte costs nothing: its lead byte paid for it. */
static size_t
byte_cost(unsigned char c)
{
	if (c >= 0xf0)
		return 12;	/* a surrogate pair */
	if (c >= 0xc0)
		return 6;
	if (c >= 0x80)
		return 0;
	if (c >= 0x20)
		return c == '"' || c == '\\' ? 2 : 1;
	return c != '\0' && strchr("\b\f\n\r\t", c) != NULL ? 2 : 6;
}

size_t
json_text_cost(const char *s, size_t len)
{
	size_t i, cost = 0;

	for (i = 0; i < len; i++)
		cost += byte_cost(s[i]);
	return cost;
}

static int
is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

size_t
json_text_prefix(const char *s, size_t len, size_t cost)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (byte_cost(s[i]) > cost)
			break;
		cost -= byte_cost(s[i]);
	}
	while (i > 0 && i < len && is_continuation(s[i]))
		i--;
	return i;
}

size_t
json_text_suffix(const char *s, size_t len, size_t cost)
{
	size_t n;

	for (n = 0; n < len; n++) {
		if (byte_cost(s[len - n - 1]) > cost)
			break;
		cost -= byte_cost(s[len - n - 1]);
	}
	while (n > 0 && is_continuation(s[len - n]))
		n--;
	return n;
}
