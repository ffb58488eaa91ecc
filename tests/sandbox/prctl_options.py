# Only names, and questions about what holds.
PRCTL = 157
DENIED = {"SET_PDEATHSIG": 1, "SET_DUMPABLE": 4, "SET_UNALIGN": 6,
    "SET_KEEPCAPS": 8, "SET_TIMING": 14, "SET_SECCOMP": 22,
    "CAPBSET_DROP": 24, "SET_TSC": 26, "SET_SECUREBITS": 28,
    "SET_TIMERSLACK": 29, "TASK_PERF_EVENTS_DISABLE": 31, "MCE_KILL": 33,
    "SET_MM": 35, "SET_CHILD_SUBREAPER": 36, "SET_NO_NEW_PRIVS": 38,
    "SET_THP_DISABLE": 41, "CAP_AMBIENT": 47, "SET_SPECULATION_CTRL": 53,
    "SET_SYSCALL_USER_DISPATCH": 59, "SCHED_CORE": 62, "SET_MDWE": 65,
    "SET_PTRACER": 0x59616d61}

for name, option in DENIED.items():
    for high in (0, 1 << 32, 1 << 63):
        # c_long wraps what does not fit.
        refused("prctl %s" % name, syscall(PRCTL, option | high, 1, 0, 0, 0))
name = ctypes.create_string_buffer(b"a-name", 16)
assert syscall(PRCTL, 15, name, 0, 0, 0) == 0
name.value = b""
assert syscall(PRCTL, 16, name, 0, 0, 0) == 0 and name.value == b"a-name"
assert syscall(PRCTL, 39, 0, 0, 0, 0) == 1, "no_new_privs is not set"
assert syscall(PRCTL, 3, 0, 0, 0, 0) == 0, "the worker is dumpable"
death = ctypes.c_int(0)
assert syscall(PRCTL, 2, ctypes.byref(death), 0, 0, 0) == 0
assert death.value == 9, "no death signal: %d" % death.value
print("held")
