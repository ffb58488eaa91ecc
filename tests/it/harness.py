"""Drive adderd from outside.

A Daemon is one running adderd in a private directory; a Client is one
connection to it, over stdio, a Unix socket or TCP, with the same methods.
Nothing here sleeps for luck: every wait blocks on a descriptor or polls for a
condition, and ends with an exception after its timeout.

Standard library only; the programs are found through $ADDER_BUILD.
"""

import base64
import collections
import contextlib
import ctypes
import json
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

# Generous, so that a loaded machine does not fail a test; a wait that is
# satisfied returns at once.
WAIT = float(os.environ.get("ADDER_TEST_WAIT", "60"))

# What every daemon of these tests has: the self-test of the jail takes a
# second and has tests of its own; and a loaded machine makes nothing busy.
COMMON = {"sandbox.selftest": "off", "queue.timeout": "5m",
    # Answers whole, with their files: the budgets have tests of their own.
    "result.max_text": "8m", "result.max_images": "8m", "result.keep": "0",
    # Nothing outside of a test's own directory.
    "deps.dir": ""}

# Imports that are there in every interpreter: a zygote with these is ready
# in a fraction of the time that the scientific stack takes.
LIGHT = {"python.modules": "math"}

PR_SET_CHILD_SUBREAPER = 36


class Timeout(AssertionError):
    """A condition did not come true in time."""


def build_dir():
    return pathlib.Path(os.environ.get("ADDER_BUILD", "build")).resolve()


def source_dir():
    return pathlib.Path(__file__).resolve().parents[2]


def effective_conf(*overrides):
    """What "adderd -T" prints, as a dictionary of texts."""
    argv = [str(build_dir() / "adderd"), "-T", "-f", os.devnull]
    for override in overrides:
        argv += ["-o", override]
    dump = subprocess.run(argv, capture_output=True, text=True, check=True)
    pairs = (line.split(" = ", 1) for line in dump.stdout.splitlines()
        if " = " in line)
    return {key: value.strip('"') for key, value in pairs}


def eventually(condition, what, timeout=WAIT):
    """Poll until condition() is true and return its value."""
    deadline = time.monotonic() + timeout
    pause = 0.001
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Timeout("after %.0f s: %s" % (timeout, what))
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


# --- processes ------------------------------------------------------------

