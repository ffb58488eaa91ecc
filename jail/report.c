#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

jail_set
jail_report_held(const struct jail_report *r)
{
	jail_set held = 0;
	int i;

	for (i = 0; i < JAIL_LAYERS; i++)
		if (r->layer[i].state == JAIL_HELD)
			held |= JAIL_BIT(i);
	return held;
}

const char *
jail_report_why(const struct jail_report *r, enum jail_layer l)
{
	switch (r->layer[l].state) {
	case JAIL_HELD:
		return "";
	case JAIL_UNNEEDED:
		return "not needed";
	case JAIL_OFF:
		return "switched off";
	case JAIL_ABSENT:
		break;
	}
	if (l == JAIL_SCRATCH && r->layer[l].error == ENOSPC)
		return "scratch.dir is no tmpfs";
	return strerror(r->layer[l].error);
}

/* Appends what fits. */
static void
append(char *buf, size_t size, const char *text)
{
	size_t at = strlen(buf);

	snprintf(buf + at, size - at, "%s", text);
}

static void
append_missing(const struct jail_report *r, char *buf, size_t size)
{
	const char *between = " missing: ";
	char one[160];
	int i;

	for (i = 0; i < JAIL_LAYERS; i++) {
		if (r->layer[i].state == JAIL_HELD ||
		    r->layer[i].state == JAIL_UNNEEDED)
			continue;
		snprintf(one, sizeof one, "%s%s (%s)", between,
		    jail_layer_name(i), jail_report_why(r, i));
		append(buf, size, one);
		between = ", ";
	}
}

char *
jail_report_line(const struct jail_report *r, char *buf, size_t size)
{
	jail_set held = jail_report_held(r);
	const char *between = " (";
	char one[64];
	int i;

	snprintf(buf, size, "%s", jail_tier_name(jail_tier_of(held)));
	for (i = 0; i < JAIL_LAYERS; i++) {
		if (r->layer[i].state != JAIL_HELD)
			continue;
		snprintf(one, sizeof one, "%s%s", between,
		    jail_layer_name(i));
		append(buf, size, one);
		if (i == JAIL_LANDLOCK) {
			snprintf(one, sizeof one, " %d", r->landlock_abi);
			append(buf, size, one);
		}
		between = "; ";
	}
	append(buf, size, held != 0 ? ")" : "");
	append_missing(r, buf, size);
	return buf;
}

char *
jail_report_format(const struct jail_report *r, char *buf, size_t size)
{
	char line[64];
	int i;

	snprintf(buf, size, "abi %d 0\n", r->landlock_abi);
	for (i = 0; i < JAIL_LAYERS; i++) {
		snprintf(line, sizeof line, "%s %d %d\n", jail_layer_name(i),
		    (int)r->layer[i].state, r->layer[i].error);
		append(buf, size, line);
	}
	return buf;
}

int
jail_report_parse(const char *text, size_t len, struct jail_report *r)
{
	const char *end = text + len, *nl;
	int i, state, error;
	char name[32], line[80];

	memset(r, 0, sizeof *r);
	for (i = -1; i < JAIL_LAYERS; i++) {
		nl = memchr(text, '\n', end - text);
		if (nl == NULL || (size_t)(nl - text) >= sizeof line)
			return -1;
		memcpy(line, text, nl - text);
		line[nl - text] = '\0';
		if (sscanf(line, "%31s %d %d", name, &state, &error) != 3)
			return -1;
		text = nl + 1;
		if (i == -1) {
			r->landlock_abi = state;
			continue;
		}
		if (strcmp(name, jail_layer_name(i)) != 0 || state < 0 ||
		    state > JAIL_OFF)
			return -1;
		r->layer[i].state = state;
		r->layer[i].error = error;
	}
	return 0;
}
