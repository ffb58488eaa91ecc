"""What must be as it was after a hostile program has run.

Host holds what lies in wait on this machine (token files, listeners, a
process, a shared memory segment; set up by the collection's own canaryd.py).
A Watch looks at everything before a program runs and again afterwards; its
failures() are sentences.
"""

import collections
import contextlib
import ctypes
import fcntl
import fnmatch
import importlib.util
import json
import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import sys
import sysconfig
import time

import harness

PR_SET_CHILD_SUBREAPER = 36
STATE = pathlib.Path("/tmp/iso-canary")
LOCK = "/tmp/iso-canary.lock"
PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run")
# How long what a program started may outlive its answer, in seconds; and how
# long the kernel may take to tear it down once it is killed.
LEFTOVER_GRACE = 1
TEARDOWN_GRACE = 10
# Noise of the allocator, in KiB, that is no output kept.
RSS_NOISE = 2048


def collection():
    return harness.source_dir().parent / "shared/hostile"


def load_judge():
    """The collection's own check.py, as a module."""
    path = collection() / "tools/check.py"
    spec = importlib.util.spec_from_file_location("hostile_check", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- outcome ----------------------------------------------------------------

KILLED = {"timeout": "killed:timeout", "cpu": "killed:timeout",
    "memory": "killed:memory", "output": "killed:output",
    "pids": "killed:pids", "files": "killed:files"}


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return "SIG%d" % number


def outcome(answer):
    """How the receipt says the program ended, in the collection's words."""
    r = answer.receipt
    verdict = r.get("verdict")
    if verdict in ("exception", "memory", "denied") and "exception" in r:
        return "error:" + r["exception"]
    if verdict in ("signal", "denied") and "signal" in r:
        return "crashed:" + signal_name(r["signal"])
    if verdict in ("ok", "exit") and r.get("truncated"):
        return "truncated"
    if verdict == "ok":
        return "ok"
    if verdict == "exit":
        return "exit:%d" % r["exit_code"]
    return KILLED.get(verdict, str(verdict))


# --- the host ---------------------------------------------------------------

def serve(tools):
    """Sets the traps up until standard input ends, then takes them down.

    A process of its own, so that the traps are nobody else's children."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # Read only, so that every user can.
    lock = os.open(LOCK, os.O_RDONLY | os.O_CREAT, 0o644)
    fcntl.flock(lock, fcntl.LOCK_EX)
    command = [sys.executable, str(pathlib.Path(tools) / "canaryd.py")]
    env = dict(os.environ, CANARY_LIFE="1800")
    subprocess.run(command + ["up"], check=True, env=env,
        stdout=subprocess.DEVNULL)
    try:
        print("up", flush=True)
        sys.stdin.read()
    finally:
        subprocess.run(command + ["down"], env=env)


class Host:
    def __init__(self):
        self.process = harness.start_process([sys.executable, __file__,
            str(collection() / "tools")], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        # Another run of these tests may have to end first.
        ready = select.select([self.process.stdout], [], [], 300)[0]
        if not ready or self.process.stdout.readline() != b"up\n":
            self.close()
            raise harness.Timeout("the traps are not up")
        self.token = (STATE / "token").read_text().strip()

    def close(self):
        self.process.stdin.close()
        self.process.wait(harness.WAIT)
        self.process.stdout.close()

    def contacts(self):
        return (STATE / "contacts.log").read_text().splitlines()

    def sentinel_alive(self):
        pid = int((STATE / "sentinel.pid").read_text())
        proc = harness.proc_stat(pid)
        return proc is not None and proc.state not in "ZX"


# --- pictures of the machine --------------------------------------------------

def library_dirs():
    """Directories of Python code that a program might write into."""
    found = [sysconfig.get_path("stdlib"), "/usr/lib/python3/dist-packages",
        "/etc/python3.11"]
    env = os.environ.get("ADDER_PYTHON_ENV")
    if env:
        found += [str(p) for p in
            pathlib.Path(env).glob("lib/python3*/site-packages")]
    tops = [pathlib.Path(p) for p in found if os.path.isdir(p)]
    return tops + [p for top in tops for p in top.iterdir() if p.is_dir()]


def list_dir(path):
    try:
        return os.listdir(path)
    except OSError:
        return []


def matching(pattern, daemon):
    """Files on the host whose name, or path, is like pattern."""
    found = set()
    whole = pattern.startswith("/")
    for place in list(PLACES) + library_dirs() + [daemon.top]:
        for name in list_dir(place):
            path = os.path.join(place, name)
            if fnmatch.fnmatch(path if whole else name, pattern):
                found.add(path)
    for path in daemon.scratch_files():
        name = path if whole else os.path.basename(path)
        if fnmatch.fnmatch(name, pattern):
            found.add(path)
    return found


def ipc():
    rows = []
    for kind in ("shm", "sem", "msg"):
        with contextlib.suppress(OSError):
            lines = pathlib.Path("/proc/sysvipc/" + kind).read_text()
            rows += [(kind,) + tuple(line.split()[:3])
                for line in lines.splitlines()]
    return sorted(rows) + sorted(list_dir("/dev/mqueue"))


def ipc_of(uids):
    """Segments, semaphores and queues that these users own."""
    found = []
    for kind, column in (("shm", 7), ("sem", 4), ("msg", 7)):
        with contextlib.suppress(OSError):
            rows = pathlib.Path("/proc/sysvipc/" + kind).read_text()
            found += [row for row in rows.splitlines()[1:]
                if int(row.split()[column]) in uids]
    return found


def cgroups():
    """The tree, without what adderd makes and removes all the time."""
    found = set()
    for top, dirs, _ in os.walk("/sys/fs/cgroup"):
        dirs[:] = [d for d in dirs if not d.startswith("adder-")]
        found.update(os.path.join(top, d) for d in dirs)
    return found


def mounts():
    return sorted(line.split()[3:5] for line in open("/proc/self/mountinfo"))


def token_files():
    rows = []
    for path in (STATE / "token", pathlib.Path("/root/.iso-canary-token")):
        with contextlib.suppress(OSError):
            st = path.stat()
            rows.append((str(path), st.st_mode, st.st_mtime_ns,
                path.read_text()))
    return rows


def clock():
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


def listeners(port):
    want = ":%04X" % port
    found = []
    for table, listening in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"),
            ("udp6", "07")):
        with contextlib.suppress(OSError):
            for line in open("/proc/net/" + table):
                fields = line.split()
                if fields[1].endswith(want) and fields[3] == listening:
                    found.append(table)
    return found


def resources(daemon):
    """Descriptors, memory and children of the three that stay."""
    row = {}
    for name, pid in (("adderd", daemon.pid),
            ("keeper", daemon.keeper().pid),
            ("zygote", daemon.zygote().pid)):
        row[name] = (harness.proc_fds(pid),
            harness.proc_status_kib(pid, "VmRSS"))
    return row


# --- what a program starts ------------------------------------------------

Worker = collections.namedtuple("Worker", "proc pid_ns")


def pid_ns(pid):
    try:
        return os.readlink("/proc/%d/ns/pid" % pid)
    except OSError:
        return None


def session(pid):
    try:
        return os.getsid(pid)
    except OSError:
        return None


def is_dying(pid):
    """It has been sent SIGKILL and only has to be scheduled once more."""
    try:
        text = pathlib.Path("/proc/%d/status" % pid).read_text()
    except OSError:
        return True
    masks = re.findall(r"^(?:SigPnd|ShdPnd):\s*([0-9a-f]+)", text, re.M)
    return any(int(mask, 16) & 1 << signal.SIGKILL - 1 for mask in masks)


class Workers:
    """The idle workers before a program runs: whatever it starts shares a
    pid namespace, a session or a parent with the one that took it."""

    def __init__(self, daemon):
        keeper, zygote = daemon.keeper().pid, daemon.zygote().pid
        count = int(daemon.options["pool.warm"])

        def at_rest():
            found = [p for p in daemon.processes() if p.ppid == keeper and
                p.pid != zygote]
            return found if len(found) == count else None
        found = harness.eventually(at_rest, "%d idle workers" % count)
        self.host_ns = pid_ns(os.getpid())
        self.workers = [Worker(p, pid_ns(p.pid)) for p in found]

    def left(self, answered):
        """Processes of jobs that should be gone, when answered workers of
        these have been used up."""
        pids = {w.proc.pid for w in self.workers}
        spaces = {w.pid_ns for w in self.workers} - {self.host_ns, None}
        found = [p for p in harness.proc_table().values()
            if p.pid not in pids and p.state not in "ZX" and
            (p.ppid in pids or pid_ns(p.pid) in spaces or
            session(p.pid) in pids)]
        alive = [w.proc for w in self.workers if harness.alive(w.proc)]
        return found + (alive if len(alive) > len(pids) - answered else [])

    def wait_none_left(self, answered):
        """Those that outlive their grace, an empty list if all is well."""
        def living():
            return [p for p in self.left(answered) if not is_dying(p.pid)]
        for find, grace in ((living, LEFTOVER_GRACE),
                (lambda: self.left(answered), TEARDOWN_GRACE)):
            try:
                harness.eventually(lambda: not find(), "", grace)
            except harness.Timeout:
                return find()
        return []


# --- one program --------------------------------------------------------------

class Run:
    """What came of one run of a program."""

    def __init__(self, answer):
        self.answer = answer
        self.messages = []	# whatever else the client was sent
        self.next = None	# answers of other jobs, as far as wanted
        self.victim = None
        self.latency = None
        self.alive = None
        self.left = []


class Watch:
    """Everything that the canaries of one program need to have seen."""

    def __init__(self, host, daemon, canaries):
        self.host, self.daemon = host, daemon
        self.canaries = canaries
        self.contacts = len(host.contacts())
        self.files = {c[1]: matching(c[1], daemon)
            for c in canaries if c[0] == "no-leftover-file"}
        self.ipc = ipc()
        if self.wants("host-unchanged"):
            self.machine = self.look_at_host()
        self.workers = Workers(daemon)
        if self.wants("output-capped"):
            self.rss = harness.proc_status_kib(daemon.pid, "VmRSS")
            # proc(5): resets VmHWM, the highest it has been.
            pathlib.Path("/proc/%d/clear_refs" % daemon.pid).write_text("5")
        if self.wants("server-resources-stable"):
            self.resources = resources(daemon)

    def wants(self, name):
        return any(c[0] == name for c in self.canaries)

    @staticmethod
    def look_at_host():
        return {"host name": socket.gethostname(), "mounts": mounts(),
            "control groups": cgroups(), "token files": token_files()}

    def failures(self, runs):
        found = []
        for name, arg in [("no-token", "")] + self.canaries:
            check = getattr(self, "check_" + name.replace("-", "_"), None)
            if check is None:
                found.append("no such canary: " + name)
                continue
            why = check(runs, arg)
            if why:
                found.append("%s: %s" % (":".join(filter(None,
                    (name, arg))), why))
        return found

    # Each returns a reason to fail, or nothing.

    def check_server_alive(self, runs, arg):
        bad = [r.alive for r in runs if r.alive != "42\n"]
        return bad and "print(6*7) gave %r" % bad

    def check_next_job_ok(self, runs, arg):
        bad = [r.next for r in runs if r.next is None or
            r.next.stdout != "NEXT-OK\n"]
        return bad and repr(bad)

    def check_sibling_ok(self, runs, arg):
        bad = [r.victim for r in runs if r.victim is None or
            r.victim.stdout != "VICTIM-OK\n"]
        return bad and repr(bad)

    def check_sentinel_alive(self, runs, arg):
        return "" if self.host.sentinel_alive() else "it is dead"

    def check_no_leftover_process(self, runs, arg):
        bad = [p for r in runs for p in r.left]
        return bad and repr(bad)

    def check_no_leftover_file(self, runs, arg):
        def left():
            return matching(arg, self.daemon) - self.files[arg]
        try:
            harness.eventually(lambda: not left(), "", LEFTOVER_GRACE)
        except harness.Timeout:
            return ", ".join(sorted(left()))
        return ""

    def check_no_leftover_ipc(self, runs, arg):
        now = ipc()
        return now != self.ipc and "%r, before %r" % (now, self.ipc)

    def check_no_token(self, runs, arg):
        bad = [r for r in runs if self.host.token in
            json.dumps([r.answer.message] + r.messages)]
        return bad and "it is in an answer"

    def check_no_connect(self, runs, arg):
        bad = [line for line in self.host.contacts()[self.contacts:]
            if line.split(" ", 1)[1].startswith(arg)]
        return bad and repr(bad)

    def check_no_listener(self, runs, arg):
        found = listeners(int(arg))
        return found and "there is one (%s)" % " ".join(found)

    def check_no_spoof(self, runs, arg):
        for r in runs:
            rest = json.loads(json.dumps(r.answer.message))
            for part in rest["result"]["content"]:
                if part["type"] == "text":
                    part["text"] = ""
            if arg in json.dumps([rest] + r.messages):
                return "it is elsewhere than in the output"
        return ""

    def check_no_spoof_frame(self, runs, arg):
        bad = [m for r in runs for m in r.messages]
        return bad and "stray messages %r" % bad

    def check_valid_response(self, runs, arg):
        for r in runs:
            message = r.answer.message
            if message.get("jsonrpc") != "2.0" or set(message) != {"jsonrpc",
                    "id", "result"}:
                return "not a response: %r" % sorted(message)
            try:
                json.dumps(message, ensure_ascii=False).encode("utf-8")
            except UnicodeEncodeError as e:
                return "no Unicode text: %s" % e
        return ""

    def check_output_capped(self, runs, arg):
        limit = 256 * 1024
        for r in runs:
            size = len(json.dumps(r.answer.message))
            if size > 2 * limit:
                return "an answer of %d bytes" % size
        peak = harness.proc_status_kib(self.daemon.pid, "VmHWM")
        grown = peak - self.rss
        allowed = 2 * 2 * limit // 1024 + RSS_NOISE
        return grown > allowed and not harness.sanitized() and \
            "adderd grew by %d KiB" % grown

    def check_latency_ok(self, runs, arg):
        usual = self.daemon.usual_latency
        bad = [r.latency for r in runs if r.latency is None or
            r.latency > 3 * usual + 1]
        return bad and "%r s, usually %.3f s" % (bad, usual)

    def check_host_unchanged(self, runs, arg):
        now = self.look_at_host()
        bad = [key for key in now if now[key] != self.machine[key]]
        return bad and "changed: " + "; ".join("%s %r, before %r" % (key,
            now[key], self.machine[key]) for key in bad)

    def check_server_resources_stable(self, runs, arg):
        def level():
            now = resources(self.daemon)
            grown = [name for name, (fds, rss) in now.items()
                if fds > self.resources[name][0] or
                rss > self.resources[name][1] * 1.05 + RSS_NOISE]
            zombies = [p for p in harness.descendants(self.daemon.pid)
                if p.state == "Z"]
            return not grown and not zombies
        try:
            harness.eventually(level, "a level", 5)
        except harness.Timeout:
            return "%r, before %r" % (resources(self.daemon),
                self.resources)
        return ""

    def check_outputs_differ(self, runs, arg):
        texts = [r.answer.stdout for r in runs]
        return len(set(texts)) < len(texts) and repr(texts)


def parse_canaries(text):
    """"a; b:c:d" as [("a", ""), ("b", "c:d")]."""
    parts = [part.strip() for part in re.split(r";\s*", text)]
    return [tuple(part.split(":", 1)) if ":" in part else (part, "")
        for part in parts if part]


if __name__ == "__main__":
    serve(sys.argv[1])
