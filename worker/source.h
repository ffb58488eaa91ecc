#ifndef ADDER_SOURCE_H
#define ADDER_SOURCE_H

#include <stddef.h>

/*
 * What can be told of a program's text before Python sees it.
 */

/*
 * If the text is one markdown code block (its first line that is not blank
 * opens a fence for Python), blanks everything but the lines inside, so that
 * line numbers stay those of the text that was sent.  Changes text in place.
 */
void	source_strip_fence(char *text, size_t len);
/* Whether CPython reads these bytes as UTF-8 whatever they are read from:
 * no NUL, and no coding cookie (PEP 263) that names another encoding.  That
 * the bytes are valid UTF-8 is for the caller to find out. */
int	source_is_plain(const char *text, size_t len);
/* Length of a byte order mark at the start, 0 or 3. */
size_t	source_bom(const char *text, size_t len);

#endif
