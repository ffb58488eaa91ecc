#ifndef ADDER_FDUTIL_H
#define ADDER_FDUTIL_H

#include <stddef.h>
#include <sys/types.h>

int	fd_set_nonblock(int);
int	fd_set_cloexec(int, int on);
/* Closes *fd if it is not -1 and sets it to -1. */
void	fd_close(int *fd);
/* Write or read all of it, over EINTR and short counts; blocking
 * descriptors only.  -1 on error or, for reading, on an early end. */
int	fd_write_all(int, const void *, size_t);
int	fd_read_all(int, void *, size_t);
/* Reads the beginning of a small file in one go, as proc(5) wants it, and
 * ends it with NUL.  Bytes read, at most size - 1; -1 with errno. */
ssize_t	fd_read_file(const char *path, char *buf, size_t size);
/* Descriptors open in this process, counted by F_GETFD up to a bound. */
int	fd_count(void);
/* pidfd_send_signal(2), pidfd_open(2): Linux 5.3. */
int	pidfd_open_pid(pid_t);
int	pidfd_kill(int pidfd, int sig);
/* The process id of the child that a pidfd names, alive or not yet reaped;
 * -1 if it is no child of this process. */
pid_t	pidfd_child_pid(int pidfd);

#endif
