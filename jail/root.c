#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fdutil.h"
#include "root.h"

#ifndef AT_RECURSIVE
#define AT_RECURSIVE	0x8000
#endif

/* The tmpfs that holds mount points and synthetic files only. */
#define ROOT_OPTIONS	"size=512k,nr_inodes=1024,mode=0755"

/* As a directory, or as the symbolic link that merged systems have. */
static const char *const system_dirs[] = { "/usr", "/bin", "/sbin", "/lib",
    "/lib32", "/lib64", "/libx32", NULL };

static const char *const etc_paths[] = { "/etc/ld.so.cache",
    "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime",
    "/etc/timezone", "/etc/mime.types", "/etc/fonts", "/etc/matplotlibrc",
    "/etc/alternatives", "/etc/ssl/certs", NULL };

static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full",
    "/dev/random", "/dev/urandom", NULL };

static const struct {
	const char	*path;
	const char	*text;
} files[] = {
	{ "/etc/passwd", "root:x:0:0:root:/root:/usr/sbin/nologin\n"
	  "job:x:65534:65534:job:" JAIL_SCRATCH ":/usr/sbin/nologin\n" },
	{ "/etc/group", "root:x:0:\njob:x:65534:\n" },
	{ "/etc/nsswitch.conf", "passwd: files\ngroup: files\n"
	  "hosts: files\n" },
	{ "/etc/hosts", "127.0.0.1 localhost adder\n::1 localhost\n" },
};

static const struct {
	const char	*path;
	const char	*target;
} links[] = {
	{ "/tmp", JAIL_SCRATCH }, { "/var/tmp", JAIL_SCRATCH },
	{ "/dev/shm", JAIL_SCRATCH },
};

/* Makes every directory of path below the one that dirfd names, except the
 * last part where leaf is 0. */
static int
make_dirs(int dirfd, const char *path, int leaf)
{
	char part[PATH_MAX];
	size_t i, len = strlen(path);

	if (len >= sizeof part) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (i = 1; i <= len; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		if (path[i] == '\0' && !leaf)
			break;
		memcpy(part, path + 1, i - 1);
		part[i - 1] = '\0';
		if (part[0] != '\0' && mkdirat(dirfd, part, 0755) == -1 &&
		    errno != EEXIST)
			return -1;
	}
	return 0;
}

/* Attributes on a mount and all below it (mount_setattr(2), Linux 5.12). */
static int
set_attributes(int mnt, uint64_t attributes)
{
	struct mount_attr attr = { .attr_set = attributes };

	return syscall(SYS_mount_setattr, mnt, "",
	    AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr);
}

/* Attaches path, with what is mounted below it, at the same place below
 * root.  A path that does not exist is left out. */
static int
bind(int root, const char *path, uint64_t attributes)
{
	struct stat st;
	int mnt, fd, rv;

	mnt = syscall(SYS_open_tree, AT_FDCWD, path, OPEN_TREE_CLONE |
	    OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (mnt == -1)
		return errno == ENOENT ? 0 : -1;
	rv = fstat(mnt, &st);
	if (rv == 0)
		rv = make_dirs(root, path, S_ISDIR(st.st_mode));
	if (rv == 0 && !S_ISDIR(st.st_mode)) {
		fd = openat(root, path + 1, O_WRONLY | O_CREAT | O_CLOEXEC,
		    0444);
		rv = fd == -1 ? -1 : close(fd);
	}
	if (rv == 0)
		rv = set_attributes(mnt, attributes);
	if (rv == 0)
		rv = syscall(SYS_move_mount, mnt, "", root, path + 1,
		    MOVE_MOUNT_F_EMPTY_PATH);
	close(mnt);
	return rv;
}

#define READ_ONLY	(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | \
    MOUNT_ATTR_NODEV)

static int
add_system_dir(int root, const char *path)
{
	char target[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (lstat(path, &st) == -1)
		return errno == ENOENT ? 0 : -1;
	if (!S_ISLNK(st.st_mode))
		return bind(root, path, READ_ONLY);
	n = readlink(path, target, sizeof target - 1);
	if (n == -1)
		return -1;
	target[n] = '\0';
	return symlinkat(target, root, path + 1);
}

static int
add_all(int root, const char *const *paths, uint64_t attributes)
{
	for (; *paths != NULL; paths++)
		if (bind(root, *paths, attributes) == -1)
			return -1;
	return 0;
}

static int
is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 &&
	    (path[len] == '/' || path[len] == '\0');
}

