# Files of others: not read, not written, not changed in any other way.
file = JAIL["file"]		# on the host, and the server's user owns it
GONE = REFUSED + (errno.ENOENT, errno.EROFS, errno.EXDEV)

raises("read", open, file, errnos=GONE)
raises("append", open, file, "a", errnos=GONE)
raises("truncate", os.truncate, file, 0, errnos=GONE)
raises("remove", os.remove, file, errnos=GONE)
raises("rename", os.rename, file, "taken", errnos=GONE)
raises("link", os.link, file, "linked", errnos=GONE)
raises("list", os.listdir, os.path.dirname(file), errnos=GONE)
raises("make beside", open, file + "2", "w", errnos=GONE)
raises("chown", os.chown, file, 0, 0, errnos=GONE)
for change in (lambda: os.chmod(file, 0o777), lambda: os.utime(file, (0, 0)),
        lambda: os.setxattr(file, "user.x", b"1")):
    try:
        change()		# no error need be told; the test looks
    except OSError as e:
        assert e.errno in GONE, e
os.symlink(file, "symlink")
raises("read by a symlink", open, "symlink", errnos=GONE)
with open("/dev/null") as null, open(os.__file__) as library:
    for fd in (null.fileno(), library.fileno()):
        before = os.fstat(fd)
        try:
            os.fchmod(fd, 0o777)
            os.utime(fd, (0, 0))
        except OSError as e:
            assert e.errno in GONE, e
        assert os.fstat(fd).st_mode == before.st_mode
        assert os.fstat(fd).st_mtime == before.st_mtime
raises("write to a library", open, os.__file__, "a", errnos=GONE)
raises("mkdir", os.mkdir, os.path.dirname(os.__file__) + "/x", errnos=GONE)

# The directories of other workers lie beside ours, where they are shared.
here = os.getcwd()
head, tail = os.path.split(here)
if tail.isdigit():
    raises("list the others", os.listdir, head)
    for other in range(max(1, int(tail) - 20), int(tail) + 20):
        if other == int(tail):
            continue
        beside = os.path.join(head, str(other))
        raises("list another", os.listdir, beside, errnos=GONE)
        raises("read of another", open, beside + "/main.py", errnos=GONE)
        raises("write to another", open, beside + "/x", "w", errnos=GONE)
    raises("rename ours", os.rename, here, here + "x", errnos=GONE)
    raises("remove ours", os.rmdir, here, errnos=GONE + (errno.ENOTEMPTY,
        errno.EBUSY))
for path in ("/proc/self/status", "/proc/1/environ", "/sys/kernel/notes",
        "/etc/shadow", "/root", "/run", "/dev/mem", "/dev/tty", "/home"):
    raises("open %s" % path, os.open, path, os.O_RDONLY,
        errnos=GONE + (errno.ENXIO,))
print("held")
