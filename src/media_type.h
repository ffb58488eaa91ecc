#ifndef ADDER_MEDIA_TYPE_H
#define ADDER_MEDIA_TYPE_H

#include <stddef.h>

/* Media types by content: a wrong one poisons a conversation, so neither a
 * worker's word nor a name alone is believed.  All are static strings. */

/* A kind of picture that clients show, by the first bytes; else NULL. */
const char	*media_picture(const char *data, size_t len);
/* The type of a file by its first bytes, or whole all of them, and its name:
 * what is text is told apart by its suffix. */
const char	*media_type(const char *name, const char *data, size_t len,
	    int whole);
/* Whether this is what a model can read as text. */
int	 media_is_text(const char *data, size_t len);
/* The same of a type; SVG, JSON and XML are. */
int	 media_type_is_text(const char *type);

#endif
