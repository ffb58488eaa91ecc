"""A scripted keeper and server in one: starts a real adder-zygote, asks it
for workers and speaks the frame protocol (proto/PROTOCOL.md) with them.
Standard library only."""
import array
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

FRAMES = {"WORKER_FORK": 12, "ZYGOTE_READY": 21, "WORKER_FORKED": 23,
          "WORKER_REFUSED": 24, "JOB": 40, "INPUT_FILE": 41, "PARKED": 50,
          "PREFAULT": 42, "PREFAULTED": 58, "VALUE": 52, "EXCEPTION": 53, "IMAGE": 54,
          "FILE": 55, "DONE": 56, "FILE_PART": 57}
NAMES = {number: name for name, number in FRAMES.items()}
MODULES = ("numpy,scipy.optimize,scipy.integrate,scipy.stats,scipy.linalg,"
           "scipy.signal,scipy.interpolate,scipy.special,scipy.sparse,"
           "scipy.fft,sympy,pandas,matplotlib.pyplot")
LIMITS = {"timeout_ms": 60000, "cpu_ms": 60000, "memory": 512 << 20,
          "output": 1 << 20, "scratch": 64 << 20, "files": 8192, "pids": 64,
          "fds": 256}
WAIT = 60                       # seconds before a test gives up
START_WAIT = 300                # for the imports, on a busy machine


# --- msgpack, as far as the protocol uses it

def pack(v):
    if isinstance(v, bool):
        return b"\xc3" if v else b"\xc2"
    if isinstance(v, int):
        return struct.pack(">BQ", 0xcf, v) if v >= 0 else \
            struct.pack(">Bq", 0xd3, v)
    if isinstance(v, str):
        v = v.encode()
        return struct.pack(">BI", 0xdb, len(v)) + v
    if isinstance(v, bytes):
        return struct.pack(">BI", 0xc6, len(v)) + v
    if isinstance(v, dict):
        return struct.pack(">BI", 0xdf, len(v)) + b"".join(
            pack(k) + pack(x) for k, x in v.items())
    raise TypeError(v)


def _length(data, at, width):
    return int.from_bytes(data[at:at + width], "big"), at + width


def _unpack(data, at):
    c, at = data[at], at + 1
    if c < 0x80:
        return c, at
    if c >= 0xe0:
        return c - 256, at
    if c in (0xc2, 0xc3):
        return c == 0xc3, at
    if 0xcc <= c <= 0xcf:
        return _length(data, at, 1 << (c - 0xcc))
    if 0xd0 <= c <= 0xd3:
        width = 1 << (c - 0xd0)
        return int.from_bytes(data[at:at + width], "big", signed=True), \
            at + width
    if 0x80 <= c < 0x90 or c in (0xde, 0xdf):
        n = c & 15
        if c >= 0xde:
            n, at = _length(data, at, 2 if c == 0xde else 4)
        out = {}
        for _ in range(n):
            k, at = _unpack(data, at)
            out[k], at = _unpack(data, at)
        return out, at
    if 0xa0 <= c < 0xc0:
        n = c & 31
    elif 0xd9 <= c <= 0xdb:
        n, at = _length(data, at, 1 << (c - 0xd9))
    elif 0xc4 <= c <= 0xc6:
        n, at = _length(data, at, 1 << (c - 0xc4))
    else:
        raise ValueError("msgpack type 0x%02x" % c)
    raw = data[at:at + n]
    return (raw.decode() if 0xa0 <= c < 0xc0 or c >= 0xd9 else raw), at + n


def unpack(data):
    value, at = _unpack(data, 0)
    assert at == len(data), "bytes after the payload"
    return value


def frame(name, fields):
    body = pack(fields)
    return struct.pack(">IHH", len(body), FRAMES[name], 0) + body


def take_frames(buf):
    """Whole frames at the start of a bytearray, which loses them."""
    found = []
    while len(buf) >= 8:
        size, number, zero = struct.unpack_from(">IHH", buf)
        assert zero == 0 and number in NAMES, (size, number, zero)
        if len(buf) < 8 + size:
            break
        found.append((NAMES[number], unpack(bytes(buf[8:8 + size]))))
        del buf[:8 + size]
    return found


# --- processes

