#ifndef ADDER_CLEAN_PAGES_H
#define ADDER_CLEAN_PAGES_H

#include <stdio.h>

/* Unmaps the pages of files that this process has only read, so that no fork
 * has to copy their place in the page tables; they come back when they are
 * needed.  Both are of this process (proc(5)), from their beginning. */
void	clean_pages_drop(FILE *maps, FILE *pagemap);

#endif
