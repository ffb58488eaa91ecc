#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "addr.h"
#include "conf.h"
#include "conf_check.h"
#include "layers.h"
#include "log.h"
#include "mem.h"
#include "policy_name.h"
#include "units.h"

#define X(field, type, key, def, min, max, when, help)			\
	{ key, def, help, CONF_TYPE_##type, CONF_WHEN_##when, min, max,	\
	    offsetof(struct conf, field) },
const struct conf_key conf_keys[] = { CONF_LIST(X) };
#undef X
const size_t conf_nkeys = sizeof conf_keys / sizeof conf_keys[0];

const struct conf_key *
conf_key_find(const char *name)
{
	size_t i;

	for (i = 0; i < conf_nkeys; i++)
		if (strcmp(conf_keys[i].name, name) == 0)
			return &conf_keys[i];
	return NULL;
}

const char *
conf_key_expects(const struct conf_key *k, char *buf, size_t len)
{
	char lo[32], hi[32];

	switch (k->type) {
	case CONF_TYPE_UINT:
		snprintf(buf, len, "a whole number from %" PRIu64 " to %"
		    PRIu64, k->min, k->max);
		return buf;
	case CONF_TYPE_SIZE:
		size_format(k->min, lo, sizeof lo);
		size_format(k->max, hi, sizeof hi);
		snprintf(buf, len, "a size such as 512k or 64m, from %s to %s",
		    lo, hi);
		return buf;
	case CONF_TYPE_TIME:
		duration_format(k->min, lo, sizeof lo);
		duration_format(k->max, hi, sizeof hi);
		snprintf(buf, len,
		    "a duration such as 250ms or 5s, from %s to %s", lo, hi);
		return buf;
	case CONF_TYPE_BOOL:
		return "on or off";
	case CONF_TYPE_STR:
		break;
	}
	return "a text";
}

static int
parse_uint(const char *s, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)*s))
		return -1;
	errno = 0;
	*out = strtoull(s, &end, 10);
	return errno != 0 || *end != '\0' ? -1 : 0;
}

static int
parse_bool(const char *s, uint64_t *out)
{
	static const char *const words[] = { "off", "on", "no", "yes",
	    "false", "true", "0", "1" };
	size_t i;

	for (i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strcasecmp(s, words[i]) == 0) {
			*out = i % 2;
			return 0;
		}
	return -1;
}

static int
parse_number(const struct conf_key *k, const char *s, uint64_t *out)
{
	switch (k->type) {
	case CONF_TYPE_UINT:
		return parse_uint(s, out);
	case CONF_TYPE_SIZE:
		return size_parse(s, out);
	case CONF_TYPE_TIME:
		return duration_parse(s, out);
	case CONF_TYPE_BOOL:
		return parse_bool(s, out);
	case CONF_TYPE_STR:
		break;
	}
	return -1;
}

static const char *
check_mode(const char *s)
{
	size_t len = strlen(s);

	if (len < 3 || len > 4 || strspn(s, "01234567") != len ||
	    strtol(s, NULL, 8) > 0777)
		return "it must be octal permissions such as 0660";
	return NULL;
}

static const char *
check_directory(const char *s)
{
	if (s[0] != '\0' && s[0] != '/')
		return "it must be the path of a directory, from the root on";
	return NULL;
}

static const char *
check_level(const char *s)
{
	enum log_level level;

	if (log_level_parse(s, &level) == -1)
		return "it must be error, warn, info or debug";
	return NULL;
}

static const char *
check_unix(const char *s)
{
	if (strlen(s) >= sizeof ((struct sockaddr_un *)0)->sun_path)
		return "the path of a Unix socket is limited to 107 bytes; "
		    "choose a shorter one";
	return NULL;
}

static const char *
check_addresses(const char *s)
{
	const char *why;
	struct addr a;
	int rv;

	while ((rv = addr_next(&s, &a, &why)) == 1)
		;
	return rv == 0 ? NULL : why;
}

static const char *
check_modules(const char *s)
{
	for (; *s != '\0'; s++)
		if (!isalnum((unsigned char)*s) && strchr("_.,", *s) == NULL)
			return "it must be module names separated by commas";
	return NULL;
}

static const char *
check_sandbox_mode(const char *s)
{
	if (strcmp(s, "require") != 0 && strcmp(s, "off") != 0)
		return "it must be require or off";
	return NULL;
}

static const char *
check_policy(const char *s)
{
	enum policy policy;

	if (policy_parse(s, &policy) == -1)
		return "it must be isolated or restricted";
	return NULL;
}

