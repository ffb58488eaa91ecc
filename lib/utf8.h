#ifndef ADDER_UTF8_H
#define ADDER_UTF8_H

#include <stddef.h>

/* Bytes of the character at s (len > 0), or, with *valid 0, of the longest
 * piece that no character starts with (Unicode 15, section 3.9, "maximal
 * subpart": what Python replaces by one U+FFFD too). */
size_t	 utf8_next(const char *s, size_t len, int *valid);
int	 utf8_valid(const char *, size_t);
/* A copy in which each invalid piece is one U+FFFD, NUL-terminated; NULs
 * inside are kept.  The caller frees. */
char	*utf8_clean(const char *, size_t len, size_t *out_len);
/* Its length. */
size_t	 utf8_clean_length(const char *, size_t len);
/* Length without a character that is cut short at the end. */
size_t	 utf8_whole_end(const char *, size_t len);
/* Bytes at the start that belong to a character cut off before it. */
size_t	 utf8_whole_start(const char *, size_t len);

#endif
