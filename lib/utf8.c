#include "config.h"

#include <string.h>

#include "mem.h"
#include "utf8.h"

/* Total length that a lead byte announces and the range of the second byte
 * (RFC 3629, section 4); 0 for a byte that starts nothing. */
static size_t
lead(unsigned char c, unsigned char *lo, unsigned char *hi)
{
	*lo = 0x80;
	*hi = 0xbf;
	if (c < 0x80)
		return 1;
	if (c >= 0xc2 && c <= 0xdf)
		return 2;
	if (c >= 0xe0 && c <= 0xef) {
		if (c == 0xe0)
			*lo = 0xa0;
		else if (c == 0xed)
			*hi = 0x9f;	/* no surrogates */
		return 3;
	}
	if (c >= 0xf0 && c <= 0xf4) {
		if (c == 0xf0)
			*lo = 0x90;
		else if (c == 0xf4)
			*hi = 0x8f;
		return 4;
	}
	return 0;
}

size_t
utf8_next(const char *text, size_t len, int *valid)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned char lo, hi;
	size_t i, n = lead(s[0], &lo, &hi);

	*valid = 0;
	if (n == 0)
		return 1;
	for (i = 1; i < n; i++) {
		if (i == len || s[i] < lo || s[i] > hi)
			return i;
		lo = 0x80;
		hi = 0xbf;
	}
	*valid = 1;
	return n;
}

int
utf8_valid(const char *s, size_t len)
{
	size_t at = 0;
	int valid;

	while (at < len) {
		at += utf8_next(s + at, len - at, &valid);
		if (!valid)
			return 0;
	}
	return 1;
}

static const char mark[] = "\xef\xbf\xbd";	/* U+FFFD */

size_t
utf8_clean_length(const char *s, size_t len)
{
	size_t at, n, need = 0;
	int valid;

	for (at = 0; at < len; at += n) {
		n = utf8_next(s + at, len - at, &valid);
		need += valid ? n : sizeof mark - 1;
	}
	return need;
}

char *
utf8_clean(const char *s, size_t len, size_t *out_len)
{
	size_t at, n, need = utf8_clean_length(s, len);
	char *out, *p;
	int valid;

	p = out = xmalloc(need + 1);
	for (at = 0; at < len; at += n) {
		n = utf8_next(s + at, len - at, &valid);
		memcpy(p, valid ? s + at : mark, valid ? n : sizeof mark - 1);
		p += valid ? n : sizeof mark - 1;
	}
	*p = '\0';
	*out_len = need;
	return out;
}

size_t
utf8_whole_end(const char *s, size_t len)
{
	unsigned char lo, hi;
	size_t back;

	for (back = 1; back <= 3 && back <= len; back++) {
		unsigned char c = s[len - back];

		if ((c & 0xc0) == 0x80)
			continue;
		return lead(c, &lo, &hi) > back ? len - back : len;
	}
	return len;
}

size_t
utf8_whole_start(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && n < 3 && ((unsigned char)s[n] & 0xc0) == 0x80)
		n++;
	return n;
}
