#ifndef ADDER_STDIO_FDS_H
#define ADDER_STDIO_FDS_H

/* Opens /dev/null for each of the descriptors 0 to 2 that is closed, so that
 * no file of ours gets such a number. */
void	stdio_fds_secure(void);
/*
 * Takes stdin and stdout away from everything else: *in and *out are
 * private descriptors, close-on-exec, and from here on 0 is /dev/null and 1
 * is standard error.  -1 with errno.
 */
int	stdio_fds_take(int *in, int *out);
/* Whether epoll(7) can watch it: not a regular file, nor /dev/null. */
int	stdio_fd_pollable(int fd);

#endif
