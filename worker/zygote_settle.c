#include "config.h"

#include "pycompat.h"

#include <stdlib.h>

#include "interp.h"
#include "layers.h"
#include "mem.h"
#include "root.h"
#include "runtime.h"
#include "zygote_settle.h"

int
zygote_python_failed(const char *what, char **why)
{
	char *err = interp_take_error();

	xasprintf(why, "%s: %s", what, err);
	free(err);
	return -1;
}

int
zygote_settle(jail_set layers, char **why)
{
	if (runtime_settle(layers & JAIL_BIT(JAIL_PID) ? 1 : 0,
	    layers & JAIL_BIT(JAIL_MOUNT) ? JAIL_SCRATCH : NULL) == -1)
		return zygote_python_failed("making what workers share", why);
	return 0;
}
