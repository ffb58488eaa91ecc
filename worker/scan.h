#ifndef ADDER_SCAN_H
#define ADDER_SCAN_H

#include <stddef.h>
#include <sys/stat.h>

/*
 * The regular files below a directory, without what programs and libraries
 * keep for themselves (directories that begin with a dot, __pycache__).
 * Links are not followed and other file systems not entered; the walk ends
 * after a bounded number of entries and is bounded in depth.
 */
#define SCAN_PATH_BYTES	1024

/* Calls visit for each file with its path below dirfd, which stays open. */
void	scan_files(int dirfd, void (*visit)(const char *path,
	    const struct stat *));

#endif
