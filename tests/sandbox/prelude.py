# Put before each program of this directory.  JAIL is a dictionary that the
# test gives: tier, processes, and what there is on the host to be attacked.
import ctypes
import errno
import os
import sys

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def syscall(number, *args):
    """A raw system call of x86-64: its result, or minus the errno."""
    ctypes.set_errno(0)
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    result = _libc.syscall(ctypes.c_long(number), *words)
    return -ctypes.get_errno() if result == -1 else result


REFUSED = (errno.EPERM, errno.EACCES, errno.ENOSYS)


def refused(what, result, errnos=REFUSED):
    """A raw call must have failed, and for want of permission."""
    assert -result in errnos, "%s gave %d (%s)" % (what, result,
        errno.errorcode.get(-result, "?"))


def raises(what, call, *args, errnos=REFUSED):
    """The same for a call of Python's library."""
    try:
        result = call(*args)
    except OSError as e:
        assert e.errno in errnos, "%s failed with %s" % (what, e)
    else:
        raise AssertionError("%s worked: %r" % (what, result))
