# Signals reach the job itself and nothing else, by whatever call.
KILL, TKILL, TGKILL, SIGQUEUE, TGSIGQUEUE, PIDFD_OPEN, PIDFD_SEND = (62, 200,
    234, 129, 297, 434, 424)
NOBODY = REFUSED + (errno.ESRCH,)

me = os.getpid()
info = ctypes.create_string_buffer(128)
others = [p for p in {1, 2, os.getppid()} | set(JAIL["pids"])
    if p not in (0, me)]
for pid in others:
    for sig in (0, 9):
        refused("kill %d" % pid, syscall(KILL, pid, sig), NOBODY)
        refused("kill -%d" % pid, syscall(KILL, -pid, sig), NOBODY)
        refused("tkill %d" % pid, syscall(TKILL, pid, sig), NOBODY)
        refused("tgkill %d" % pid, syscall(TGKILL, pid, pid, sig), NOBODY)
        refused("tgkill of our group to %d" % pid,
            syscall(TGKILL, me, pid, sig), NOBODY)
        refused("rt_sigqueueinfo %d" % pid, syscall(SIGQUEUE, pid, sig,
            info), NOBODY + (errno.EINVAL,))
        refused("rt_tgsigqueueinfo %d" % pid, syscall(TGSIGQUEUE, pid, pid,
            sig, info), NOBODY + (errno.EINVAL,))
    refused("pidfd_open %d" % pid, syscall(PIDFD_OPEN, pid, 0),
        NOBODY + (errno.EINVAL,))
refused("kill everybody", syscall(KILL, -1, 0), NOBODY)
refused("kill everybody, in 32 bits", syscall(KILL, 0xffffffff, 0), NOBODY)
refused("pidfd_send_signal", syscall(PIDFD_SEND, 0, 9, None, 0),
    REFUSED + (errno.EBADF,))
# Its own pid with rubbish above 32 bits is its own pid.
assert syscall(KILL, me | 1 << 40, 0) in (0, -errno.EPERM)
print("held")
