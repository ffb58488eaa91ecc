#include "config.h"

#include <string.h>

#include "base64.h"
#include "mem.h"

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t
base64_length(size_t n)
{
	return (n + 2) / 3 * 4;
}

char *
base64_encode(const void *data, size_t n)
{
	const unsigned char *in = data;
	char *text = xmalloc(base64_length(n) + 1), *out = text;

	for (; n >= 3; n -= 3, in += 3) {
		*out++ = alphabet[in[0] >> 2];
		*out++ = alphabet[(in[0] & 3) << 4 | in[1] >> 4];
		*out++ = alphabet[(in[1] & 15) << 2 | in[2] >> 6];
		*out++ = alphabet[in[2] & 63];
	}
	if (n > 0) {
		*out++ = alphabet[in[0] >> 2];
		*out++ = alphabet[(in[0] & 3) << 4 | (n > 1 ? in[1] >> 4 : 0)];
		*out++ = n > 1 ? alphabet[(in[1] & 15) << 2] : '=';
		*out++ = '=';
	}
	*out = '\0';
	return text;
}
