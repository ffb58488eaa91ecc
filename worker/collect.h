#ifndef ADDER_COLLECT_H
#define ADDER_COLLECT_H

/*
 * Sends the files that a job left in its scratch directory: pictures as
 * IMAGE, others as FILE.  Regular files only, links are not followed, other
 * file systems not entered.
 */

/* Remembers the program's own file, which is sent only if it changed. */
void	collect_init(const char *scratch, const char *program);
void	collect_send(void);

#endif
