#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rmtree.h"

/* Passes over the top directory; each one gets rid of a level. */
#define PASSES_MAX	1000000

static DIR *
open_dir(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	DIR *dir;

	if (fd == -1 && errno == EACCES &&
	    fchmodat(dirfd, name, 0700, 0) == 0)
		fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
	if (fd == -1)
		return NULL;
	dir = fdopendir(fd);
	if (dir == NULL)
		close(fd);
	else
		(void)fchmod(fd, 0700);
	return dir;
}

static int
is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Empties the directory name below top: files go, directories that are not
 * empty are moved up into top under a fresh name.  Then removes it. */
static int
remove_dir(int top, const char *name, uint64_t *fresh)
{
	struct dirent *e;
	char up[32];
	DIR *dir;
	int fd;

	if (unlinkat(top, name, AT_REMOVEDIR) == 0)
		return 0;
	dir = open_dir(top, name);
	if (dir == NULL)
		return -1;
	fd = dirfd(dir);
	while ((e = readdir(dir)) != NULL) {
		if (is_dots(e->d_name) ||
		    unlinkat(fd, e->d_name, 0) == 0 ||
		    unlinkat(fd, e->d_name, AT_REMOVEDIR) == 0)
			continue;
		do
			snprintf(up, sizeof up, ".gone-%llu",
			    (unsigned long long)(*fresh)++);
		while (faccessat(top, up, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
		/* Moving a directory rewrites its "..": it needs w. */
		(void)fchmodat(fd, e->d_name, 0700, 0);
		(void)renameat(fd, e->d_name, top, up);
	}
	closedir(dir);
	return unlinkat(top, name, AT_REMOVEDIR);
}

int
rmtree_at(int dirfd_parent, const char *name)
{
	uint64_t fresh = 0;
	int pass, left = 1;

	if (unlinkat(dirfd_parent, name, AT_REMOVEDIR) == 0 ||
	    errno == ENOENT)
		return 0;
	for (pass = 0; left > 0 && pass < PASSES_MAX; pass++) {
		DIR *dir = open_dir(dirfd_parent, name);
		int removed = 0;
		struct dirent *e;

		if (dir == NULL)
			return -1;
		left = 0;
		while ((e = readdir(dir)) != NULL) {
			if (is_dots(e->d_name))
				continue;
			left++;
			if (unlinkat(dirfd(dir), e->d_name, 0) == 0 ||
			    remove_dir(dirfd(dir), e->d_name, &fresh) == 0)
				removed++;
		}
		closedir(dir);
		if (left > 0 && removed == 0)
			break;
	}
	return unlinkat(dirfd_parent, name, AT_REMOVEDIR);
}
