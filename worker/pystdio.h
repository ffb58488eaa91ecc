#ifndef ADDER_PYSTDIO_H
#define ADDER_PYSTDIO_H

#include "pycompat.h"

/*
 * sys.stdin, sys.stdout and sys.stderr of workers: new objects over
 * descriptors 0, 1 and 2, made as CPython makes them when it starts
 * (create_stdio in pylifecycle.c).
 */

/* In the zygote: remembers encodings and constructors; -1 with an
 * exception set. */
int	pystdio_init(void);
/* Makes and installs the three: in the zygote, over pipes such as a worker
 * will have at these descriptors; -1 with an exception set. */
int	pystdio_make(void);
/* Has standard output flushed at the end of each line, as on a terminal, for
 * somebody who reads it while the program runs.  Failure only delays it. */
void	pystdio_live(void);
/* Whether sys.stderr is still the object that pystdio_make() made. */
int	pystdio_stderr_is_ours(void);
/* flush_io() of CPython: after the code, errors are dropped. */
void	pystdio_flush_quietly(void);
/* flush_std_files() of CPython: at the end, -1 if an error was reported. */
int	pystdio_flush_final(void);

/* In a session, before a further job: sys.stdin is made anew, so that nothing
 * of the last job's input is left in it, unless the program has set another
 * one.  -1 with an exception set. */
int	pystdio_renew_stdin(void);

#endif
