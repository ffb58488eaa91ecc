#ifndef ADDER_HTTP_TOKENS_H
#define ADDER_HTTP_TOKENS_H

#include <stddef.h>

/*
 * The bearer tokens of a file: "name token" a line, # begins a comment.
 * The name is what logs and limits know of whoever sends the token.
 */
struct http_tokens;

/* NULL with *why (the caller's to free): a line is wrong, a token is shorter
 * than 16 characters, the file holds none or cannot be read. */
struct http_tokens *http_tokens_read(const char *path, char **why);
void		 http_tokens_free(struct http_tokens **);
/* The name that belongs to the token, or NULL; takes as long for every
 * token of the same length. */
const char	*http_tokens_find(const struct http_tokens *,
		    const char *token);

#endif
