#ifndef ADDER_ZYGOTE_SETTLE_H
#define ADDER_ZYGOTE_SETTLE_H

#include "layers.h"

/* In a zygote, last of all that is Python: see runtime_settle().  -1 with
 * *why, a sentence the caller frees. */
int	zygote_settle(jail_set layers, char **why);
/* What failed, and the pending exception, as *why; -1. */
int	zygote_python_failed(const char *what, char **why);

#endif
