#include "config.h"

#include <string.h>

#include "frame.h"

static const struct {
	unsigned	 type;
	unsigned	 dirs;
	size_t		 max;
	const char	*name;
} rules[] = {
#define X(name, num, dirs, max) { num, dirs, max, #name },
	FRAME_LIST(X)
#undef X
};

#define NRULES	(sizeof rules / sizeof rules[0])

const char *
frame_name(unsigned type)
{
	size_t i;

	for (i = 0; i < NRULES; i++)
		if (rules[i].type == type)
			return rules[i].name;
	return "unknown";
}

const char *
frame_rule(unsigned type, enum frame_dir dir, size_t len)
{
	size_t i;

	for (i = 0; i < NRULES; i++)
		if (rules[i].type == type)
			break;
	if (i == NRULES)
		return "frame type is not in the list";
	if ((rules[i].dirs & dir) == 0)
		return "frame type may not travel in this direction";
	if (len > rules[i].max)
		return "frame is longer than its type allows";
	return NULL;
}

static uint32_t
get_be(const unsigned char *p, unsigned n)
{
	uint32_t v = 0;

	while (n-- > 0)
		v = v << 8 | *p++;
	return v;
}

long
frame_split(const void *buf, size_t len, enum frame_dir dir, struct frame *f,
    size_t *need, const char **why)
{
	const unsigned char *p = buf;
	size_t body;
	unsigned type;

	*need = FRAME_HEADER_BYTES;
	if (len < FRAME_HEADER_BYTES)
		return 0;
	body = get_be(p, 4);
	type = get_be(p + 4, 2);
	if (get_be(p + 6, 2) != 0) {
		*why = "reserved header bytes are not zero";
		return -1;
	}
	if ((*why = frame_rule(type, dir, body)) != NULL)
		return -1;
	*need = FRAME_HEADER_BYTES + body;
	if (len < *need)
		return 0;
	f->type = type;
	f->payload = (const char *)buf + FRAME_HEADER_BYTES;
	f->len = body;
	return *need;
}

void
frame_header(char out[FRAME_HEADER_BYTES], enum frame_type type, size_t len)
{
	unsigned char *p = (unsigned char *)out;

	p[0] = len >> 24;
	p[1] = len >> 16;
	p[2] = len >> 8;
	p[3] = len;
	p[4] = (unsigned)type >> 8;
	p[5] = (unsigned)type;
	p[6] = p[7] = 0;
}