static const char *
check_own_policy(const char *s)
{
	return s[0] == '\0' ? NULL : check_policy(s);
}

static const char *
check_tier(const char *s)
{
	enum jail_tier tier;

	if (jail_tier_parse(s, &tier) == -1 || tier == JAIL_TIER_NONE)
		return "it must be weak, medium, strong or strong+";
	return NULL;
}

static const char *
check_processes(const char *s)
{
	if (strcmp(s, "auto") != 0 && strcmp(s, "deny") != 0)
		return "it must be auto or deny";
	return NULL;
}

static const char *
check_layers(const char *s)
{
	const char *bad;
	jail_set set;
	size_t len;

	if (jail_set_parse(s, &set, &bad, &len) == -1)
		return "it must be names of layers separated by commas";
	return NULL;
}

static const char *
check_ports(const char *s)
{
	unsigned long port;
	char *end;

	for (; *s != '\0'; s = *end == ',' ? end + 1 : end) {
		port = strtoul(s, &end, 10);
		if (!isdigit((unsigned char)*s) || port == 0 || port > 65535 ||
		    (*end != ',' && *end != '\0'))
			return "it must be port numbers separated by commas";
	}
	return NULL;
}

static const char *
check_names(const char *s)
{
	for (; *s != '\0'; s++)
		if (!isalnum((unsigned char)*s) &&
		    strchr("._-*?, ", *s) == NULL)
			return "it must be names of packages separated by "
			    "commas";
	return NULL;
}

static const char *
check_printable(const char *s)
{
	for (; *s != '\0'; s++)
		if (iscntrl((unsigned char)*s))
			return "it must not contain control characters";
	return NULL;
}

static const struct {
	const char	*key;
	const char	*(*check)(const char *);
} text_checks[] = {
	{ "files.dir",		check_directory },
	{ "listen.unix",	check_unix },
	{ "listen.unix_mode",	check_mode },
	{ "listen.tcp",		check_addresses },
	{ "listen.http",	check_addresses },
	{ "deps.allow",		check_names },
	{ "deps.deny",		check_names },
	{ "deps.ports",		check_ports },
	{ "log.level",		check_level },
	{ "listen.unix_policy",	check_own_policy },
	{ "listen.tcp_policy",	check_own_policy },
	{ "listen.http_policy",	check_own_policy },
	{ "policy",		check_policy },
	{ "python.modules",	check_modules },
	{ "sandbox.mode",	check_sandbox_mode },
	{ "sandbox.minimum",	check_tier },
	{ "sandbox.processes",	check_processes },
	{ "sandbox.without",	check_layers }
};

int
conf_key_check(const struct conf_key *k, const char *value,
    const char **detail)
{
	uint64_t n;
	size_t i;

	*detail = NULL;
	if (k->type != CONF_TYPE_STR) {
		if (parse_number(k, value, &n) == -1)
			return -1;
		return k->type != CONF_TYPE_BOOL && (n < k->min || n > k->max)
		    ? -1 : 0;
	}
	*detail = check_printable(value);
	for (i = 0; *detail == NULL &&
	    i < sizeof text_checks / sizeof text_checks[0]; i++)
		if (strcmp(text_checks[i].key, k->name) == 0)
			*detail = text_checks[i].check(value);
	return *detail == NULL ? 0 : -1;
}

void
conf_key_store(const struct conf_key *k, struct conf *c, const char *value)
{
	void *field = (char *)c + k->offset;
	uint64_t n = 0;

	if (k->type == CONF_TYPE_STR) {
		free(*(char **)field);
		*(char **)field = xstrdup(value);
		return;
	}
	parse_number(k, value, &n);
	if (k->type == CONF_TYPE_BOOL)
		*(int *)field = n;
	else
		*(uint64_t *)field = n;
}

char *
conf_key_format(const struct conf_key *k, const struct conf *c)
{
	const void *field = (const char *)c + k->offset;
	char buf[32];

	switch (k->type) {
	case CONF_TYPE_STR:
		return xstrdup(*(char *const *)field);
	case CONF_TYPE_BOOL:
		return xstrdup(*(const int *)field ? "on" : "off");
	case CONF_TYPE_SIZE:
		size_format(*(const uint64_t *)field, buf, sizeof buf);
		break;
	case CONF_TYPE_TIME:
		duration_format(*(const uint64_t *)field, buf, sizeof buf);
		break;
	case CONF_TYPE_UINT:
		snprintf(buf, sizeof buf, "%" PRIu64,
		    *(const uint64_t *)field);
		break;
	}
	return xstrdup(buf);
}
