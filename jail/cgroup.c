#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cgroup.h"
#include "cgroup_find.h"
#include "fdutil.h"
#include "mem.h"

struct cgroup_root {
	struct cgroup_place	place;
	int			fd;		/* directory of our groups */
	char			describe[PATH_MAX + 16];
};

static int
write_at(int dirfd, const char *path, const char *text)
{
	int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC), rv, saved;

	if (fd == -1)
		return -1;
	rv = fd_write_all(fd, text, strlen(text));
	saved = errno;
	close(fd);
	errno = saved;
	return rv;
}

static int
write_in(struct cgroup_root *r, uint64_t id, const char *file,
    const char *text)
{
	char path[96];

	snprintf(path, sizeof path, "%" PRIu64 "/%s", id, file);
	return write_at(r->fd, path, text);
}

static int
write_number(struct cgroup_root *r, uint64_t id, const char *file,
    uint64_t value)
{
	char text[32];

	snprintf(text, sizeof text, "%" PRIu64, value);
	return write_in(r, id, file, text);
}

static ssize_t
read_in(struct cgroup_root *r, uint64_t id, const char *file, char *buf,
    size_t size)
{
	char path[96];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "%" PRIu64 "/%s", id, file);
	fd = openat(r->fd, path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return -1;
	n = read(fd, buf, size - 1);
	close(fd);
	if (n >= 0)
		buf[n] = '\0';
	return n;
}

struct cgroup_root *
cgroup_open(void)
{
	struct cgroup_root *r = xcalloc(1, sizeof *r);

	r->fd = -1;
	if (cgroup_find(&r->place) == 0)
		r->fd = open(r->place.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->fd == -1) {
		int saved = errno;

		free(r);
		errno = saved;
		return NULL;
	}
	snprintf(r->describe, sizeof r->describe, "v%d at %s",
	    r->place.version, r->place.dir);
	return r;
}

void
cgroup_close(struct cgroup_root **rp)
{
	struct cgroup_root *r = *rp;

	if (r == NULL)
		return;
	*rp = NULL;
	close(r->fd);
	cgroup_leave(&r->place);
	free(r);
}

const char *
cgroup_describe(const struct cgroup_root *r)
{
	return r->describe;
}

static int
limit_v2(struct cgroup_root *r, uint64_t id, const struct limits *lim,
    int whole)
{
	if (lim->memory != 0 &&
	    (write_number(r, id, "memory.max", lim->memory) == -1 ||
	    write_in(r, id, "memory.oom.group", whole ? "1" : "0") == -1))
		return -1;
	/* Not there without swap accounting. */
	if (write_in(r, id, "memory.swap.max", "0") == -1 && errno != ENOENT)
		return -1;
	if (lim->pids != 0 &&
	    write_number(r, id, "pids.max", lim->pids) == -1 &&
	    errno != ENOENT)
		return -1;
	return 0;
}

static int
limit_v1(struct cgroup_root *r, uint64_t id, const struct limits *lim,
    int whole)
{
	if (lim->memory == 0)
		return 0;
	if (write_number(r, id, "memory.limit_in_bytes", lim->memory) == -1)
		return -1;
	/* Memory and swap together; not there without swap accounting. */
	if (write_number(r, id, "memory.memsw.limit_in_bytes",
	    lim->memory) == -1 && errno != ENOENT && errno != EACCES)
		return -1;
	return 0;
}

int
cgroup_make(struct cgroup_root *r, uint64_t id, const struct limits *lim,
    int whole)
{
	char name[32];

	snprintf(name, sizeof name, "%" PRIu64, id);
	if (mkdirat(r->fd, name, 0755) == -1)
		return -1;
	if ((r->place.version == 2 ? limit_v2 : limit_v1)(r, id, lim,
	    whole) == -1) {
		int saved = errno;

		unlinkat(r->fd, name, AT_REMOVEDIR);
		errno = saved;
		return -1;
	}
	return 0;
}

int
cgroup_attach(struct cgroup_root *r, uint64_t id, pid_t pid)
{
	return write_number(r, id, "cgroup.procs", pid);
}

/* Version 1 has no file for it. */
static void
kill_each(struct cgroup_root *r, uint64_t id)
{
	char buf[4096], *p = buf, *end;
	long pid;

	if (read_in(r, id, "cgroup.procs", buf, sizeof buf) <= 0)
		return;
	while ((pid = strtol(p, &end, 10)) > 0 && end != p) {
		kill(pid, SIGKILL);
		p = end;
	}
}

void
cgroup_kill(struct cgroup_root *r, uint64_t id)
{
	if (r->place.version == 1 ||
	    write_in(r, id, "cgroup.kill", "1") == -1)
		kill_each(r, id);
}

/* The number after "key " at the start of a line; 0 if it is not there. */
static uint64_t
find_number(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (; text != NULL && *text != '\0'; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (strncmp(text, key, len) == 0 && text[len] == ' ')
			return strtoull(text + len, NULL, 10);
	}
	return 0;
}

void
cgroup_usage(struct cgroup_root *r, uint64_t id, struct cgroup_usage *u)
{
	int v2 = r->place.version == 2;
	char buf[512];

	memset(u, 0, sizeof *u);
	if (read_in(r, id, v2 ? "memory.events" : "memory.oom_control", buf,
	    sizeof buf) > 0)
		u->kills = find_number(buf, "oom_kill");
	u->oom = u->kills > 0;
	if (read_in(r, id, v2 ? "memory.current" : "memory.usage_in_bytes",
	    buf, sizeof buf) > 0)
		u->now = strtoull(buf, NULL, 10);
	if (read_in(r, id, v2 ? "memory.peak" : "memory.max_usage_in_bytes",
	    buf, sizeof buf) > 0)
		u->peak_kib = strtoull(buf, NULL, 10) / 1024;
}

int
cgroup_remove(struct cgroup_root *r, uint64_t id)
{
	char name[32];

	snprintf(name, sizeof name, "%" PRIu64, id);
	return unlinkat(r->fd, name, AT_REMOVEDIR);
}
