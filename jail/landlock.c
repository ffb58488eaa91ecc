#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "landlock.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset	444
#define SYS_landlock_add_rule		445
#define SYS_landlock_restrict_self	446
#endif

#define RULESET_VERSION		(1u << 0)	/* flag of create_ruleset */
#define RULE_PATH_BENEATH	1
#define RULE_NET_PORT		2

/* struct landlock_ruleset_attr as of ABI 6. */
struct ruleset_attr {
	uint64_t	fs;
	uint64_t	net;		/* ABI 4 */
	uint64_t	scoped;		/* ABI 6 */
};

struct path_beneath_attr {
	uint64_t	access;
	int32_t		parent_fd;
} __attribute__((packed));

struct net_port_attr {
	uint64_t	access;
	uint64_t	port;
};

#define FS_EXECUTE	(1ull << 0)
#define FS_WRITE_FILE	(1ull << 1)
#define FS_READ_FILE	(1ull << 2)
#define FS_READ_DIR	(1ull << 3)
#define FS_REMOVE_DIR	(1ull << 4)
#define FS_REMOVE_FILE	(1ull << 5)
#define FS_MAKE_CHAR	(1ull << 6)
#define FS_MAKE_DIR	(1ull << 7)
#define FS_MAKE_REG	(1ull << 8)
#define FS_MAKE_SOCK	(1ull << 9)
#define FS_MAKE_FIFO	(1ull << 10)
#define FS_MAKE_BLOCK	(1ull << 11)
#define FS_MAKE_SYM	(1ull << 12)
#define FS_REFER	(1ull << 13)	/* ABI 2 */
#define FS_TRUNCATE	(1ull << 14)	/* ABI 3 */
#define FS_IOCTL_DEV	(1ull << 15)	/* ABI 5 */

#define NET_BIND_TCP	(1ull << 0)
#define NET_CONNECT_TCP	(1ull << 1)

#define SCOPE_ABSTRACT_UNIX_SOCKET	(1ull << 0)
#define SCOPE_SIGNAL			(1ull << 1)

/* What may be allowed on a file that is no directory. */
#define FS_ON_FILE	(FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | \
    FS_TRUNCATE | FS_IOCTL_DEV)

int
landlock_abi(void)
{
	long v = syscall(SYS_landlock_create_ruleset, NULL, 0,
	    RULESET_VERSION);

	return v < 0 ? 0 : (int)v;
}

/* All file accesses that this version of the kernel can deny. */
static uint64_t
fs_known(int abi)
{
	uint64_t known = (FS_MAKE_SYM << 1) - 1;

	if (abi >= 2)
		known |= FS_REFER;
	if (abi >= 3)
		known |= FS_TRUNCATE;
	if (abi >= 5)
		known |= FS_IOCTL_DEV;
	return known;
}

static uint64_t
fs_allowed(enum landlock_use use)
{
	switch (use) {
	case LANDLOCK_READ:
		return FS_EXECUTE | FS_READ_FILE | FS_READ_DIR;
	case LANDLOCK_DEVICE:
		return FS_READ_FILE | FS_WRITE_FILE | FS_READ_DIR;
	case LANDLOCK_WORK:
		return ~(FS_EXECUTE | FS_MAKE_CHAR | FS_MAKE_BLOCK |
		    FS_MAKE_SOCK | FS_IOCTL_DEV);
	case LANDLOCK_BUILD:
		return ~(FS_MAKE_CHAR | FS_MAKE_BLOCK | FS_MAKE_SOCK |
		    FS_IOCTL_DEV);
	}
	return 0;
}

static int
add_path(int ruleset, const struct landlock_path *p, uint64_t known)
{
	struct path_beneath_attr rule;
	struct stat st;
	long rv;

	memset(&rule, 0, sizeof rule);
	rule.parent_fd = open(p->path, O_PATH | O_CLOEXEC);
	if (rule.parent_fd == -1)
		return errno == ENOENT || errno == EACCES ? 0 : -1;
	rule.access = fs_allowed(p->use) & known;
	if (fstat(rule.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.access &= FS_ON_FILE;
	rv = syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule,
	    0);
	close(rule.parent_fd);
	return rv == -1 ? -1 : 0;
}

int
landlock_ruleset(const struct landlock_path *paths, size_t n)
{
	struct ruleset_attr attr = { 0 };
	int abi = landlock_abi(), fd;
	size_t i, size = sizeof attr.fs;

	attr.fs = fs_known(abi);
	if (abi >= 4) {
		attr.net = NET_BIND_TCP | NET_CONNECT_TCP;
		size = 2 * sizeof attr.fs;
	}
	if (abi >= LANDLOCK_ABI_SCOPE) {
		attr.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
		size = sizeof attr;
	}
	fd = syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (fd == -1)
		return -1;
	for (i = 0; i < n; i++)
		if (add_path(fd, &paths[i], attr.fs) == -1) {
			int saved = errno;

			close(fd);
			errno = saved;
			return -1;
		}
	return fd;
}

int
landlock_allow_port(int ruleset, unsigned port)
{
	struct net_port_attr rule = { NET_CONNECT_TCP, port };

	if (landlock_abi() < 4)
		return 0;
	return syscall(SYS_landlock_add_rule, ruleset, RULE_NET_PORT, &rule,
	    0) == -1 ? -1 : 0;
}

int
landlock_scope_ruleset(void)
{
	struct ruleset_attr attr = { .scoped = SCOPE_ABSTRACT_UNIX_SOCKET |
	    SCOPE_SIGNAL };

	return syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
}

int
landlock_restrict(int ruleset)
{
	return syscall(SYS_landlock_restrict_self, ruleset, 0);
}