/* Those below a system directory are there already. */
static int
add_kept(int root, const char *const *keep)
{
	const char *const *dir;

	for (; *keep != NULL; keep++) {
		for (dir = system_dirs; *dir != NULL; dir++)
			if (is_below(*keep, *dir))
				break;
		if (*dir != NULL)
			continue;
		if (bind(root, *keep, READ_ONLY) == -1)
			return -1;
	}
	return 0;
}

static int
add_files(int root)
{
	size_t i;
	int fd;

	for (i = 0; i < sizeof files / sizeof files[0]; i++) {
		if (make_dirs(root, files[i].path, 0) == -1)
			return -1;
		fd = openat(root, files[i].path + 1, O_WRONLY | O_CREAT |
		    O_EXCL | O_CLOEXEC, 0444);
		if (fd == -1)
			return -1;
		if (fd_write_all(fd, files[i].text,
		    strlen(files[i].text)) == -1) {
			close(fd);
			return -1;
		}
		close(fd);
	}
	/* Where Python lives below /tmp, that is a directory already. */
	for (i = 0; i < sizeof links / sizeof links[0]; i++)
		if (make_dirs(root, links[i].path, 0) == -1 ||
		    (symlinkat(links[i].target, root, links[i].path + 1) ==
		    -1 && errno != EEXIST))
			return -1;
	return make_dirs(root, JAIL_SCRATCH, 1);
}

/* pivot_root(2), section NOTES: both arguments may be ".", and the old root
 * then lies on top until it is detached. */
static int
pivot(int root)
{
	if (fchdir(root) == -1 || syscall(SYS_pivot_root, ".", ".") == -1 ||
	    umount2(".", MNT_DETACH) == -1)
		return -1;
	return chdir("/");
}

int
root_enter(const char *on, const char *const *keep, const char **step)
{
	const char *const *dir;
	int root, rv = -1;

	*step = "root-tmpfs";
	if (mount("tmpfs", on, "tmpfs", MS_NOSUID | MS_NODEV, ROOT_OPTIONS) ==
	    -1)
		return -1;
	root = open(on, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root == -1)
		return -1;
	*step = "root-system";
	for (dir = system_dirs; *dir != NULL; dir++)
		if (add_system_dir(root, *dir) == -1)
			goto out;
	*step = "root-etc";
	if (add_all(root, etc_paths, READ_ONLY) == -1)
		goto out;
	*step = "root-devices";
	if (add_all(root, devices, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC) ==
	    -1)
		goto out;
	*step = "root-python";
	if (add_kept(root, keep) == -1)
		goto out;
	*step = "root-files";
	if (add_files(root) == -1)
		goto out;
	*step = "root-pivot";
	if (pivot(root) == -1)
		goto out;
	*step = "root-read-only";
	rv = mount("none", "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY |
	    MS_NOSUID | MS_NODEV, NULL);
out:
	close(root);
	return rv;
}

int
root_mount_scratch(uint64_t bytes, uint64_t inodes, unsigned uid,
    unsigned gid)
{
	char options[160];

	snprintf(options, sizeof options,
	    "size=%llu,nr_inodes=%llu,mode=0700,uid=%u,gid=%u",
	    (unsigned long long)(bytes != 0 ? bytes : 1024ull << 20),
	    (unsigned long long)(inodes != 0 ? inodes + 1 : 65536), uid,
	    gid);
	return mount("tmpfs", JAIL_SCRATCH, "tmpfs", MS_NOSUID | MS_NODEV,
	    options);
}

int
root_show_only(const char *dir, const char *one)
{
	int mnt, rv = -1;

	mnt = syscall(SYS_open_tree, AT_FDCWD, one, OPEN_TREE_CLONE |
	    OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (mnt == -1)
		return -1;
	if (mount("tmpfs", dir, "tmpfs", MS_NOSUID | MS_NODEV,
	    "size=16k,nr_inodes=8,mode=0755") == 0 &&
	    mkdir(one, 0755) == 0 && set_attributes(mnt, READ_ONLY) == 0 &&
	    syscall(SYS_move_mount, mnt, "", AT_FDCWD, one,
	    MOVE_MOUNT_F_EMPTY_PATH) == 0)
		rv = mount("none", dir, NULL, MS_REMOUNT | MS_BIND |
		    MS_RDONLY | MS_NOSUID | MS_NODEV, NULL);
	close(mnt);
	return rv;
}
