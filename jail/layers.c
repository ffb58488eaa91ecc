#include "config.h"

#include <stdio.h>
#include <string.h>

#include "layers.h"

static const struct {
	const char	*name;
	const char	*absent;
	const char	*remedy;
} layers[] = {
#define X(name, text, absent, remedy) { text, absent, remedy },
	JAIL_LAYER_LIST(X)
#undef X
};

static const char *const tiers[] = {
#define X(name, text) text,
	JAIL_TIER_LIST(X)
#undef X
};

const char *
jail_layer_name(enum jail_layer l)
{
	return layers[l].name;
}

const char *
jail_layer_absent(enum jail_layer l)
{
	return layers[l].absent;
}

const char *
jail_layer_remedy(enum jail_layer l)
{
	return layers[l].remedy;
}

const char *
jail_tier_name(enum jail_tier t)
{
	return tiers[t];
}

int
jail_tier_parse(const char *s, enum jail_tier *tier)
{
	int i;

	for (i = 0; i < JAIL_TIERS; i++)
		if (strcmp(s, tiers[i]) == 0) {
			*tier = i;
			return 0;
		}
	return -1;
}

static int
layer_find(const char *s, size_t len)
{
	int i;

	for (i = 0; i < JAIL_LAYERS; i++)
		if (strlen(layers[i].name) == len &&
		    memcmp(layers[i].name, s, len) == 0)
			return i;
	return -1;
}

int
jail_set_parse(const char *s, jail_set *set, const char **bad,
    size_t *bad_len)
{
	size_t len;
	int l;

	for (*set = 0; *s != '\0'; s += len) {
		s += strspn(s, ", ");
		len = strcspn(s, ", ");
		if (len == 0)
			continue;
		l = layer_find(s, len);
		if (l == -1) {
			*bad = s;
			*bad_len = len;
			return -1;
		}
		*set |= JAIL_BIT(l);
	}
	return 0;
}

char *
jail_set_format(jail_set set, char *buf, size_t size)
{
	size_t at = 0;
	int i;

	buf[0] = '\0';
	for (i = 0; i < JAIL_LAYERS; i++)
		if (set & JAIL_BIT(i) && at < size)
			at += snprintf(buf + at, size - at, "%s%s",
			    at > 0 ? "," : "", layers[i].name);
	return buf;
}

#define ALL(a)		((set & (a)) == (a))
#define NAMESPACES	(JAIL_BIT(JAIL_MOUNT) | JAIL_BIT(JAIL_PID) | \
    JAIL_BIT(JAIL_NET) | JAIL_BIT(JAIL_IPC))
#define BASE		(JAIL_BIT(JAIL_SECCOMP) | JAIL_BIT(JAIL_RLIMITS) | \
    JAIL_BIT(JAIL_NNP))

enum jail_tier
jail_tier_of(jail_set set)
{
	if (!ALL(BASE))
		return JAIL_TIER_NONE;
	if (ALL(NAMESPACES)) {
		if (ALL(JAIL_BIT(JAIL_UID) | JAIL_BIT(JAIL_CGROUP) |
		    JAIL_BIT(JAIL_LANDLOCK)))
			return JAIL_TIER_STRONG_PLUS;
		return JAIL_TIER_STRONG;
	}
	if (ALL(JAIL_BIT(JAIL_LANDLOCK) | JAIL_BIT(JAIL_SCOPE) |
	    JAIL_BIT(JAIL_SCRATCH)))
		return JAIL_TIER_MEDIUM;
	if (ALL(JAIL_BIT(JAIL_LANDLOCK)))
		return JAIL_TIER_WEAK;
	return JAIL_TIER_NONE;
}