class Result:
    """What came of one job."""

    def __init__(self):
        self.stdout = self.stderr = b""
        self.frames = []
        self.status = None          # as waitpid gives it
        self.times = {}             # frame name -> first arrival

    def all(self, name):
        return [f for n, f in self.frames if n == name]

    def one(self, name):
        found = self.all(name)
        assert len(found) <= 1, (name, found)
        return found[0] if found else None

    @property
    def done(self):
        return self.one("DONE")

    @property
    def exit_code(self):
        """As subprocess has it; what DONE says where there is a DONE."""
        if self.done:
            return self.done["exit_code"]
        return os.waitstatus_to_exitcode(self.status)

    @property
    def value(self):
        v = self.one("VALUE")
        return v and v["text"].decode()

    @property
    def exception(self):
        e = self.one("EXCEPTION")
        return e and {k: v.decode() if isinstance(v, bytes) else v
                      for k, v in e.items()}

    @property
    def traceback(self):
        return self.exception["traceback"] if self.exception else ""

    @property
    def images(self):
        return [(i["name"].decode(), i["mime"].decode(), i["data"])
                for i in self.all("IMAGE")]

    @property
    def files(self):
        """{path: FILE}, one that came in parts put together."""
        found, last = {}, None
        for name, f in self.frames:
            if name == "FILE":
                last = found[f["path"].decode()] = dict(f)
            elif name == "FILE_PART":
                last["data"] += f["data"]
                last["whole"] = len(last["data"]) == last["size"]
        return found

    def __repr__(self):
        return "<stdout %r stderr %r exit %r %r>" % (
            self.stdout[-2000:], self.stderr[-2000:], self.status,
            [(n, {k: v if not isinstance(v, bytes) or len(v) < 500 else
                  v[:500] for k, v in f.items()}) for n, f in self.frames])


class Worker:
    """One forked worker, from the side of keeper and server."""

    def __init__(self, number, scratch, limits):
        self.number, self.limits = number, limits
        self.scratch = os.path.join(scratch, str(number))
        self.job, self._job_end = socket.socketpair()
        self.out, self._out_end = os.pipe()
        self.err, self._err_end = os.pipe()
        self.pid = self.pidfd = None
        self.buf = bytearray()
        self.asked = time.monotonic()

    def ends(self):
        return [self._job_end.fileno(), self._out_end, self._err_end]

    def close_ends(self):
        self._job_end.close()
        os.close(self._out_end)
        os.close(self._err_end)

    def next_frame(self):
        """(name, fields), or None at the end of the link."""
        self.job.settimeout(WAIT)
        while True:
            found = take_frames(self.buf)
            if found:
                assert len(found) == 1, found
                return found[0]
            data = self.job.recv(65536)
            if not data:
                return None
            self.buf += data

    def park(self):
        first = self.next_frame()
        if first is None or first[0] != "PARKED":
            self.end()
            raise AssertionError("not parked: %r, stderr %r" % (
                first, self.stderr))
        self.parked = time.monotonic()
        return first[1]

    def run(self, code, stdin=b"", policy=0, limits=None, timeout=WAIT,
            kill_after=None, live=False, image_side=0, image_bytes=0):
        """Gives the job and gathers everything until the end of it.

        kill_after: kill as a deadline does, that many seconds after the
        start; else the worker is killed at DONE, as adderd does it, unless
        it has ended by itself.
        """
        if isinstance(code, str):
            code = code.encode("utf-8", "surrogatepass")
        r = Result()
        start = time.monotonic()
        r.times["JOB"] = start
        self._send(frame("JOB", {
            "code": code, "stdin_data": stdin, "policy": policy,
            "limits": limits or self.limits, "live": live,
            "files_max": 32, "files_bytes": 32 << 20,
            "image_side": image_side, "image_bytes": image_bytes}))
        self._gather(r, start, timeout, kill_after)
        r.status = self.end()
        return r

    def _send(self, data):
        self.job.settimeout(WAIT)
        try:
            self.job.sendall(data)
        except BrokenPipeError:
            pass

    def _gather(self, r, start, timeout, kill_after):
        streams = {self.job.fileno(): None, self.out: [], self.err: []}
        poll = select.poll()
        for fd in [*streams, self.pidfd]:
            poll.register(fd, select.POLLIN)
        open_fds, dead = set(streams), False
        while open_fds and not dead or self._pending(r, streams, open_fds):
            left = start + timeout - time.monotonic()
            if kill_after and time.monotonic() > start + kill_after:
                self.kill()
                kill_after = None
            events = poll.poll(0 if dead else
                               min(max(left, 0), kill_after or 1e9, 1) * 1000)
            if left < 0:
                self.kill()
                raise AssertionError("no end after %s s: %r" % (timeout, r))
            if dead and not events:
                break
            for fd, _ in events:
                if fd == self.pidfd:
                    dead = True
                    poll.unregister(fd)
                    continue
                try:
                    data = os.read(fd, 1 << 16)
                except ConnectionResetError:
                    data = b""
                if not data:
                    poll.unregister(fd)
                    open_fds.discard(fd)
                elif fd == self.job.fileno():
                    self.buf += data
                    now = time.monotonic()
                    for f in take_frames(self.buf):
                        r.times.setdefault(f[0], now)
                        r.frames.append(f)
                        if f[0] == "DONE":
                            self.kill()
                else:
                    streams[fd].append(data)
        r.stdout = b"".join(streams[self.out])
        r.stderr = b"".join(streams[self.err])

    def _pending(self, r, streams, open_fds):
        return bool(open_fds) and bool(
            select.select(list(open_fds), [], [], 0)[0])

    def kill(self):
        signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def end(self):
        """Reaps, removes the scratch directory; the wait status."""
        self.job.close()
        self.stderr = b""
        if self.pid is None:
            return None
        _, status = os.waitpid(self.pid, 0)
        os.set_blocking(self.err, False)
        try:
            self.stderr = os.read(self.err, 65536)
        except BlockingIOError:
            pass
        os.close(self.pidfd)
        os.close(self.out)
        os.close(self.err)
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.pid = None
        return status


