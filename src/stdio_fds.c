#include "config.h"

#include <sys/epoll.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "fdutil.h"
#include "stdio_fds.h"

void
stdio_fds_secure(void)
{
	int fd;

	while ((fd = open("/dev/null", O_RDWR)) != -1)
		if (fd > STDERR_FILENO) {
			close(fd);
			break;
		}
}

/*
 * A descriptor of our own for the same pipe or terminal.  Opening it anew
 * gives it flags of its own: a dup(2) would share O_NONBLOCK with the shell
 * that started us and with our own standard error.
 */
static int
private_fd(int fd, int mode)
{
	char path[32];
	struct stat st;
	int new;

	if (fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) ||
	    S_ISCHR(st.st_mode))) {
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		new = open(path, mode | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (new != -1)
			return new;
	}
	return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

int
stdio_fds_take(int *in, int *out)
{
	int null;

	*in = private_fd(STDIN_FILENO, O_RDONLY);
	*out = private_fd(STDOUT_FILENO, O_WRONLY);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (*in == -1 || *out == -1 || null == -1 ||
	    dup2(null, STDIN_FILENO) == -1 ||
	    dup2(STDERR_FILENO, STDOUT_FILENO) == -1) {
		fd_close(in);
		fd_close(out);
		fd_close(&null);
		return -1;
	}
	close(null);
	return 0;
}

int
stdio_fd_pollable(int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC), rv;

	if (ep == -1)
		return 1;
	rv = epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
	close(ep);
	return rv == 0 || errno != EPERM;
}
