#include "config.h"

#include <string.h>

#include "picture_size.h"

/*
 * A picture with too many pixels stops a conversation for good, and a
 * program may name any size: so it is read from the bytes that clients will
 * read.  Numbers and places are from the specifications of PNG (11.2.2), GIF
 * 89a (18), WebP (RFC 9649, 2.5 to 2.7) and JPEG (ITU T.81, B.2.2).
 */

static uint32_t
big(const unsigned char *s, size_t n)
{
	uint32_t v = 0;

	while (n-- > 0)
		v = v << 8 | *s++;
	return v;
}

static uint32_t
little(const unsigned char *s, size_t n)
{
	uint32_t v = 0;

	while (n-- > 0)
		v = v << 8 | s[n];
	return v;
}

static uint32_t
longer(uint32_t a, uint32_t b)
{
	return a == 0 || b == 0 ? 0 : a > b ? a : b;
}

static uint32_t
webp_side(const unsigned char *s, size_t len)
{
	uint32_t bits;

	if (len < 30)
		return 0;
	if (memcmp(s + 12, "VP8X", 4) == 0)
		return longer(little(s + 24, 3) + 1, little(s + 27, 3) + 1);
	if (memcmp(s + 12, "VP8 ", 4) == 0)
		return longer(little(s + 26, 2) & 0x3fff,
		    little(s + 28, 2) & 0x3fff);
	if (memcmp(s + 12, "VP8L", 4) != 0)
		return 0;
	bits = little(s + 21, 4);
	return longer((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1);
}

/* Whether a segment with this marker is the header of a frame. */
static int
is_frame(unsigned char marker)
{
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 &&
	    marker != 0xc8 && marker != 0xcc;
}

/* Goes from segment to segment up to the header of the frame. */
static uint32_t
jpeg_side(const unsigned char *s, size_t len)
{
	size_t at = 2, n;

	while (len - at >= 9 && s[at] == 0xff) {
		if (is_frame(s[at + 1]))
			return longer(big(s + at + 5, 2), big(s + at + 7, 2));
		if (s[at + 1] == 0xff) {	/* a byte of filling */
			at++;
			continue;
		}
		n = 2 + big(s + at + 2, 2);
		if (n < 4 || n > len - at)
			return 0;
		at += n;
	}
	return 0;
}

uint32_t
picture_side(const char *data, size_t len)
{
	const unsigned char *s = (const unsigned char *)data;

	if (len >= 24 && memcmp(s, "\x89PNG\r\n\x1a\n", 8) == 0)
		return longer(big(s + 16, 4), big(s + 20, 4));
	if (len >= 10 && memcmp(s, "GIF8", 4) == 0)
		return longer(little(s + 6, 2), little(s + 8, 2));
	if (len >= 12 && memcmp(s, "RIFF", 4) == 0 &&
	    memcmp(s + 8, "WEBP", 4) == 0)
		return webp_side(s, len);
	if (len >= 3 && memcmp(s, "\xff\xd8\xff", 3) == 0)
		return jpeg_side(s, len);
	return 0;
}
