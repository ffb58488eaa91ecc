#ifndef ADDER_PYMAIN_H
#define ADDER_PYMAIN_H

#include "pycompat.h"

/*
 * The module __main__ of a job: made new in each worker, because what is
 * older than the fork is frozen for the garbage collector and would never
 * be collected at the end.
 */

/* In the zygote: -1 with an exception set. */
int	pymain_init(void);
/* Installs a __main__ like that of `python3 path`; borrowed, or NULL with
 * an exception set. */
PyObject *pymain_make(const char *path);
/* What a script run ends with: __file__ and __cached__ go. */
void	pymain_unname(PyObject *dict);

/* Before a further program in the same __main__: names its file. */
void	pymain_set_file(const char *path);

#endif
