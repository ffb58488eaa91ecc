# Memory that no mapping shows is for where a control group counts it.
MEMFD_CREATE, MEMFD_SECRET, SHMGET = 319, 447, 29

if JAIL["memory_counted"]:
    fd = os.memfd_create("x")
    assert os.write(fd, b"abc") == 3
    raises("executing a memfd", os.execve, fd, ["x"], {},
        errnos=REFUSED + (errno.ENOEXEC, errno.ENOENT))
else:
    raises("memfd_create", os.memfd_create, "x")
refused("memfd_secret", syscall(MEMFD_SECRET, 0))
refused("shmget", syscall(SHMGET, 0, 1 << 20, 0o1600))
refused("mq_open", syscall(240, b"x", os.O_CREAT | os.O_RDWR, 0o600, None))
refused("io_uring", syscall(425, 8, ctypes.create_string_buffer(120)),
    (errno.ENOSYS,))
refused("aio", syscall(206, 8, ctypes.byref(ctypes.c_ulong(0))))
refused("userfaultfd", syscall(323, 0))
refused("mlock", syscall(149, ctypes.create_string_buffer(8192), 8192),
    REFUSED + (errno.ENOMEM,))
print("held")
