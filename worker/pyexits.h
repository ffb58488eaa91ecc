#ifndef ADDER_PYEXITS_H
#define ADDER_PYEXITS_H

/*
 * Exit handlers: those that a program registers with atexit, and those that
 * the libraries registered when the zygote imported them.
 */

/* In the zygote, after all imports: -1 with an exception set. */
int	pyexits_init(void);
/* Runs them, the program's first, as CPython does with handlers that were
 * registered later.  One of a library is left out where it has nothing to
 * do: running it costs more than a short program. */
void	pyexits_run(void);

#endif
