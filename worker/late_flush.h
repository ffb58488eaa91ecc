#ifndef ADDER_LATE_FLUSH_H
#define ADDER_LATE_FLUSH_H

#include <stdint.h>

/*
 * Shortly before a job's time is up, whatever it has printed is flushed, so
 * that its output so far comes back although it is killed: standard output
 * is buffered in blocks, as under plain CPython, and a program that hangs
 * never gets to flush it.
 */

/* In the zygote: installs the handler; -1 with an exception set. */
int	late_flush_init(void);
/* In a worker whose job starts now.  Failure only loses what is not
 * flushed.  A timer is not inherited by children of the program. */
void	late_flush_arm(uint64_t timeout_ms);

#endif
