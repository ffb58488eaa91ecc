#ifndef ADDER_UNIX_SOCKET_H
#define ADDER_UNIX_SOCKET_H

#include <sys/types.h>

struct stat;
struct unix_socket;

/*
 * Binds a Unix stream socket, not yet listening, with these permissions and
 * this group ("" leaves it alone).  A socket file that nobody serves any
 * more is replaced; anything else in its place is an error.  NULL with *why
 * (the caller's to free); *fd is the caller's.
 */
struct unix_socket *unix_socket_open(const char *path, mode_t,
		    const char *group, int *fd, char **why);
/* Removes the file unless another one has taken its place; by way of remove
 * where we may not do it ourselves. */
void		 unix_socket_close(struct unix_socket **,
		    void (*remove)(const char *, const struct stat *, void *),
		    void *arg);

#endif
