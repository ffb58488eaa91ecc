/*
 * container_like [--user ID] [--tmpfs DIR:OPTIONS] [--no-notify]
 *	PROGRAM [ARGUMENT...]
 *
 * Runs a program about as a container engine with its usual settings does:
 * under a system call filter that refuses namespaces, mounts and what else
 * Docker's default profile refuses to a process without capabilities
 * (https://docs.docker.com/engine/security/seccomp/), as an ordinary user,
 * with a directory on a tmpfs of limited size.  With --no-notify seccomp(2)
 * has no user notification, as before Linux 5.0.  The first two options need
 * root; the tmpfs is in a mount namespace that goes with the program.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <seccomp.h>

#define CLONE_NEW_ANY	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | \
    CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

static const char *const refused[] = {
	/* namespaces and mounts */
	"unshare", "setns", "mount", "umount", "umount2", "pivot_root",
	"chroot", "open_tree", "move_mount", "fsopen", "fsmount", "fsconfig",
	"fspick", "mount_setattr", "open_tree_attr", "listmount",
	"statmount",
	/* keys, tracing, other processes */
	"add_key", "request_key", "keyctl", "bpf", "perf_event_open",
	"process_vm_readv", "process_vm_writev", "process_madvise", "kcmp",
	"pidfd_getfd", "userfaultfd", "lookup_dcookie", "fanotify_init",
	"io_uring_setup", "io_uring_enter", "io_uring_register",
	/* the machine */
	"acct", "clock_adjtime", "clock_settime", "settimeofday", "stime",
	"create_module", "delete_module", "finit_module", "init_module",
	"get_kernel_syms", "query_module", "kexec_file_load", "kexec_load",
	"ioperm", "iopl", "modify_ldt", "nfsservctl", "personality",
	"quotactl", "quotactl_fd", "reboot", "sethostname", "setdomainname",
	"swapon", "swapoff", "sysfs", "_sysctl", "syslog", "uselib",
	"ustat", "vhangup", "vm86", "vm86old",
	/* by number of device or handle, and memory policy */
	"mknod", "mknodat", "name_to_handle_at", "open_by_handle_at",
	"get_mempolicy", "set_mempolicy", "set_mempolicy_home_node", "mbind",
	"move_pages",
};

static void	die(const char *what) __attribute__((noreturn));
static void	usage(void) __attribute__((noreturn));

static void
die(const char *what)
{
	fprintf(stderr, "container_like: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void
usage(void)
{
	fprintf(stderr, "usage: container_like [--user ID] "
	    "[--tmpfs DIR:OPTIONS] [--no-notify] PROGRAM [ARGUMENT...]\n");
	exit(2);
}

static void
rule(scmp_filter_ctx ctx, int err, const char *name, unsigned nargs,
    struct scmp_arg_cmp arg)
{
	int nr = seccomp_syscall_resolve_name(name), rv;

	if (nr == __NR_SCMP_ERROR || nr < 0)
		return;		/* not on this machine */
	rv = seccomp_rule_add_array(ctx, SCMP_ACT_ERRNO(err), nr, nargs,
	    &arg);
	if (rv < 0) {
		errno = -rv;
		die(name);
	}
}

static void
refuse_notification(scmp_filter_ctx ctx)
{
	rule(ctx, EINVAL, "seccomp", 1, (struct scmp_arg_cmp)
	    SCMP_A0(SCMP_CMP_EQ, SECCOMP_GET_NOTIF_SIZES, 0));
	rule(ctx, EINVAL, "seccomp", 1, (struct scmp_arg_cmp)
	    SCMP_A1(SCMP_CMP_MASKED_EQ, SECCOMP_FILTER_FLAG_NEW_LISTENER,
	    SECCOMP_FILTER_FLAG_NEW_LISTENER));
}

static void
load_filter(int no_notify)
{
	static const struct scmp_arg_cmp none;
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	unsigned flag;
	size_t i;
	int rv;

	if (ctx == NULL)
		die("filter");
	for (i = 0; i < sizeof refused / sizeof refused[0]; i++)
		rule(ctx, EPERM, refused[i], 0, none);
	/* So that libc uses clone(2), whose flags a filter can see. */
	rule(ctx, ENOSYS, "clone3", 0, none);
	for (flag = 1; flag != 0; flag <<= 1)
		if (flag & CLONE_NEW_ANY)
			rule(ctx, EPERM, "clone", 1, (struct scmp_arg_cmp)
			    SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
	if (no_notify)
		refuse_notification(ctx);
	rv = seccomp_load(ctx);
	if (rv < 0) {
		errno = -rv;
		die("loading the filter");
	}
	seccomp_release(ctx);
}

static void
mount_tmpfs(char *arg)
{
	char *options = strchr(arg, ':');

	if (options == NULL)
		usage();
	*options++ = '\0';
	if (unshare(CLONE_NEWNS) == -1 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)
		die("private mounts");
	if (mount("tmpfs", arg, "tmpfs", MS_NOSUID | MS_NODEV, options) == -1)
		die(arg);
}

static void
become(unsigned long id)
{
	if (setgroups(0, NULL) == -1 || setresgid(id, id, id) == -1 ||
	    setresuid(id, id, id) == -1)
		die("--user");
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "user",	required_argument, NULL, 'u' },
		{ "tmpfs",	required_argument, NULL, 't' },
		{ "no-notify",	no_argument, NULL, 'n' },
		{ NULL, 0, NULL, 0 }
	};
	unsigned long user = 0;
	int ch, no_notify = 0;

	while ((ch = getopt_long(argc, argv, "+", options, NULL)) != -1)
		switch (ch) {
		case 'u':
			user = strtoul(optarg, NULL, 10);
			break;
		case 't':
			mount_tmpfs(optarg);
			break;
		case 'n':
			no_notify = 1;
			break;
		default:
			usage();
		}
	if (optind == argc)
		usage();
	if (user != 0)
		become(user);
	load_filter(no_notify);
	execv(argv[optind], argv + optind);
	die(argv[optind]);
}
