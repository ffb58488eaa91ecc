# No node, pipe or socket with a name, and no attribute that a host keeps.
import stat

for kind in (stat.S_IFBLK, stat.S_IFCHR, stat.S_IFSOCK, stat.S_IFIFO):
    raises("mknod %o" % kind, os.mknod, "node", 0o600 | kind,
        os.makedev(1, 3))
raises("mkfifo", os.mkfifo, "fifo")
raises("setxattr", os.setxattr, ".", "user.x", b"1",
    errnos=REFUSED + (errno.EOPNOTSUPP,))
raises("chroot", os.chroot, ".")
assert not os.listdir(".") or os.listdir(".") == ["main.py"]
print("held")