def become_subreaper():
    """Orphans of adderd become children of this process, so none hides."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")


Proc = collections.namedtuple("Proc", "pid ppid state comm start")


def proc_stat(pid):
    """One line of /proc/PID/stat as a Proc, or None if it is gone."""
    try:
        text = pathlib.Path("/proc/%d/stat" % pid).read_text("utf-8",
            "replace")
    except OSError:
        return None
    head, tail = text.rsplit(")", 1)
    fields = tail.split()
    return Proc(pid, int(fields[1]), fields[0], head.split("(", 1)[1],
        int(fields[19]))


def proc_table():
    found = (proc_stat(int(name)) for name in os.listdir("/proc")
        if name.isdigit())
    return {p.pid: p for p in found if p is not None}


def descendants(root):
    """All processes below root, root left out; zombies included."""
    table = proc_table()
    children = collections.defaultdict(list)
    for proc in table.values():
        children[proc.ppid].append(proc)
    found, todo = [], [root]
    while todo:
        for proc in children[todo.pop()]:
            found.append(proc)
            todo.append(proc.pid)
    return found


def mark(name):
    """A line of Python by which a job names its process (children inherit
    the name), so that Daemon.marked() finds it from outside."""
    assert len(name) < 16
    return ("import ctypes as _c; _c.CDLL(None).prctl(15, b'%s', 0, 0, 0); "
        "del _c\n" % name)


def alive(proc):
    """The very same process still runs (a zombie does not)."""
    now = proc_stat(proc.pid)
    return (now is not None and now.start == proc.start and
        now.state not in "ZX")


def proc_status_kib(pid, key):
    """A "VmRSS:  123 kB" line of /proc/PID/status, in KiB."""
    for line in open("/proc/%d/status" % pid):
        if line.startswith(key + ":"):
            return int(line.split()[1])
    raise KeyError(key)


def sanitized():
    """adderd is built with AddressSanitizer, which keeps what is freed: its
    memory says nothing."""
    return b"__asan_init" in (build_dir() / "adderd").read_bytes()


def proc_fds(pid):
    """Open descriptors; 0 where only root may count them."""
    try:
        return len(os.listdir("/proc/%d/fd" % pid))
    except PermissionError:
        return 0


# --- one connection ---------------------------------------------------------

class Answer:
    """The result of a tools/call, read as a client would."""

    def __init__(self, message):
        self.message = message
        if "result" not in message:
            raise AssertionError("no result: %r" % (message,))
        self.result = message["result"]
        self.content = self.result["content"]
        self.is_error = self.result.get("isError", False)
        self.receipt = self.result.get("_meta", {}).get("adder/receipt", {})
        self.verdict = self.receipt.get("verdict")
        self.texts = [c["text"] for c in self.content if c["type"] == "text"]
        self.text = "\n".join(self.texts)

    @property
    def stdout(self):
        """The first text, if the program wrote to stdout at all."""
        return self.texts[0] if self.receipt.get("stdout_bytes") else ""

    @property
    def rest(self):
        """All text but stdout: value, stderr, traceback, reason."""
        first = 1 if self.receipt.get("stdout_bytes") else 0
        return "\n".join(self.texts[first:])

    @property
    def images(self):
        return [base64.b64decode(c["data"], validate=True)
            for c in self.content if c["type"] == "image"]

    @property
    def files(self):
        return [c for c in self.content
            if c["type"] in ("resource", "resource_link")]

    def __repr__(self):
        text = json.dumps(self.result)
        return "<Answer %s>" % (text if len(text) < 2000 else
            text[:1500] + " ... " + text[-500:])


class Client:
    """Newline-delimited JSON-RPC over a pair of descriptors."""

    def __init__(self, rfd, wfd, name):
        self.rfd, self.wfd, self.name = rfd, wfd, name
        self.buffer = bytearray()
        self.inbox = []			# messages nobody asked for yet
        self.eof = False
        self.next_id = 1
        self.version = None
        for fd in {rfd, wfd}:
            os.set_blocking(fd, False)

    # bytes

    def _pump(self, timeout, want_write=False):
        """Wait for input (or room for output) and read what is there."""
        poll = select.poll()
        if not self.eof:
            poll.register(self.rfd, select.POLLIN)
        if want_write:
            poll.register(self.wfd, select.POLLOUT |
                (select.POLLIN if self.wfd == self.rfd and not self.eof
                else 0))
        events = poll.poll(max(0, timeout) * 1000)
        if any(fd == self.rfd and ev & ~select.POLLOUT for fd, ev in events):
            try:
                data = os.read(self.rfd, 1 << 20)
            except BlockingIOError:
                return events
            except ConnectionResetError:
                data = b""
            self.eof = self.eof or not data
            self.buffer += data
            self._split()
        return events

    def _split(self):
        if b"\n" not in self.buffer:
            return
        *lines, rest = bytes(self.buffer).split(b"\n")
        self.buffer = bytearray(rest)
        for line in lines:
            line.decode("ascii")	# by contract; raises if it is not
            self.inbox.append(json.loads(line))

    def send_bytes(self, data, timeout=WAIT):
        """Write all of it, reading meanwhile so that neither side blocks."""
        view = memoryview(data)
        deadline = time.monotonic() + timeout
        while view:
            try:
                view = view[os.write(self.wfd, view):]
                continue
            except BlockingIOError:
                pass
            if time.monotonic() > deadline:
                raise Timeout("%s takes no more input" % self.name)
            self._pump(deadline - time.monotonic(), want_write=True)

    def send(self, message):
        self.send_bytes(json.dumps(message).encode() + b"\n")

    # messages

    def take(self, accept, what, timeout=WAIT):
        """The first message, old or new, that accept() likes."""
        deadline = time.monotonic() + timeout
        seen = 0
        while True:
            for i in range(seen, len(self.inbox)):
                if accept(self.inbox[i]):
                    return self.inbox.pop(i)
            seen = len(self.inbox)
            if self.eof:
                raise AssertionError("%s was closed instead of %s" %
                    (self.name, what))
            left = deadline - time.monotonic()
            if left <= 0:
                raise Timeout("%s: no %s within %.0f s; got %r" %
                    (self.name, what, timeout, self.inbox[-5:]))
            self._pump(left)

    def receive(self, timeout=WAIT):
        """The next message of any kind."""
        return self.take(lambda m: True, "message", timeout)

    def answer(self, ident, timeout=WAIT):
        return self.take(lambda m: "method" not in m and
            m.get("id") == ident and type(m.get("id")) is type(ident),
            "answer to %r" % (ident,), timeout)

    def answered(self, ident):
        """An answer to ident has arrived; reads what is there."""
        while not self.eof and self._pump(0):
            pass
        return any("method" not in m and m.get("id") == ident
            for m in self.inbox)

    def notification(self, method, timeout=WAIT):
        return self.take(lambda m: m.get("method") == method, method, timeout)

    def wait_closed(self, timeout=WAIT):
        deadline = time.monotonic() + timeout
        while not self.eof:
            if time.monotonic() > deadline:
                raise Timeout("%s is still open" % self.name)
            self._pump(deadline - time.monotonic())

    # requests

    def request(self, method, params=None, **members):
        """Send a request and return its id."""
        ident, self.next_id = self.next_id, self.next_id + 1
        message = {"jsonrpc": "2.0", "id": ident, "method": method}
        if params is not None:
            message["params"] = params
        message.update(members)
        self.send(message)
        return message["id"]

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)

    def rpc(self, method, params=None, timeout=WAIT):
        return self.answer(self.request(method, params), timeout)

    def ping(self, timeout=WAIT):
        assert self.rpc("ping", timeout=timeout).get("result") == {}

    def initialize(self, version="2025-11-25"):
        result = self.rpc("initialize", {"protocolVersion": version,
            "capabilities": {}, "clientInfo": {"name": "it", "version": "1"}})
        self.version = result["result"]["protocolVersion"]
        self.notify("notifications/initialized")
        return result["result"]

    def start(self, code, meta=None, **arguments):
        """Call run_python and return the request's id."""
        params = {"name": "run_python",
            "arguments": dict(arguments, code=code)}
        if meta is not None:
            params["_meta"] = meta
        return self.request("tools/call", params)

    def finish(self, ident, timeout=WAIT):
        return Answer(self.answer(ident, timeout))

    def run(self, code, wait=WAIT, **arguments):
        return self.finish(self.start(code, **arguments), wait)

    def cancel(self, ident, reason="enough"):
        self.notify("notifications/cancelled",
            {"requestId": ident, "reason": reason})

    def shut_down_writing(self):
        """EOF for the server; answers can still be read."""
        raise NotImplementedError

    def close(self):
        raise NotImplementedError

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


