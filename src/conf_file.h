#ifndef ADDER_CONF_FILE_H
#define ADDER_CONF_FILE_H

/*
 * Reads a file of "key = value" lines and calls set for each, with the line
 * that the value stands on; set returns -1 to stop.  Returns 0, or -1 with
 * *why (the caller's to free) one sentence; it stays NULL if set stopped.
 * again: not at the start, where a pipe may hold nobody up.
 */
int	conf_file_read(const char *path, int again, int (*set)(void *arg,
	    const char *key, const char *value, int line), void *arg,
	    char **why);

#endif
