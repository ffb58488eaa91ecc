#include "config.h"

#include <string.h>

#include "policy_name.h"

int
policy_parse(const char *s, enum policy *policy)
{
	if (strcmp(s, "isolated") == 0)
		*policy = POLICY_ISOLATED;
	else if (strcmp(s, "restricted") == 0)
		*policy = POLICY_RESTRICTED;
	else
		return -1;
	return 0;
}
