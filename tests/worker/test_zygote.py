"""The zygote itself: what it tells, refuses, and gives its workers."""
import os
import select
import shutil
import signal
import socket

import pytest

from conftest import PROGRAM, PYTHON_ENV
from scripted import LIMITS, Zygote, frame


@pytest.fixture(scope="module")
def small():
    """Without libraries, so quick to start."""
    z = Zygote(PROGRAM, PYTHON_ENV, modules="json,no_such_module",
               generation=41)
    yield z
    z.stop()


def start(**kwargs):
    return Zygote(PROGRAM, PYTHON_ENV, **{"modules": "", **kwargs})


def failure(**kwargs):
    """The log of a zygote that does not serve."""
    with pytest.raises(RuntimeError) as e:
        start(**kwargs).stop()
    return str(e.value)


def test_ready(small):
    assert small.ready["generation"] == 41
    assert small.ready["pid"] == small.pid
    assert small.ready["import_ms"] > 0 and small.ready["rss_kib"] > 1000
    assert small.ready["python"].decode().startswith("3.")
    lines = small.ready["packages"].decode().splitlines()
    assert lines and lines == sorted(lines, key=str.lower)
    assert all(len(x.split(" (import ")[0].split()) == 2 for x in lines)


def test_missing_module_is_left_out_and_logged(small):
    assert "module no_such_module is left out: ModuleNotFoundError: " \
        "No module named 'no_such_module'" in small.log_text()


def test_worker_is_a_child_of_the_keeper(small):
    w = small.fork()
    assert w.answer[1]["worker"] == w.number
    with open("/proc/%d/stat" % w.pid) as f:
        assert int(f.read().rsplit(")")[1].split()[1]) == os.getpid()
    assert w.prepared["prepare_us"] > 0
    assert w.run("").exit_code == 0


def test_end_of_the_control_link_ends_the_zygote():
    assert start().stop()[0] == 0


def test_parked_worker_goes_with_its_job_link(small):
    w = small.fork()
    w.job.shutdown(socket.SHUT_RDWR)
    assert os.waitstatus_to_exitcode(w.end()) == 0


def test_refusals(small):
    good = {"generation": 41, "worker": 900, "session": False,
            "limits": LIMITS}

    def ask(fields, nfds):
        r, w = os.pipe()
        socket.send_fds(small.control, [frame("WORKER_FORK", fields)],
                        [w] * nfds)
        os.close(r), os.close(w)
        (name, answer), fds = small._recv()
        assert name == "WORKER_REFUSED" and answer["worker"] == 900 and not fds
        return answer["reason"].decode()

    assert "another generation" in ask(dict(good, generation=42), 3)
    assert "three descriptors" in ask(good, 2)
    assert small.run("print(1)").stdout == b"1\n"


def test_nonsense_on_the_control_link_ends_the_zygote():
    z = start()
    z.control.send(b"\0\0\0\0\0\x63\0\0")
    assert z._eof()
    code, log = z.stop()
    assert code == 1 and "frame type is not in the list" in log


def test_bad_python_environment(tmp_path):
    with pytest.raises(RuntimeError) as e:
        Zygote(PROGRAM, str(tmp_path), modules="").stop()
    assert "python environment %s cannot be used" % tmp_path in str(e.value)
    assert "-m venv" in str(e.value)


@pytest.mark.parametrize("code, words", [
    ("import threading\nthreading.Thread(target=threading.Event().wait, "
     "daemon=True).start()\n", "2 threads run"),
    ("import builtins\nbuiltins.keep = open('/dev/null')\n",
     "keeps descriptor 10 (/dev/null) open"),
    ("import builtins, mmap\nbuiltins.keep = mmap.mmap(-1, 4096)\n",
     "writable memory that workers would share"),
])
def test_what_cannot_be_forked_is_refused(tmp_path, code, words):
    warm = tmp_path / "warm.py"
    warm.write_text(code)
    log = failure(warm_file=str(warm))
    assert "zygote 7 cannot serve: " in log and words in log


def test_warm_file(tmp_path):
    warm = tmp_path / "warm.py"
    warm.write_text("import builtins\nbuiltins.warmed = 5\n1 / 0\n")
    z = start(warm_file=str(warm))
    assert z.run("print(warmed)").stdout == b"5\n"
    assert "ZeroDivisionError" in z.stop()[1]


WIPED = """
import builtins, ctypes, mmap
libc = ctypes.CDLL(None, use_errno=True)
memory = [mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for _ in range(2)]
for m in memory:
    m.write(b"secret")
builtins.memory = memory
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
MADV_WIPEONFORK = 18
assert libc.madvise(ctypes.addressof(ctypes.c_char.from_buffer(memory[0])),
    4096, MADV_WIPEONFORK) == 0
"""


