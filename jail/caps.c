#include "config.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "caps.h"

/* Above the last capability prctl(2) answers EINVAL. */
#define CAP_NUMBERS	64

static int
caps_get(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct hdr = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};

	return syscall(SYS_capget, &hdr, data);
}

int
caps_has(int cap)
{
	struct __user_cap_data_struct data[2];

	if (caps_get(data) == -1)
		return 0;
	return (data[cap / 32].effective >> cap % 32) & 1;
}

int
caps_drop_bounding(uint64_t drop)
{
	int cap;

	if (!caps_has(CAP_SETPCAP))
		return 0;
	for (cap = 0; cap < CAP_NUMBERS; cap++) {
		if ((drop & CAP_BIT(cap)) == 0)
			continue;
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == -1) {
			if (errno == EINVAL)
				break;
			return -1;
		}
	}
	return 0;
}

int
caps_set(uint64_t keep)
{
	struct __user_cap_header_struct hdr = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2];

	memset(data, 0, sizeof data);
	data[0].permitted = data[0].effective = (uint32_t)keep;
	data[1].permitted = data[1].effective = (uint32_t)(keep >> 32);
	if (syscall(SYS_capset, &hdr, data) == -1)
		return -1;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1 &&
	    errno != EINVAL)
		return -1;
	return 0;
}

int
ids_become(uid_t uid, gid_t gid)
{
	/* The raw calls: libc's forms signal all threads and may lock. */
	if (syscall(SYS_setgroups, 0, NULL) == -1 ||
	    syscall(SYS_setresgid, gid, gid, gid) == -1 ||
	    syscall(SYS_setresuid, uid, uid, uid) == -1)
		return -1;
	return 0;
}
