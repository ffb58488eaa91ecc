#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scan.h"

#define DEPTH_MAX	8
#define ENTRIES_MAX	20000	/* looked at before giving up */

struct walk {
	void	(*visit)(const char *, const struct stat *);
	dev_t	 dev;
	size_t	 entries;
};

static void	scan_dir(struct walk *, int dirfd, const char *, int depth);

static int
is_private_dir(const char *name)
{
	return name[0] == '.' || strcmp(name, "__pycache__") == 0;
}

static void
scan_entry(struct walk *w, int dirfd, const char *prefix, const char *name,
    int depth)
{
	char path[SCAN_PATH_BYTES];
	struct stat st;
	int fd;

	if ((size_t)snprintf(path, sizeof path, "%s%s", prefix, name) >=
	    sizeof path - 1 ||
	    fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
	    st.st_dev != w->dev)
		return;
	if (S_ISREG(st.st_mode))
		w->visit(path, &st);
	if (!S_ISDIR(st.st_mode) || is_private_dir(name) || depth == DEPTH_MAX)
		return;
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1)
		return;
	strcat(path, "/");
	scan_dir(w, fd, path, depth + 1);
}

/* Takes over dirfd. */
static void
scan_dir(struct walk *w, int dirfd, const char *prefix, int depth)
{
	struct dirent *d;
	DIR *dir = fdopendir(dirfd);

	if (dir == NULL) {
		close(dirfd);
		return;
	}
	while (w->entries < ENTRIES_MAX && (d = readdir(dir)) != NULL) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		w->entries++;
		scan_entry(w, dirfd, prefix, d->d_name, depth);
	}
	closedir(dir);
}

void
scan_files(int dirfd, void (*visit)(const char *, const struct stat *))
{
	struct walk w = { visit, 0, 0 };
	struct stat st;
	int fd = dup(dirfd);

	if (fd == -1)
		return;
	if (fstat(fd, &st) == -1) {
		close(fd);
		return;
	}
	w.dev = st.st_dev;
	scan_dir(&w, fd, "", 0);
}