def test_what_a_fork_is_to_wipe_is_wiped(tmp_path):
    """Where the C library keeps random bytes, each worker has its own."""
    warm = tmp_path / "warm.py"
    warm.write_text(WIPED)
    z = start(warm_file=str(warm), options=("--compact",))
    r = z.run("print([m[:6] for m in memory])")
    assert "memory compacted" in z.stop()[1]
    assert r.stdout == b"[b'\\x00\\x00\\x00\\x00\\x00\\x00', b'secret']\n", r


def test_environment_is_made_from_scratch():
    z = start(env={"TZ": "Europe/Paris", "SECRET": "1", "PYTHONPATH": "/x",
                   "PYTHONHASHSEED": "0", "LD_LIBRARY_PATH": "/y",
                   "LC_ALL": "C"})
    r = z.run("import os, sys, time\nfor k in sorted(os.environ):\n"
              "    print(k)\nprint(time.tzname, sys.flags.hash_randomization,"
              " '/x' in sys.path, os.environ['OMP_NUM_THREADS'])\n")
    z.stop()
    assert r.stdout.decode().split("\n") == [
        "BLIS_NUM_THREADS", "HOME", "LANG", "MKL_NUM_THREADS", "MPLBACKEND",
        "MPLCONFIGDIR", "NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS", "PATH", "TMPDIR", "TZ",
        "VECLIB_MAXIMUM_THREADS", "('CET', 'CEST') 1 False 1", ""]


# --- in a jail

LAYERS = ("userns,mount,pid,net,ipc,uts,landlock,landlock-scope,seccomp,"
          "scratch,rlimits,no_new_privs")


@pytest.fixture(scope="module")
def jailed():
    try:
        z = start(options=["--layers", LAYERS, "--processes"])
    except RuntimeError as e:
        pytest.skip("this kernel gives no such jail: %s" % e)
    yield z
    z.stop()


def test_program_runs_in_its_jail(jailed):
    r = jailed.run("import os\nprint(os.getpid(), os.getcwd(), __file__)\n"
                   "open('f', 'w').write('x')\n1 / 0\n")
    assert r.stdout == b"1 /scratch/w /scratch/w/main.py\n"
    assert r.files["f"]["data"] == b"x"
    assert 'File "main.py", line 4' in r.traceback


def test_death_after_done_says_nothing_more(jailed):
    """Pid 1 of a namespace has its own signals done for it."""
    r = jailed.run("raise KeyboardInterrupt\n")
    assert r.done["exit_code"] == 130
    assert r.exception["type"] == "KeyboardInterrupt"


# --- the steps before any Python

def test_descriptors(small):
    r = small.run("import os\nfound = []\nfor fd in range(256):\n"
                  "    try:\n        os.fstat(fd)\n        found.append(fd)\n"
                  "    except OSError:\n        pass\n"
                  "print(found, os.get_inheritable(3))\n")
    assert r.stdout == b"[0, 1, 2, 3] False\n"


def test_limits(small):
    r = small.run("import resource as R\nfor n in ('CORE', 'NOFILE', 'FSIZE',"
                  " 'CPU', 'STACK', 'MSGQUEUE', 'MEMLOCK', 'SIGPENDING'):\n"
                  "    print(n, *R.getrlimit(getattr(R, 'RLIMIT_' + n)))\n"
                  "print(R.getrlimit(R.RLIMIT_AS)[0] >> 20)\n",
                  fork_limits=dict(LIMITS, cpu_ms=1500, fds=64,
                                   scratch=1 << 20, memory=300 << 20))
    *fixed, space = r.stdout.decode().splitlines()
    assert fixed == ["CORE 0 0", "NOFILE 64 64", "FSIZE 1048576 1048576",
                     "CPU 2 3", "STACK 8388608 8388608", "MSGQUEUE 0 0",
                     "MEMLOCK 0 0", "SIGPENDING 256 256"]
    assert 300 < int(space) < 1000


def test_limits_of_the_job_only_lower(small):
    look = ("import resource as R\nprint(R.getrlimit(R.RLIMIT_NOFILE)[0],"
            " R.getrlimit(R.RLIMIT_CPU)[0])\n")
    r = small.run(look, limits=dict(LIMITS, fds=32, cpu_ms=3000))
    assert r.stdout == b"32 3\n"
    r = small.run(look, limits=dict(LIMITS, fds=9999, cpu_ms=0))
    assert r.stdout == b"256 60\n"


def test_no_limits(small):
    r = small.run("import resource as R\n"
                  "print(R.getrlimit(R.RLIMIT_AS) == (-1, -1))\n",
                  fork_limits=dict.fromkeys(LIMITS, 0))
    assert r.stdout == b"True\n"


