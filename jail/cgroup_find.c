#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cgroup_find.h"
#include "fdutil.h"

/* Room for the names that are appended to a group's path. */
#define PATH_ROOM	64

static int
write_path(const char *dir, const char *file, const char *text)
{
	char path[PATH_MAX];
	int fd, rv, saved;

	snprintf(path, sizeof path, "%.*s/%s", PATH_MAX - PATH_ROOM, dir,
	    file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd == -1)
		return -1;
	rv = fd_write_all(fd, text, strlen(text));
	saved = errno;
	close(fd);
	errno = saved;
	return rv;
}

static int
is_file_system(const char *path, long magic)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == magic;
}

/*
 * The path of our group in the hierarchy that has controller, "" meaning
 * version 2, from /proc/self/cgroup (cgroups(7)): "ID:CONTROLLERS:PATH".
 */
static int
own_group(const char *controller, char *out, size_t size)
{
	char line[PATH_MAX + 128], *list, *path, *one;
	FILE *f = fopen("/proc/self/cgroup", "re");
	int found = 0;

	if (f == NULL)
		return -1;
	while (!found && fgets(line, sizeof line, f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		list = strchr(line, ':');
		path = list != NULL ? strchr(list + 1, ':') : NULL;
		if (path == NULL)
			continue;
		*path++ = '\0';
		list++;
		if (*controller == '\0')
			found = *list == '\0';
		else
			while (!found && (one = strsep(&list, ",")) != NULL)
				found = strcmp(one, controller) == 0;
		if (found)
			snprintf(out, size, "%s",
			    strcmp(path, "/") == 0 ? "" : path);
	}
	fclose(f);
	if (!found)
		errno = ENOENT;
	return found ? 0 : -1;
}

static int
has_controllers(const char *dir)
{
	char path[PATH_MAX], buf[256];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "%.*s/cgroup.controllers",
	    PATH_MAX - PATH_ROOM, dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return 0;
	n = read(fd, buf, sizeof buf - 1);
	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return strstr(buf, "memory") != NULL;
}

/* What keepers that were killed have left: groups, all empty, below a
 * directory named by a pid that is not there any more. */
static void
remove_stale(const char *below)
{
	char path[PATH_MAX];
	struct dirent *e, *f;
	DIR *dir = opendir(below), *groups;
	char *end;
	long pid;

	while (dir != NULL && (e = readdir(dir)) != NULL) {
		if (strncmp(e->d_name, "adder-", 6) != 0)
			continue;
		pid = strtol(e->d_name + 6, &end, 10);
		if (*end != '\0' || pid <= 0 || kill(pid, 0) == 0 ||
		    errno != ESRCH)
			continue;
		snprintf(path, sizeof path, "%.*s/%.40s",
		    PATH_MAX - PATH_ROOM, below, e->d_name);
		groups = opendir(path);
		while (groups != NULL && (f = readdir(groups)) != NULL)
			if (f->d_name[0] >= '0' && f->d_name[0] <= '9')
				(void)unlinkat(dirfd(groups), f->d_name,
				    AT_REMOVEDIR);
		if (groups != NULL)
			closedir(groups);
		(void)rmdir(path);
	}
	if (dir != NULL)
		closedir(dir);
}

static int
make_own(struct cgroup_place *p, const char *below)
{
	remove_stale(below);
	snprintf(p->dir, sizeof p->dir, "%.*s/adder-%ld",
	    PATH_MAX - PATH_ROOM, below, (long)getpid());
	return mkdir(p->dir, 0755);
}

static void
enable_all(const char *dir)
{
	(void)write_path(dir, "cgroup.subtree_control", "+cpu");
	(void)write_path(dir, "cgroup.subtree_control", "+pids");
}

/* Moves this process and the one that started it into a leaf, so that the
 * group they were in may pass its controllers on. */
static int
step_aside(const char *dir)
{
	char leaf[PATH_MAX], pid[32];

	snprintf(leaf, sizeof leaf, "%.*s/server", PATH_MAX - PATH_ROOM, dir);
	if (mkdir(leaf, 0755) == -1 && errno != EEXIST)
		return -1;
	snprintf(pid, sizeof pid, "%ld", (long)getppid());
	(void)write_path(leaf, "cgroup.procs", pid);
	snprintf(pid, sizeof pid, "%ld", (long)getpid());
	return write_path(leaf, "cgroup.procs", pid);
}

static int
find_v2(struct cgroup_place *p)
{
	static const char *const mounts[] = { "/sys/fs/cgroup",
	    "/sys/fs/cgroup/unified" };
	char group[PATH_MAX - 2 * PATH_ROOM], dir[PATH_MAX - PATH_ROOM];
	char *last;
	size_t i;

	if (own_group("", group, sizeof group) == -1)
		return -1;
	for (i = 0; i < 2; i++)
		if (is_file_system(mounts[i], CGROUP2_SUPER_MAGIC))
			break;
	if (i == 2 || group[0] == '\0') {
		/* The root group is nobody's to divide. */
		errno = ENOENT;
		return -1;
	}
	snprintf(dir, sizeof dir, "%s%s", mounts[i], group);
	if (!has_controllers(dir)) {
		errno = ENOENT;
		return -1;
	}
	/* systemd's DelegateSubgroup= puts us into a leaf already. */
	last = strrchr(dir, '/');
	if (strcmp(last, "/server") == 0)
		*last = '\0';
	else if (access(dir, W_OK) == -1 || step_aside(dir) == -1)
		return -1;
	if (write_path(dir, "cgroup.subtree_control", "+memory") == -1)
		return -1;
	enable_all(dir);
	p->version = 2;
	if (make_own(p, dir) == -1)
		return -1;
	if (write_path(p->dir, "cgroup.subtree_control", "+memory") == -1) {
		rmdir(p->dir);
		return -1;
	}
	enable_all(p->dir);
	return 0;
}

static int
find_v1(struct cgroup_place *p)
{
	char group[PATH_MAX - 2 * PATH_ROOM], dir[PATH_MAX - PATH_ROOM];

	if (own_group("memory", group, sizeof group) == -1)
		return -1;
	if (!is_file_system("/sys/fs/cgroup/memory", CGROUP_SUPER_MAGIC)) {
		errno = ENOENT;
		return -1;
	}
	snprintf(dir, sizeof dir, "/sys/fs/cgroup/memory%s", group);
	p->version = 1;
	return make_own(p, dir);
}

int
cgroup_find(struct cgroup_place *p)
{
	if (find_v2(p) == 0)
		return 0;
	return find_v1(p);
}

void
cgroup_leave(const struct cgroup_place *p)
{
	rmdir(p->dir);
}
