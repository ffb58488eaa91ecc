# Nothing that makes the kernel send signals for us: with the user id of the
# server, SIGIO to its pid would end it.
import fcntl
import signal
import socket

FCNTL = 72
DENIED = {"F_SETOWN": 8, "F_SETSIG": 10, "F_SETOWN_EX": 15,
    "F_SETLEASE": 1024, "F_NOTIFY": 1026, "F_ADD_SEALS": 1033}

a, b = socket.socketpair()
arg = ctypes.create_string_buffer(16)
for name, command in DENIED.items():
    for fd in (1, 3, a.fileno()):
        for high in (0, 1 << 32, 1 << 63):
            refused("fcntl %s" % name, syscall(FCNTL, fd, command | high,
                arg))
for pid in JAIL["pids"]:
    raises("F_SETOWN", fcntl.fcntl, a.fileno(), fcntl.F_SETOWN, pid)
# Asynchronous, but owned by nobody: no signal goes anywhere.
got = []
signal.signal(signal.SIGIO, lambda *_: got.append(1))
fcntl.fcntl(a.fileno(), fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
b.send(b"x")
assert a.recv(1) == b"x" and not got
copy = fcntl.fcntl(a.fileno(), fcntl.F_DUPFD_CLOEXEC, 20)
assert copy >= 20 and fcntl.fcntl(copy, fcntl.F_GETFD) == fcntl.FD_CLOEXEC
with open("locked", "w") as file:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
print("held")
