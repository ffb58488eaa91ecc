"""Programs of ours against each rule of the jail, and what works inside.

Each file of tests/sandbox says at its top what it is about, prints "held" as
its last line, and may have a directive: "# verdict: V [SIGNAL]" where it is to
end otherwise, "# needs: MODULE" where a library must be there.
"""

import os
import re
import socket

import pytest

import harness
import tiers

FOLDER = harness.source_dir() / "tests/sandbox"
PROGRAMS = sorted(p for p in FOLDER.glob("*.py") if p.stem != "prelude")
SECRET = "the secret of the host"


class Target:
    """What a program may try to reach: a process, a file and sockets of the
    user whose adderd it is."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.file = daemon.top / "target"
        self.file.write_text(SECRET)
        self.file.chmod(0o600)
        if os.geteuid() == 0:
            os.chown(self.file, tiers.USER.pw_uid, tiers.USER.pw_gid)
        self.sockets = {}
        for name in (str(daemon.top / "datagrams"),
                "@adder-it-%d" % os.getpid()):
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            sock.bind(name.replace("@", "\0", 1))
            sock.setblocking(False)
            self.sockets[name] = sock
            if name[0] == "/":
                os.chmod(name, 0o777)

    def close(self):
        for sock in self.sockets.values():
            sock.close()

    def state(self):
        st = self.file.stat()
        return {"file": (st.st_mode, st.st_uid, st.st_size, st.st_mtime_ns,
                st.st_nlink, self.file.read_text()),
            "cpus": [os.sched_getaffinity(p) for p in self.pids()],
            "messages": [self.receive(s) for s in self.sockets.values()]}

    def pids(self):
        return [self.daemon.pid, self.daemon.keeper().pid,
            self.daemon.zygote().pid]

    @staticmethod
    def receive(sock):
        try:
            return sock.recv(1000)
        except BlockingIOError:
            return None

    def jail(self, daemon):
        """What the program is told."""
        strongest = daemon.tier == "strong+"
        return {"tier": daemon.tier, "processes": strongest,
            "memory_counted": strongest, "pids": self.pids(),
            "file": str(self.file), "sockets": list(self.sockets),
            "uid_base": int(daemon.options.get("sandbox.uid_base", 0))}


@pytest.fixture(scope="module", params=tiers.NAMES)
def daemon(request):
    if tiers.why_not(request.param):
        pytest.skip(tiers.why_not(request.param))
    with tiers.TierDaemon(request.param, {"python.modules": "numpy",
            "limits.timeout": "20s"}, env={"ISO_SECRET": SECRET}) as daemon:
        daemon.target = Target(daemon)
        yield daemon
        daemon.target.close()


@pytest.fixture
def client(daemon):
    with daemon.connect() as client:
        yield client


def directive(text, name):
    hit = re.search(r"^# %s: (.*)$" % name, text, re.M)
    return hit and hit[1]


def has_module(client, name):
    return client.run("import importlib.util as u\n"
        "print(u.find_spec(%r) is not None)\n" % name).stdout == "True\n"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_program(daemon, client, path):
    text = path.read_text()
    needs = directive(text, "needs")
    if needs and not has_module(client, needs):
        pytest.skip("%s is not installed" % needs)
    before = daemon.target.state()
    code = "\n".join([(FOLDER / "prelude.py").read_text(),
        "JAIL = %r" % daemon.target.jail(daemon), text])
    answer = client.run(code)
    verdict, number = ((directive(text, "verdict") or "ok") + " ").split(
        " ", 1)
    assert answer.verdict == verdict, "\n" + answer.text
    if number:
        assert answer.receipt["signal"] == int(number), answer
    if verdict == "ok":
        assert answer.stdout.endswith("held\n"), answer
    assert "not reached" not in answer.stdout
    assert SECRET not in answer.text
    assert daemon.target.state() == before
    assert client.run("print(6*7)").stdout == "42\n"


def test_a_verdict_names_the_refused_call(client):
    """So that whoever wrote the program can repair it."""
    answer = client.run("import socket\nsocket.socket()\n")
    assert answer.verdict == "denied" and answer.is_error, answer
    assert "denied: socket" in answer.rest, answer


def test_input_that_no_pipe_holds_is_no_refusal(client):
    """What adder itself was refused is not said of the program."""
    answer = client.run("import sys\nassert len(sys.stdin.read()) == 1 << 20\n"
        "raise PermissionError('mine')\n", stdin="x" * (1 << 20))
    assert answer.verdict == "exception", answer


def test_a_control_group_is_used_once(daemon, client):
    """Jobs that die with all they started do not harm those that follow."""
    fork = "for _ in range(3): os.fork()\n" if daemon.tier == "strong+" else ""
    for _ in range(10):
        answer = client.run("import os, time\n%stime.sleep(60)\n" % fork,
            timeout=0.2)
        assert answer.verdict == "timeout", answer
        assert client.run("print(1)").stdout == "1\n"