class SocketClient(Client):
    def __init__(self, sock, name):
        self.sock = sock
        super().__init__(sock.fileno(), sock.fileno(), name)

    def shut_down_writing(self):
        self.sock.shutdown(socket.SHUT_WR)

    def close(self):
        self.sock.close()


class PipeClient(Client):
    def __init__(self, process, name):
        self.process = process
        super().__init__(process.stdout.fileno(), process.stdin.fileno(),
            name)

    def shut_down_writing(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()

    def close(self):
        self.shut_down_writing()


# --- one daemon -------------------------------------------------------------

class Daemon:
    """One adderd of our own, with everything it may leave in one place."""

    def __init__(self, options=None, stdio=False, unix=True, tcp=False,
            arguments=(), wait=True, env=None, user=None, owner=None,
            prefix=(), conf=""):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="adder-it-"))
        self.top.chmod(0o711)		# workers may have another uid
        self.scratch = self.top / "scratch"
        self.scratch.mkdir(mode=0o711)
        who = {}
        if user is not None:		# a pwd entry, to be used as root
            who = {"user": user.pw_uid, "group": user.pw_gid,
                "extra_groups": []}
            owner = user
        if owner is not None:		# whom the prefix makes of root
            for path in (self.top, self.scratch):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        self.socket_path = self.top / "s"
        self.conf_file = self.top / "adderd.conf"
        self.conf_file.write_text(conf)
        self.lines = []
        self.changed = threading.Condition()
        self.clients = []
        self.stdio = None
        self.tcp_address = None
        self.process = None
        self.log_closed = False

        self.options = dict(COMMON)
        if unix:
            self.options["listen.unix"] = str(self.socket_path)
        if tcp:
            self.options["listen.tcp"] = "127.0.0.1:0"
        self.options.update(options or {})
        argv = [str(word).format(top=self.top, scratch=self.scratch)
            for word in prefix]	# a program that executes its arguments
        argv += [str(build_dir() / "adderd"), "-f", str(self.conf_file)]
        for key, value in self.options.items():
            argv += ["-o", "%s=%s" % (key, value)]
        argv += list(arguments) + (["--stdio"] if stdio else [])
        self.started_at = time.monotonic()	# for the bench
        self.process = start_process(argv, cwd=self.top,
            stdin=subprocess.PIPE if stdio else subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=dict(os.environ, TMPDIR=str(self.scratch), **(env or {})),
            **who)
        self.reader = threading.Thread(target=self._read_log, daemon=True)
        self.reader.start()
        if stdio:
            self.stdio = PipeClient(self.process, "stdio")
        try:
            if wait:
                self.wait_listening(unix, tcp)
        except BaseException:
            self.kill()
            raise

    # log

    def _read_log(self):
        for raw in self.process.stderr:
            with self.changed:
                self.lines.append(raw.decode("utf-8", "replace").rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.log_closed = True
            self.changed.notify_all()

    def wait_log(self, pattern, timeout=WAIT, count=1):
        """The count-th log line that matches, as a match object."""
        deadline = time.monotonic() + timeout
        with self.changed:
            while True:
                hits = [m for m in (re.search(pattern, line)
                    for line in self.lines) if m]
                if len(hits) >= count:
                    return hits[count - 1]
                left = deadline - time.monotonic()
                if left <= 0 or self.log_closed:
                    raise Timeout("no log line %r; the log:\n%s" %
                        (pattern, self.log_tail()))
                self.changed.wait(left)

    def log_tail(self, count=40):
        return "\n".join(self.lines[-count:])

    def wait_listening(self, unix, tcp):
        if unix:
            self.wait_log(r"listening on unix " +
                re.escape(str(self.socket_path)))
        if tcp:
            hit = self.wait_log(r"listening on tcp ([0-9.]+):([0-9]+)")
            self.tcp_address = (hit[1], int(hit[2]))

    # connections

    def connect(self, carrier="unix", version="2025-11-25"):
        """A new connection, initialized unless version is None."""
        if carrier == "stdio":
            client = self.stdio
        elif carrier == "unix":
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(WAIT)
            sock.connect(str(self.socket_path))
            client = SocketClient(sock, "unix")
        else:
            sock = socket.create_connection(self.tcp_address, WAIT)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client = SocketClient(sock, "tcp")
        self.clients.append(client)
        if version is not None:
            client.initialize(version)
        return client

    # processes

    @property
    def pid(self):
        return self.process.pid

    def processes(self):
        return [p for p in descendants(self.pid) if p.state not in "ZX"]

    def guard(self):
        """adderd's one child, which starts keepers."""
        return eventually(lambda: next((p for p in self.processes()
            if p.ppid == self.pid), None), "a guard")

    def keeper(self):
        """The guard's child, which all other processes are below."""
        guard = self.guard()
        return eventually(lambda: next((p for p in self.processes()
            if p.ppid == guard.pid and p.comm == "adderd-keeper"), None),
            "a keeper")

    def zygote(self):
        """The zygote that serves, or that is about to for the first time.

        One that is ready is named in the log; before that it is the oldest
        child of the keeper (later ones are an early one and workers)."""
        keeper = self.keeper()

        def find():
            pids = [int(m[1]) for m in (re.search(
                r"zygote [0-9]+ ready: pid ([0-9]+)", line)
                for line in list(self.lines)) if m]
            found = ([proc_stat(pids[-1])] if pids else
                sorted((p for p in self.processes() if p.ppid == keeper.pid),
                    key=lambda p: p.start))
            return next((p for p in found if p and p.state not in "ZX" and
                p.comm == "adder-zygote"), None)
        return eventually(find, "a zygote")

    def early(self):
        """The process that the log names last as one that serves while
        another one warms up; None if it is gone."""
        pids = [int(m[1]) for m in (re.search(
            r"zygote [0-9]+ serves while .*: pid ([0-9]+)", line)
            for line in list(self.lines)) if m]
        found = proc_stat(pids[-1]) if pids else None
        return found if found and found.state not in "ZX" else None

    def marked(self, name):
        """Processes that a job has named with mark(name)."""
        return [p for p in self.processes() if p.comm == name]

    # the end

    def send_signal(self, number):
        self.process.send_signal(number)

    def wait_exit(self, timeout=WAIT):
        """The exit status, once the process is gone."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise Timeout("adderd still runs after %.0f s; the log:\n%s" %
                (timeout, self.log_tail())) from None

    def kill(self):
        """End it the hard way and clean up; no checks."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._release()

    def _release(self):
        for client in self.clients:
            with contextlib.suppress(OSError):
                client.close()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self.reader.join(WAIT)
        self.process.stderr.close()
        shutil.rmtree(self.top, ignore_errors=True)

    def stop(self, number=signal.SIGTERM, timeout=WAIT):
        """Stop it and check that nothing of it is left."""
        before = self.processes()
        if self.process.poll() is None:
            self.send_signal(number)
        try:
            status = self.wait_exit(timeout)
            assert status == 0, "exit status %s; the log:\n%s" % (status,
                self.log_tail())
            self.check_nothing_left(before)
        finally:
            self.kill()

    def check_nothing_left(self, before=()):
        """No process, socket or scratch file of this daemon exists."""
        eventually(lambda: not [p for p in before if alive(p)],
            "processes are left: %r" % (before,), 5)
        eventually(lambda: not strays(), "orphans are left: %r" %
            (strays(),), 5)
        assert not self.socket_path.exists(), "the socket is left"
        left = [str(p) for p in self.scratch.rglob("*")]
        assert not left, "scratch files are left: %r" % left[:10]

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        if kind is None and self.process.poll() is None:
            self.stop()
        else:
            self.kill()


def strays():
    """Orphans that fell to this process; dead ones are reaped here."""
    known = {p.pid for p in subprocess_children()}
    found = []
    for proc in proc_table().values():
        if proc.ppid != os.getpid() or proc.pid in known:
            continue
        if proc.state == "Z":
            with contextlib.suppress(ChildProcessError):
                os.waitpid(proc.pid, os.WNOHANG)
        else:
            found.append(proc)
    return found


_running = []


def subprocess_children():
    """Processes that tests started themselves with start_process()."""
    _running[:] = [p for p in _running if p.poll() is None]
    return _running


def start_process(*args, **kwargs):
    """subprocess.Popen that the search for strays knows about."""
    process = subprocess.Popen(*args, **kwargs)
    _running.append(process)
    return process
