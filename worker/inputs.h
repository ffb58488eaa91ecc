#ifndef ADDER_INPUTS_H
#define ADDER_INPUTS_H

#include "msg.h"

/*
 * The files that come with a job, put into its scratch directory.  What lies
 * there under the same path is replaced; the program may be hostile and have
 * been here before, so no link is followed.
 */

/* The directory that they go to, for what follows. */
void	inputs_init(const char *scratch);
/* Writes one file; what fails is remembered. */
void	inputs_place(const struct msg_INPUT_FILE *);
/* NULL, or why a file could not be placed since this was last asked, as the
 * text of an OSError; valid until the next job. */
const char *inputs_trouble(void);

#endif
