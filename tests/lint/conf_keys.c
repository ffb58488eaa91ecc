/*
 * Prints CONF_LIST in the form in which tests/lint/man_keys.sh reads the
 * keys from man/adderd.conf.5.in.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "conf_keys.h"

static const char *
kind(const char *type)
{
	if (strcmp(type, "STR") == 0)
		return "text";
	if (strcmp(type, "UINT") == 0)
		return "number";
	if (strcmp(type, "SIZE") == 0)
		return "size";
	return strcmp(type, "TIME") == 0 ? "time" : "bool";
}

int
main(void)
{
#define X(field, type, key, def, min, max, when, help)			\
	printf("%s|%s|%s|%s\n", key, kind(#type),			\
	    def[0] == '\0' ? "empty" : def,				\
	    strcmp(#when, "RESTART") == 0 ? "restart" : "reload");
	CONF_PUBLIC_LIST(X)
#undef X
	return 0;
}
