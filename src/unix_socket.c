#include "config.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fdutil.h"
#include "mem.h"
#include "system_names.h"
#include "unix_socket.h"

struct unix_socket {
	char		*path;
	struct stat	 st;		/* of the file that we made */
};

static int
new_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* 0 if the path is free now, else -1 with *why. */
static int
clear_path(const struct sockaddr_un *sa, char **why)
{
	struct stat st;
	int fd, rv;

	if (lstat(sa->sun_path, &st) == -1)
		return 0;	/* bind(2) says what else is wrong */
	if (!S_ISSOCK(st.st_mode)) {
		xasprintf(why, "listen.unix: %s exists and is not a socket; "
		    "remove it or choose another path", sa->sun_path);
		return -1;
	}
	fd = new_socket();
	rv = connect(fd, (const struct sockaddr *)sa, sizeof *sa);
	if (rv == -1 && errno == ECONNREFUSED)
		rv = unlink(sa->sun_path);
	else {
		/* EAGAIN: it is served, but its queue is full. */
		if (rv == 0 || errno == EAGAIN)
			errno = EADDRINUSE;
		rv = -1;
	}
	if (rv == -1)
		xasprintf(why, "listen.unix: %s: %s", sa->sun_path,
		    errno == EADDRINUSE ? "another server listens there; "
		    "stop it or choose another path" :
		    strerror(errno));
	close(fd);
	return rv;
}

static int
set_group(const char *path, const char *group, char **why)
{
	gid_t gid;

	if (group[0] == '\0')
		return 0;
	if (system_group(group, &gid, why) == -1)
		return -1;
	if (chown(path, -1, gid) == -1) {
		xasprintf(why, "listen.unix_group: cannot give %s to group "
		    "%s: %s", path, group, strerror(errno));
		return -1;
	}
	return 0;
}

static int
bind_path(int fd, const struct sockaddr_un *sa, char **why)
{
	/* Nobody may connect before the group is right. */
	mode_t old = umask(0177);
	int rv = bind(fd, (const struct sockaddr *)sa, sizeof *sa);

	umask(old);
	if (rv == -1)
		xasprintf(why, "listen.unix: cannot bind %s: %s",
		    sa->sun_path, strerror(errno));
	return rv;
}

struct unix_socket *
unix_socket_open(const char *path, mode_t mode, const char *group, int *fd,
    char **why)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	struct unix_socket *u;
	struct stat st;

	strncpy(sa.sun_path, path, sizeof sa.sun_path - 1);
	if (clear_path(&sa, why) == -1)
		return NULL;
	*fd = new_socket();
	if (bind_path(*fd, &sa, why) == -1) {
		fd_close(fd);
		return NULL;
	}
	if (set_group(path, group, why) == -1 || chmod(path, mode) == -1 ||
	    lstat(path, &st) == -1) {
		if (*why == NULL)
			xasprintf(why, "listen.unix: %s: %s", path,
			    strerror(errno));
		unlink(path);
		fd_close(fd);
		return NULL;
	}
	u = xcalloc(1, sizeof *u);
	u->path = xstrdup(path);
	u->st = st;
	return u;
}

/* An inode's number is used again, so it takes its time to know it by. */
static int
same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	    a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	    a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

void
unix_socket_close(struct unix_socket **up,
    void (*remover)(const char *, const struct stat *, void *), void *arg)
{
	struct unix_socket *u = *up;
	struct stat st;

	if (u == NULL)
		return;
	*up = NULL;
	if (lstat(u->path, &st) == 0 && same_file(&st, &u->st) &&
	    unlink(u->path) == -1 && remover != NULL)
		remover(u->path, &st, arg);
	free(u->path);
	free(u);
}
