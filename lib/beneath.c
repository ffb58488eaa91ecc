#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "beneath.h"

static const char *
part_trouble(const char *part, size_t len)
{
	size_t i;

	if (len == 0)
		return "not begin or end with a slash or have two in a row";
	if (len > NAME_MAX)
		return "have no part of more than 255 bytes";
	if (part[0] == '.' && (len == 1 || (len == 2 && part[1] == '.')))
		return "not have \".\" or \"..\" as a part";
	for (i = 0; i < len; i++)
		if ((unsigned char)part[i] < 0x20 || part[i] == 0x7f)
			return "not have control characters";
	return NULL;
}

const char *
beneath_trouble(const char *path, size_t len)
{
	const char *why, *end = path + len, *slash;
	int depth = 0;

	if (len == 0)
		return "not be empty";
	if (len > BENEATH_PATH_MAX)
		return "not be longer than 1000 bytes";
	if (path[0] == '/')
		return "be relative, without a slash at its start";
	for (;; path = slash + 1) {
		slash = memchr(path, '/', end - path);
		if (++depth > BENEATH_DEPTH_MAX)
			return "not have more than 16 parts";
		why = part_trouble(path, (slash != NULL ? slash : end) - path);
		if (why != NULL || slash == NULL)
			return why;
	}
}

/* A directory below dirfd by one name, on the same file system. */
static int
open_part(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	struct stat here, there;

	if (fd == -1)
		return -1;
	if (fstat(dirfd, &here) == 0 && fstat(fd, &there) == 0 &&
	    here.st_dev == there.st_dev)
		return fd;
	close(fd);
	errno = EXDEV;
	return -1;
}

/*
 * Opens the directory that holds the last part of a path; *last is set to
 * that part.  With make, directories that are not there are made.
 */
static int
open_parent(int dirfd, const char *path, int make, const char **last)
{
	char part[NAME_MAX + 1];
	const char *slash;
	int fd = fcntl(dirfd, F_DUPFD_CLOEXEC, 0), next;

	while (fd != -1 && (slash = strchr(path, '/')) != NULL) {
		if (slash - path > NAME_MAX) {
			close(fd);
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(part, path, slash - path);
		part[slash - path] = '\0';
		if (strcmp(part, "..") == 0 || part[0] == '\0') {
			close(fd);
			errno = EXDEV;
			return -1;
		}
		if (make && mkdirat(fd, part, 0777) == -1 && errno != EEXIST) {
			close(fd);
			return -1;
		}
		next = open_part(fd, part);
		close(fd);
		fd = next;
		path = slash + 1;
	}
	*last = path;
	return fd;
}

static int
open_by_parts(int dirfd, const char *path, int flags, mode_t mode)
{
	const char *last;
	int parent = open_parent(dirfd, path, 0, &last), fd;

	if (parent == -1)
		return -1;
	if (strcmp(last, "..") == 0) {
		close(parent);
		errno = EXDEV;
		return -1;
	}
	fd = openat(parent, last, flags | O_NOFOLLOW | O_CLOEXEC, mode);
	close(parent);
	return fd;
}

int
beneath_open(int dirfd, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = flags | O_NOFOLLOW | O_CLOEXEC,
		.mode = flags & (O_CREAT | O_TMPFILE) ? mode : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
		    RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV
	};
	int fd = syscall(SYS_openat2, dirfd, path, &how, sizeof how);

	if (fd == -1 && (errno == ENOSYS || errno == EPERM))
		return open_by_parts(dirfd, path, flags, mode);
	return fd;
}

int
beneath_make_dirs(int dirfd, const char *path)
{
	const char *last;
	int fd = open_parent(dirfd, path, 1, &last);

	return fd == -1 ? -1 : close(fd);
}

int
beneath_create(int dirfd, const char *path, mode_t mode)
{
	const char *last;
	int fd = -1, parent = open_parent(dirfd, path, 1, &last);

	if (parent == -1)
		return -1;
	if (unlinkat(parent, last, 0) == 0 || errno == ENOENT)
		fd = openat(parent, last, O_WRONLY | O_CREAT | O_EXCL |
		    O_NOFOLLOW | O_CLOEXEC, mode);
	close(parent);
	return fd;
}
