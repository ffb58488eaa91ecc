#include "config.h"

#include <stdlib.h>
#include <string.h>

#include <seccomp.h>

#include "syscall_filter.h"

#define NAMES_MAX	1024

/* Called in a worker only for messages, but the names are asked from
 * libseccomp before any fork: its lookup allocates. */
static const char *names[NAMES_MAX];

const char *
syscall_name(int nr)
{
	if (nr < 0 || nr >= NAMES_MAX)
		return "?";
	if (names[nr] == NULL)
		names[nr] = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE,
		    nr);
	return names[nr] != NULL ? names[nr] : "?";
}
