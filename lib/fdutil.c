#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fdutil.h"

#define FD_COUNT_MAX	4096

int
fd_set_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags == -1)
		return -1;
	return fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

int
fd_set_cloexec(int fd, int on)
{
	return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0);
}

void
fd_close(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

int
fd_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;
	ssize_t n;

	while (len > 0) {
		n = write(fd, p, len);
		if (n == -1) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		p += n;
		len -= n;
	}
	return 0;
}

int
fd_read_all(int fd, void *data, size_t len)
{
	char *p = data;
	ssize_t n;

	while (len > 0) {
		n = read(fd, p, len);
		if (n == -1) {
			if (errno == EINTR)
				continue;
			return -1;
		}
		if (n == 0) {
			errno = ECONNRESET;
			return -1;
		}
		p += n;
		len -= n;
	}
	return 0;
}

int
fd_count(void)
{
	int fd, n = 0;

	for (fd = 0; fd < FD_COUNT_MAX; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			n++;
	return n;
}

int
pidfd_open_pid(pid_t pid)
{
	return syscall(SYS_pidfd_open, pid, 0);
}

ssize_t
fd_read_file(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd == -1)
		return -1;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n >= 0)
		buf[n] = '\0';
	return n;
}

/* The line "Pid:" of /proc/self/fdinfo/N (proc(5)). */
static pid_t
pidfd_pid(int pidfd)
{
	char path[64], buf[512], *line;

	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", pidfd);
	if (fd_read_file(path, buf, sizeof buf) <= 0)
		return -1;
	line = strstr(buf, "\nPid:");
	return line == NULL ? -1 : (pid_t)strtol(line + 5, NULL, 10);
}

#ifndef P_PIDFD
#define P_PIDFD	3	/* waitid(2), Linux 5.4 */
#endif

pid_t
pidfd_child_pid(int pidfd)
{
	siginfo_t si;

	if (waitid(P_PIDFD, pidfd, &si, WEXITED | WNOHANG | WNOWAIT) == -1)
		return -1;
	return pidfd_pid(pidfd);
}

int
pidfd_kill(int pidfd, int sig)
{
	return syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
}
