#ifndef ADDER_PRELOAD_H
#define ADDER_PRELOAD_H

#include <stdio.h>

/*
 * Fills the zygote with what programs import, and makes sure that it can be
 * forked.
 */

/*
 * Imports the comma-separated modules.  One that is missing is logged and
 * left out.  The garbage collector, which would find little, rests until
 * preload_warm() or preload_settle().  -1 with *why (the caller's to free) if
 * the zygote cannot serve.
 */
int	preload(const char *modules, char **why);
/* Warms up what was imported and runs warm_file ("" for none); what goes
 * wrong is logged. */
void	preload_warm(const char *warm_file);
/*
 * The last use of Python before the first fork: takes back what a program
 * could notice and freezes the garbage collector; thorough: after it has
 * collected what is there.  -1 with *why.
 */
int	preload_settle(int thorough, char **why);
/* Looks for garbage that imports left, which preload_settle() passes over. */
void	preload_collect(void);
/* "name version\n" lines, sorted (the caller frees). */
char	*preload_packages(void);
/* Pictures need hooks in matplotlib, if it is there.  -1 with *why. */
int	preload_hook_figures(char **why);
/*
 * Whether forks of this process are sound: one thread (from its own status in
 * /proc), no writable memory shared with others (its maps), no descriptor
 * beyond the reserved ones.  -1 with *why.
 */
int	preload_verify(FILE *status, FILE *maps, char **why);
int	preload_verify_fds(char **why);

/*
 * The directories that Python imports from, NULL-terminated; they live as
 * long as the process.
 */
char	**preload_directories(void);

#endif
