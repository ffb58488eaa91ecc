#ifndef ADDER_FILE_DIR_LOAD_H
#define ADDER_FILE_DIR_LOAD_H

#include <stddef.h>

struct file_index;

/* Puts into the index what the directories runs and sessions hold; what is
 * not whole is removed from them and counted. */
void	file_dir_load_runs(struct file_index *, int runs, int sessions,
	    size_t *removed);

#endif
