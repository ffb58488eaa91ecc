#ifndef ADDER_FILE_RUN_H
#define ADDER_FILE_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "file_dir.h"

/*
 * What one run makes, as it comes, on its way into files.dir: nothing of it
 * is there under its own name before file_run_commit().  Names and bytes are
 * the program's.
 */

struct file_run;

/* Touches no disk yet.  session: "" for none; owner: whom a list shows it
 * later, "" for nobody. */
struct file_run	*file_run_new(struct file_dir *, const char *id,
		    const char *session, const char *owner);
/* Unless committed, what was written goes. */
void	 file_run_free(struct file_run **);
/*
 * Begins a file of size bytes, and ends one that was begun and has not all of
 * its own.  NULL, or why it is not kept: words to follow "left out: ".
 */
const char *file_run_begin(struct file_run *, const char *name,
	    uint64_t size);
/* The next bytes; the first of them tell its type.  NULL, or why the file is
 * given up, as above. */
const char *file_run_more(struct file_run *, const char *data, size_t len);
/* Under which name and type the last whole file is kept: two files of one
 * name get different ones.  Valid until the next file is begun. */
const char *file_run_name(const struct file_run *);
const char *file_run_type(const struct file_run *);
/* Puts the run under its own name; -1 if nothing of it is kept. */
int	 file_run_commit(struct file_run *);

#endif
