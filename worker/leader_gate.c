#include "config.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "leader_private.h"
#include "spawn.h"

/* Where the flag is missing the kernel cannot do it, and a fork fails. */
#ifndef SECCOMP_USER_NOTIF_FLAG_CONTINUE
#define SECCOMP_USER_NOTIF_FLAG_CONTINUE	1
#endif

int
leader_gate_answer(int gate, pid_t permitted)
{
	struct seccomp_notif_resp resp;
	struct seccomp_notif req;
	int ok;

	memset(&req, 0, sizeof req);
	if (ioctl(gate, SECCOMP_IOCTL_NOTIF_RECV, &req) == -1)
		return 0;	/* who asked is dead */
	/* All that is looked at is in registers, which cannot change. */
	ok = permitted != 0 && (pid_t)req.pid == permitted &&
	    req.data.nr == SYS_clone &&
	    req.data.args[0] == SPAWN_SIBLING_FLAGS;
	memset(&resp, 0, sizeof resp);
	resp.id = req.id;
	if (ok)
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else
		resp.error = -EPERM;
	if (ioctl(gate, SECCOMP_IOCTL_NOTIF_SEND, &resp) == -1)
		return 0;
	return ok;
}