class Zygote:
    """A running adder-zygote."""

    def __init__(self, program, python_env="", modules=MODULES, warm_file="",
                 generation=7, debug=False, env=None, options=()):
        self.top = tempfile.mkdtemp(prefix="adder-test-")
        self.scratch = os.path.join(self.top, "scratch")
        os.mkdir(self.scratch, 0o700)
        self.generation = generation
        self.last = 0
        self.log = open(os.path.join(self.top, "log"), "w+b")
        self.control, end = socket.socketpair(socket.AF_UNIX,
                                              socket.SOCK_SEQPACKET)
        argv = [program, "--generation", str(generation), "--python-env",
                python_env, "--modules", modules, "--warm-file", warm_file,
                "--scratch", self.scratch, *options] + ["--debug"] * debug
        self.pid = os.fork()
        if self.pid == 0:
            try:
                fd = os.dup(end.fileno())
                os.dup2(self.log.fileno(), 2)
                os.dup2(fd, 3)
                os.set_inheritable(3, True)
                os.closerange(4, 1024)
                os.execve(program, argv, env or dict(os.environ))
            finally:
                os._exit(127)
        end.close()
        self.control.settimeout(START_WAIT)
        try:
            name, self.ready = self._recv()[0]
        except (EOFError, OSError):
            name = None
        if name != "ZYGOTE_READY":
            raise RuntimeError("no zygote: " + self.stop()[1])

    def log_text(self):
        self.log.flush()
        with open(self.log.name, "rb") as f:
            return f.read().decode("utf-8", "replace")

    def _recv(self):
        fds = array.array("i")
        data, anc, _, _ = self.control.recvmsg(
            65536, socket.CMSG_SPACE(4 * fds.itemsize))
        if not data:
            raise EOFError
        for level, kind, raw in anc:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds.frombytes(raw[:len(raw) - len(raw) % fds.itemsize])
        (one,) = take_frames(bytearray(data))
        return one, list(fds)

    def _eof(self):
        return self.control.recv(1) == b""

    def fork(self, limits=None, park=True):
        self.last += 1
        w = Worker(self.last, self.scratch, limits or LIMITS)
        socket.send_fds(self.control, [frame("WORKER_FORK", {
            "generation": self.generation, "worker": w.number,
            "session": False, "limits": w.limits})], w.ends())
        w.close_ends()
        (name, fields), fds = self._recv()
        w.answer = (name, fields)
        if name == "WORKER_FORKED":
            w.pid, w.pidfd = fields["pid"], fds[0]
        if park:
            assert name == "WORKER_FORKED", fields
            w.prepared = w.park()
        return w

    def run(self, code, on_worker=None, fork_limits=None, **kwargs):
        """Runs code in a worker of its own, which on_worker gets to see."""
        w = self.fork(fork_limits)
        if on_worker:
            on_worker(w)
        return w.run(code, **kwargs)

    def stop(self):
        """Closes the control socket; (exit code, log)."""
        self.control.close()
        _, status = os.waitpid(self.pid, 0)
        text = self.log_text()
        self.log.close()
        shutil.rmtree(self.top, ignore_errors=True)
        return os.waitstatus_to_exitcode(status), text
