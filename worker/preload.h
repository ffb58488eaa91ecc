#ifndef ADDER_PRELOAD_H
#define ADDER_PRELOAD_H

#include <stdio.h>

/*
 * Fills the zygote with what programs import, and makes sure that it can be
 * forked.
 */

/*
 * Imports the comma-separated modules, warms the libraries up, runs
 * warm_file ("" for none).  A module that is missing is logged and left out.
 * -1 with *why (the caller's to free) if the zygote cannot serve.
 */
int	preload(const char *modules, const char *warm_file, char **why);
/*
 * The last use of Python before the first fork: takes back what a program
 * could notice and freezes the garbage collector.  -1 with *why.
 */
int	preload_settle(char **why);
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
