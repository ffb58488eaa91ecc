#ifndef ADDER_PYJOB_H
#define ADDER_PYJOB_H

#include "pycompat.h"

#include "pack.h"

/* One program and how it ended. */
struct pyjob {
	const char	*path;		/* absolute, of its file */
	struct slice	 source;	/* NUL-terminated */
	int		 status;	/* exit status so far */
	int		 exited;	/* by SystemExit */
	int		 interrupted;	/* an uncaught KeyboardInterrupt */
	int		 session;	/* the interpreter goes on after it */
};

/* In the zygote: -1 with an exception set. */
int	pyjob_init(void);
/* Runs a tiny program through the same code, for the pages it touches;
 * leaves no trace. */
void	pyjob_trial(const char *path);
/*
 * Runs the program in __main__, whose file is there already, with no Python
 * frame below it, and sends VALUE or EXCEPTION.  What an interpreter does
 * after its main program is left to pyend.
 */
void	pyjob_run(struct pyjob *);

#endif
