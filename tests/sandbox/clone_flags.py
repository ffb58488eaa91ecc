# New threads, and processes where they are allowed, but nothing around them.
import signal

CLONE, FORK, VFORK, UNSHARE, SETNS, CLONE3 = 56, 57, 58, 272, 308, 435
THREAD = 0x10000 | 0x100 | 0x800		# THREAD, VM, SIGHAND
FORBIDDEN = {"NEWNS": 0x20000, "NEWCGROUP": 0x02000000, "NEWUTS": 0x04000000,
    "NEWIPC": 0x08000000, "NEWUSER": 0x10000000, "NEWPID": 0x20000000,
    "NEWNET": 0x40000000, "PARENT": 0x8000, "PTRACE": 0x2000,
    "UNTRACED": 0x00800000}

for name, flag in FORBIDDEN.items():
    for how in (signal.SIGCHLD, THREAD, signal.SIGCHLD | 1 << 32):
        result = syscall(CLONE, flag | how, 0, 0, 0, 0)
        if result == 0:
            os._exit(66)
        refused("clone with %s" % name, result)
    refused("unshare %s" % name, syscall(UNSHARE, flag))
refused("unshare TIME", syscall(UNSHARE, 0x80))
refused("setns", syscall(SETNS, 0, 0))
refused("clone3", syscall(CLONE3, ctypes.create_string_buffer(88), 88),
    (errno.ENOSYS,))

if not JAIL["processes"]:
    for number in (FORK, VFORK):
        refused("fork %d" % number, syscall(number))
    for how in (signal.SIGCHLD, 0, 0x100 | signal.SIGCHLD):
        result = syscall(CLONE, how, 0, 0, 0, 0)
        if result == 0:
            os._exit(66)
        refused("clone of a process", result)
    raises("os.fork", os.fork)
    raises("os.posix_spawn", os.posix_spawn, "/bin/true", ["true"], {})
print("held")
