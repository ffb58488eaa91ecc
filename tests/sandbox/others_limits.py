# Limits, CPUs and priorities of other processes, and its own upwards.
import resource

PRLIMIT, SETAFFINITY, SETPRIORITY, SETPGID = 302, 203, 141, 109
NOBODY = REFUSED + (errno.ESRCH,)

me = os.getpid()
old = ctypes.create_string_buffer(16)
mask = (ctypes.c_ulong * 16)(1)
for pid in {1, 2, os.getppid()} | set(JAIL["pids"]):
    if pid in (0, me):
        continue
    for what in range(16):
        refused("prlimit %d of %d" % (what, pid), syscall(PRLIMIT, pid, what,
            None, old), NOBODY)
    refused("affinity of %d" % pid, syscall(SETAFFINITY, pid, 128, mask),
        NOBODY)
    refused("priority of %d" % pid, syscall(SETPRIORITY, 0, pid, 19), NOBODY)
    refused("group of %d" % pid, syscall(SETPGID, pid, 0), NOBODY)
refused("realtime", syscall(144, 0, 1, ctypes.byref(ctypes.c_int(10))))
refused("io priority", syscall(251, 1, 0, 1 << 13))

for name in [n for n in dir(resource) if n.startswith("RLIMIT_")]:
    what = getattr(resource, name)
    soft, hard = resource.getrlimit(what)
    if hard != resource.RLIM_INFINITY:
        try:
            resource.setrlimit(what, (soft, hard + 1))
        except (OSError, ValueError):
            pass
        else:
            raise AssertionError("%s raised" % name)
    resource.setrlimit(what, (soft, hard))
assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
assert resource.getrlimit(resource.RLIMIT_MEMLOCK) == (0, 0)
assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] <= 256
os.sched_setaffinity(0, os.sched_getaffinity(0))
os.sched_setaffinity(me, os.sched_getaffinity(me))
print("held")
