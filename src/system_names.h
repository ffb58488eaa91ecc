#ifndef ADDER_SYSTEM_NAMES_H
#define ADDER_SYSTEM_NAMES_H

#include <sys/types.h>

struct conf;

/* Users and groups that the configuration names; -1 with *why, a sentence the
 * caller frees, if the system has no such one. */

int	system_user(const char *, uid_t *, gid_t *, char **why);
int	system_group(const char *, gid_t *, char **why);
/* Looks for all of them that a start would use. */
int	system_names_check(const struct conf *, char **why);

#endif
