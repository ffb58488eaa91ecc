#include "config.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fdutil.h"
#include "stdin_feed.h"

static int	stdin_write = -1;	/* other end of the job's stdin */

int
stdin_feed_prepare(void)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) == -1)
		return -1;
	if (dup2(fds[0], STDIN_FILENO) == -1)
		return -1;
	close(fds[0]);
	fd_close(&stdin_write);
	stdin_write = fds[1];
	return 0;
}

/* More than a pipe holds: a file without a name instead. */
static int
stdin_from_file(struct slice data)
{
	int fd = memfd_create("stdin", MFD_CLOEXEC);

	if (fd == -1)
		fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd == -1)
		return -1;
	if (fd_write_all(fd, data.data, data.len) == -1 ||
	    lseek(fd, 0, SEEK_SET) == -1 || dup2(fd, STDIN_FILENO) == -1) {
		close(fd);
		return -1;
	}
	return close(fd);
}

int
stdin_feed_give(struct slice data)
{
	int size, rv = 0;

	if (data.len > 0) {
		size = fcntl(stdin_write, F_GETPIPE_SZ);
		if (size < 0 || data.len > (size_t)size)
			size = fcntl(stdin_write, F_SETPIPE_SZ, data.len);
		if (size >= 0 && data.len <= (size_t)size)
			rv = fd_write_all(stdin_write, data.data, data.len);
		else
			rv = stdin_from_file(data);
	}
	fd_close(&stdin_write);
	return rv;
}
