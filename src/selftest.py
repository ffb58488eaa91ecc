# What adderd runs in a worker at every start: escapes that have to fail, and
# a small piece of work that has to succeed.  Standard input has the targets.
# Each line of output: name, "held" or "broken", a word about why.
import ctypes
import json
import os
import socket
import sys

target = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, CLONE_NEWUSER = 16, 0x10000000


def has_to_fail(name, attempt):
    try:
        detail = attempt()
    except Exception as e:
        print(name, "held", type(e).__name__, sep="\t")
    else:
        state = "held" if detail is None else "broken"
        print(name, state, detail or "refused", sep="\t")


def read_file():
    with open(target["file"]) as f:
        return "read " + f.read(20)


def connect():
    s = socket.socket()
    s.settimeout(1)
    s.connect(("127.0.0.1", target["port"]))
    return "connected"


def others():
    return [pid for pid in target["pids"] + [os.getppid()]
            if pid > 1 and pid != os.getpid()]


def signal_others():
    for pid in others():
        try:
            os.kill(pid, 0)
        except OSError:
            continue
        return "may signal process %d" % pid


def trace():
    for pid in others():
        if libc.ptrace(PTRACE_ATTACH, pid, None, None) == 0:
            return "traces process %d" % pid


def see():
    for pid in others():
        try:
            with open("/proc/%d/status" % pid) as f:
                return "sees process %d: %s" % (pid, f.readline().strip())
        except OSError:
            continue


def unshare():
    if libc.unshare(CLONE_NEWUSER) == 0:
        return "made a user namespace"


def write_library():
    path = os.path.join(os.path.dirname(json.__file__), "adder_selftest")
    with open(path, "w"):
        os.unlink(path)
    return "wrote to a library directory"


has_to_fail("read-file", read_file)
has_to_fail("connect", connect)
has_to_fail("signal", signal_others)
has_to_fail("trace", trace)
has_to_fail("see", see)
has_to_fail("unshare", unshare)
has_to_fail("write-library", write_library)

try:
    import threading
    box = []
    thread = threading.Thread(target=box.append, args=(6 * 7,))
    thread.start()
    thread.join()
    with open("file", "w") as f:
        f.write("x")
    if "numpy" in sys.modules:
        import numpy
        box.append(int(numpy.linalg.det(numpy.eye(3)) * 42))
    print("work", "held" if set(box) == {42} else "broken", box, sep="\t")
except Exception as e:
    print("work", "broken", repr(e), sep="\t")
