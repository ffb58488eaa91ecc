# Nobody, without rights, and with the descriptors that plain Python has.
import resource

uids = os.getresuid()
assert len(set(uids)) == 1 and len(set(os.getresgid())) == 1
assert uids[0] != 0
if JAIL["uid_base"]:
    assert 0 <= uids[0] - JAIL["uid_base"] < 1000, uids
    assert os.getgroups() == []
# capget(2): effective, permitted, inheritable of both words
header = (ctypes.c_uint32 * 2)(0x20080522, 0)
data = (ctypes.c_uint32 * 6)()
assert syscall(125, header, data) == 0
assert list(data) == [0] * 6, list(data)
refused("capset", syscall(126, header, data))
for name, number in {"setuid": 105, "setgid": 106, "setresuid": 117,
        "setgroups": 116, "setfsuid": 122}.items():
    refused(name, syscall(number, 0, 0, 0))
if JAIL["tier"] != "medium":
    assert os.getpid() == 1 and os.getppid() == 0
    assert os.uname().nodename == "adder"
fds = []
for fd in range(resource.getrlimit(resource.RLIMIT_NOFILE)[0]):
    try:
        os.fstat(fd)
        fds.append(fd)
    except OSError:
        pass
assert fds == [0, 1, 2, 3], fds
assert os.environ.get("ISO_SECRET") is None
print("held")
