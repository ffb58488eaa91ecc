#ifndef ADDER_FILE_ABOUT_H
#define ADDER_FILE_ABOUT_H

#include <stdio.h>

struct kept_run;

/*
 * The file that says what a directory of files.dir holds, lines of text:
 *
 *	adder run 1
 *	made 1767225600000
 *	owner uid 1000
 *	file 5120 image/png plots/a%20b.png
 *
 * It is written last, so a directory with one is whole.
 */

#define ABOUT_NAME	"about"
#define FILES_NAME	"files"

void	 file_about_write(const struct kept_run *, FILE *);
/* Reads what the other writes; -1 if it is anything else. */
int	 file_about_read(struct kept_run *, FILE *);
/* A path with every byte that is no letter, digit or one of -._~/ as %XX; the
 * caller frees. */
char	*path_encode(const char *);
/* The reverse, in place; -1 if it cannot be. */
int	 path_decode(char *);

#endif