def test_cpu_limit_kills(small):
    r = small.run("while True: pass\n", fork_limits=dict(LIMITS, cpu_ms=1000))
    assert r.exit_code == -signal.SIGXCPU


def test_file_size_limit_raises(small):
    r = small.run("try:\n    with open('f', 'wb') as f:\n"
                  "        f.write(b'x' * 2000000)\n"
                  "except OSError as e:\n    print(e)\n",
                  fork_limits=dict(LIMITS, scratch=1 << 20))
    assert r.stdout == b"[Errno 27] File too large\n"


def test_session_and_privileges(small):
    r = small.run("import os\nprint(os.getsid(0) == os.getpid())\n"
                  "s = open('/proc/self/status').read()\n"
                  "print('NoNewPrivs:\\t1' in s)\n"
                  "import ctypes\nlibc = ctypes.CDLL(None)\n"
                  "sig = ctypes.c_int()\nlibc.prctl(2, ctypes.byref(sig))\n"
                  "print(libc.prctl(3), sig.value)\n"
                  "st = os.stat('.')\nprint(oct(st.st_mode), "
                  "os.getcwd() == os.environ['HOME'] == os.environ['TMPDIR'])"
                  "\n")
    assert r.stdout == b"True\nTrue\n0 9\n0o40700 True\n", r


def test_thread_id_is_right_after_the_fork(small):
    """A raw clone leaves libc's cached thread id to us: raise(3) uses it."""
    r = small.run("import signal, threading, os, ctypes\n"
                  "signal.signal(signal.SIGUSR1, lambda *a: print('got'))\n"
                  "ctypes.CDLL(None)['raise'](int(signal.SIGUSR1))\n"
                  "print(threading.get_native_id() == os.getpid())\n")
    assert r.stdout == b"got\nTrue\n", r


@pytest.mark.parametrize("which", ["small", "jailed"])
def test_main_thread_knows_its_id(which, request):
    r = request.getfixturevalue(which).run(
        "import threading\nt = threading.main_thread()\n"
        "print(t.native_id == threading.get_native_id(), t.is_alive(), "
        "t is threading.current_thread(), threading.active_count())\n")
    assert r.stdout == b"True True True 1\n", r


def test_hook_of_an_unknown_module_runs_in_each_worker(tmp_path):
    warm = tmp_path / "warm.py"
    warm.write_text("import builtins, os\nbuiltins.forks = 0\n"
                    "builtins.keep = register = os.register_at_fork\n"
                    "def forked():\n    builtins.forks = os.getpid()\n"
                    "register(after_in_child=forked)\n")
    z = start(warm_file=str(warm))
    for _ in range(2):
        r = z.run("import os\nprint(forks == os.getpid(), "
                  "os.register_at_fork.__self__.__name__)\n")
        assert r.stdout == b"True posix\n", r
    z.stop()


def test_failed_step_means_no_job(small):
    os.mkdir(os.path.join(small.scratch, str(small.last + 1)))
    w = small.fork(park=False)
    assert w.next_frame() is None
    assert os.waitstatus_to_exitcode(w.end()) == 125
    assert w.stderr == b""
    assert "sandbox step scratch failed" in small.log_text()
    assert "File exists" in small.log_text()


def test_worker_dies_with_the_keeper(tmp_path):
    """The keeper here is a process of its own, which is killed."""
    r, w = os.pipe()
    keeper = os.fork()
    if keeper == 0:
        try:
            z = start()
            worker = z.fork()
            os.write(w, b"%d %d %s" % (z.pid, worker.pid, z.top.encode()))
            signal.pause()
        finally:
            os._exit(1)
    os.close(w)
    zygote, worker, top = os.read(r, 4096).decode().split()
    fds = [os.pidfd_open(int(p)) for p in (zygote, worker)]
    os.kill(keeper, signal.SIGKILL)
    os.waitpid(keeper, 0)
    for fd in fds:
        assert select.select([fd], [], [], 20)[0], "still alive"
        os.close(fd)
    os.close(r)
    shutil.rmtree(top)


def test_bad_job_frame(small):
    w = small.fork()
    w.job.sendall(frame("JOB", {"code": "1"}))
    assert w.next_frame() is None
    w.end()
    assert b"JOB: field stdin_data is missing" in w.stderr


def test_many_workers_leave_nothing_behind(small):
    fds = len(os.listdir("/proc/%d/fd" % small.pid))
    for _ in range(20):
        assert small.run("print(1)").stdout == b"1\n"
    assert len(os.listdir("/proc/%d/fd" % small.pid)) == fds
    assert os.listdir(small.scratch) == ["matplotlib"]
