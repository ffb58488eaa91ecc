#ifndef ADDER_STDIN_FEED_H
#define ADDER_STDIN_FEED_H

#include "pack.h"

/* Standard input of a job. */

/* It is a pipe from the start, so that sys.stdin is made over what it will
 * read; -1 with errno. */
int	stdin_feed_prepare(void);
/* All of the job's input, then end of file; -1 with errno. */
int	stdin_feed_give(struct slice);

#endif
