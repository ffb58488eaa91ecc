#ifndef ADDER_JSON_H
#define ADDER_JSON_H

#include <stddef.h>

#include <jansson.h>

/* Lets jansson end the process when memory is out; before any other use. */
void	 json_init(void);
/* A string of bytes from outside: what is no UTF-8 becomes U+FFFD, NULs
 * stay.  Never NULL. */
json_t	*json_text(const char *, size_t len);
json_t	*json_textf(const char *, ...) __attribute__((format(printf, 1, 2)));
/* The member, or NULL if it is absent or null: clients send both. */
json_t	*json_member(const json_t *object, const char *key);
/* "a string", "an object": for messages about wrong types. */
const char *json_type_name(const json_t *);
/* What was seen where something else was expected: "missing" for NULL, a number
 * or short text itself, else its type; in buf, or static. */
#define JSON_SEEN_BYTES	64
const char *json_seen(const json_t *, char buf[JSON_SEEN_BYTES]);
/* One line of ASCII (so no U+2028 splits it), the caller frees.  Members
 * of a cyclic or otherwise unprintable value end the process. */
char	*json_line(const json_t *, size_t *len);
/* Bytes that a valid UTF-8 text takes inside a JSON string of json_line(). */
size_t	 json_text_cost(const char *, size_t len);
/* The longest start, or end, of a valid UTF-8 text that costs no more. */
size_t	 json_text_prefix(const char *, size_t len, size_t cost);
size_t	 json_text_suffix(const char *, size_t len, size_t cost);

#endif
