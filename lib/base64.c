#include "config.h"

#include <stdlib.h>
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

static int
value_of(char c)
{
	const char *at = c == '\0' ? NULL : strchr(alphabet, c);

	return at == NULL ? -1 : (int)(at - alphabet);
}

char *
base64_decode(const char *text, size_t len, size_t *out_len)
{
	char *out = xmalloc(len / 4 * 3 + 1);
	size_t i, n = 0, pad = 0;
	unsigned bits = 0;
	int v = 0;

	if (len % 4 == 0)
		while (pad < 2 && pad < len && text[len - 1 - pad] == '=')
			pad++;
	for (i = 0; i < len - pad && v != -1; i++) {
		if ((v = value_of(text[i])) == -1)
			break;
		bits = bits << 6 | v;
		if (i % 4 != 0)
			out[n++] = bits >> (6 - i % 4 * 2);
	}
	/* Bits that no byte has must be zero, so that a text is unique. */
	if (v == -1 || len % 4 != 0 || (pad == 2 && (bits & 15) != 0) ||
	    (pad == 1 && (bits & 3) != 0)) {
		free(out);
		return NULL;
	}
	out[n] = '\0';
	*out_len = n;
	return out;
}
