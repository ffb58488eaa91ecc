#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beneath.h"
#include "fdutil.h"
#include "inputs.h"
#include "seen.h"

static const char *scratch;
static char	trouble[BENEATH_PATH_MAX + 160];
static char	told[sizeof trouble];

void
inputs_init(const char *dir)
{
	scratch = dir;
	trouble[0] = '\0';
}

/* As Python words it, for what it is to a program: an OSError. */
static void
note(const char *path)
{
	if (trouble[0] == '\0')
		snprintf(trouble, sizeof trouble, "[Errno %d] %s: the file "
		    "'%s' of the argument files cannot be placed%s", errno,
		    strerror(errno), path, errno == EISDIR ?
		    ", because a directory is there" : errno == ENOTDIR ||
		    errno == ELOOP ? ", because a file or link stands where "
		    "a directory is needed" : "");
}

static int
write_file(int dirfd, const char *path, struct slice data)
{
	struct stat st;
	int fd = beneath_create(dirfd, path, 0666), rv;

	if (fd == -1)
		return -1;
	rv = fd_write_all(fd, data.data, data.len);
	if (rv == 0 && fstat(fd, &st) == 0)
		seen_replace(path, &st, seen_hash(SEEN_HASH_INIT, data.data,
		    data.len));
	close(fd);
	return rv;
}

void
inputs_place(const struct msg_INPUT_FILE *m)
{
	char path[BENEATH_PATH_MAX + 1];
	int dirfd;

	if (trouble[0] != '\0')
		return;
	snprintf(path, sizeof path, "%.*s", (int)m->path.len, m->path.data);
	if (m->path.len > BENEATH_PATH_MAX ||
	    beneath_trouble(path, m->path.len) != NULL) {
		errno = EINVAL;
		note(path);
		return;
	}
	dirfd = open(scratch, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dirfd == -1 || write_file(dirfd, path, m->data) == -1)
		note(path);
	if (dirfd != -1)
		close(dirfd);
}

const char *
inputs_trouble(void)
{
	memcpy(told, trouble, sizeof told);
	trouble[0] = '\0';
	return told[0] == '\0' ? NULL : told;
}
