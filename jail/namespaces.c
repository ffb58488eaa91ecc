#include "config.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "caps.h"
#include "fdutil.h"
#include "namespaces.h"

static int
write_file(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), rv;

	if (fd == -1)
		return -1;
	rv = fd_write_all(fd, text, len);
	close(fd);
	return rv;
}

/* Maps the one id that an unprivileged process may map: its own. */
static int
map_ids(uid_t uid, gid_t gid)
{
	char line[64];
	int n;

	if (write_file("/proc/self/setgroups", "deny", 4) == -1)
		return -1;
	n = snprintf(line, sizeof line, "%d %u 1", JAIL_USERNS_ID,
	    (unsigned)uid);
	if (write_file("/proc/self/uid_map", line, n) == -1)
		return -1;
	n = snprintf(line, sizeof line, "%d %u 1", JAIL_USERNS_ID,
	    (unsigned)gid);
	return write_file("/proc/self/gid_map", line, n);
}

static int
enter_userns(const char **step)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	*step = "userns";
	/* The map files belong to root in a process that is not dumpable. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == -1 ||
	    unshare(CLONE_NEWUSER) == -1)
		return -1;
	*step = "userns-map";
	return map_ids(uid, gid);
}

int
namespaces_enter(jail_set want, const char **step)
{
	static const struct {
		enum jail_layer	 layer;
		int		 flag;
		const char	*step;
	} parts[] = {
		{ JAIL_MOUNT, CLONE_NEWNS, "mount" },
		{ JAIL_NET, CLONE_NEWNET, "net" },
		{ JAIL_IPC, CLONE_NEWIPC, "ipc" },
		{ JAIL_UTS, CLONE_NEWUTS, "uts" },
	};
	size_t i;

	if (want & JAIL_BIT(JAIL_USERNS) && enter_userns(step) == -1)
		return -1;
	for (i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		*step = parts[i].step;
		if (want & JAIL_BIT(parts[i].layer) &&
		    unshare(parts[i].flag) == -1)
			return -1;
	}
	*step = "private-mounts";
	if (want & JAIL_BIT(JAIL_MOUNT) &&
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)
		return -1;
	*step = "hostname";
	if (want & JAIL_BIT(JAIL_UTS) && sethostname("adder", 5) == -1)
		return -1;
	return 0;
}

unsigned long long
namespaces_worker_flags(jail_set have)
{
	unsigned long long flags = 0;

	if (have & JAIL_BIT(JAIL_PID))
		flags |= CLONE_NEWPID;
	if (have & JAIL_BIT(JAIL_MOUNT))
		flags |= CLONE_NEWNS;
	if (have & JAIL_BIT(JAIL_IPC))
		flags |= CLONE_NEWIPC;
	return flags;
}
