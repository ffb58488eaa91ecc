#ifndef ADDER_COLLECT_H
#define ADDER_COLLECT_H

#include <stdint.h>

/*
 * Sends the files that a run made or changed in its scratch directory:
 * pictures as IMAGE, others as FILE.  Regular files only; links are not
 * followed, other file systems not entered.
 */

/* For the run to come.  Its own file is sent only if it changed, and so is
 * what seen.h knows. */
void	collect_init(const char *scratch, const char *program);
/* How many files may be sent with their bytes, and how many bytes. */
void	collect_bounds(uint64_t files, uint64_t bytes);
/* There is only the program, and no one else makes files there: where that
 * can be told quickly, an end without files will be. */
void	collect_expect_nothing(void);
/* What lies there now is from before the run. */
void	collect_remember(void);
/* A picture file that shows what an IMAGE has shown already. */
void	collect_shown(const char *path);
/* Sends them; the number of files that no frame names. */
uint64_t collect_send(void);

#endif
