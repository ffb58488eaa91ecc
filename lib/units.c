#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "units.h"

struct unit {
	const char	*name;
	uint64_t	 factor;
};

static const struct unit sizes[] = {
	{ "g", 1024 * 1024 * 1024 }, { "m", 1024 * 1024 }, { "k", 1024 },
	{ "", 1 }, { NULL, 0 }
};

static const struct unit durations[] = {
	{ "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "s", 1000 },
	{ "", 1000 }, { "ms", 1 }, { NULL, 0 }
};

static int
unit_parse(const char *s, const struct unit *units, uint64_t *out)
{
	const struct unit *u;
	double value;
	char *end, *stop;

	if (!isdigit((unsigned char)*s))
		return -1;
	/* Digits and one point only: no hex floats, exponents or infinity. */
	for (end = (char *)s; isdigit((unsigned char)*end) || *end == '.';)
		end++;
	errno = 0;
	value = strtod(s, &stop);
	if (errno != 0 || stop != end)
		return -1;
	for (u = units; u->name != NULL; u++)
		if (strcasecmp(end, u->name) == 0)
			break;
	if (u->name == NULL)
		return -1;
	value = value * (double)u->factor;
	if (value > 9e15 || value != floor(value))
		return -1;
	*out = (uint64_t)value;
	return 0;
}

int
size_parse(const char *s, uint64_t *bytes)
{
	return unit_parse(s, sizes, bytes);
}

int
duration_parse(const char *s, uint64_t *ms)
{
	return unit_parse(s, durations, ms);
}

static void
unit_format(uint64_t value, const struct unit *units, char *buf, size_t len)
{
	const struct unit *u;

	for (u = units; u->name != NULL; u++)
		if (u->name[0] != '\0' && value != 0 &&
		    value % u->factor == 0) {
			snprintf(buf, len, "%" PRIu64 "%s", value / u->factor,
			    u->name);
			return;
		}
	snprintf(buf, len, "%" PRIu64, value);
}

void
size_format(uint64_t bytes, char *buf, size_t len)
{
	unit_format(bytes, sizes, buf, len);
}

void
duration_format(uint64_t ms, char *buf, size_t len)
{
	unit_format(ms, durations, buf, len);
}

void
size_text(uint64_t bytes, char *buf, size_t len)
{
	static const struct unit units[] = {
		{ "GiB", 1024 * 1024 * 1024 }, { "MiB", 1024 * 1024 },
		{ "KiB", 1024 }, { "bytes", 1 }
	};
	const struct unit *u = units;

	while (u->factor > 1 && (bytes == 0 || bytes % u->factor != 0))
		u++;
	snprintf(buf, len, "%" PRIu64 " %s", bytes / u->factor, u->name);
}

void
duration_text(uint64_t ms, char *buf, size_t len)
{
	snprintf(buf, len, "%.15g s", (double)ms / 1000.0);
}
