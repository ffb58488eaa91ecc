#ifndef ADDER_BASE64_H
#define ADDER_BASE64_H

#include <stddef.h>

/* Bytes that n bytes take in base64, padding included, NUL not. */
size_t	 base64_length(size_t n);
/* RFC 4648 section 4, padded, in one line and NUL-terminated; the caller
 * frees. */
char	*base64_encode(const void *, size_t n);
/* The bytes and a NUL, the caller frees; NULL if it is not just such a
 * text. */
char	*base64_decode(const char *, size_t len, size_t *out_len);

#endif
