"""Lives and deaths: every process killed, reload, start, stop."""

import contextlib
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import time

import pytest

import harness

HANG = "import time\nprint('begun', flush=True)\ntime.sleep(3600)\n"
ONE = dict(harness.LIGHT, **{"pool.max": "1", "pool.warm": "1"})


def start_marked(daemon, client, name, code=HANG, timeout=60):
    ident = client.start(harness.mark(name) + code, timeout=timeout)
    harness.eventually(lambda: daemon.marked(name), "job %s runs" % name)
    return ident


def test_zygote_killed_while_calls_wait():
    with harness.Daemon(ONE) as daemon:
        client = daemon.connect()
        assert client.run("print(0)").stdout == "0\n"
        blocker = start_marked(daemon, client, "blocker")
        queued = [client.start("print(%d)" % i, timeout=20)
            for i in range(5)]
        client.ping()
        for _ in range(2):
            zygote = daemon.zygote()
            os.kill(zygote.pid, signal.SIGKILL)
            harness.eventually(lambda: not harness.alive(zygote),
                "the zygote is dead")
            client.ping()
            assert daemon.zygote().pid != zygote.pid
        client.cancel(blocker)
        for i, ident in enumerate(queued):
            assert client.finish(ident).stdout == "%d\n" % i
        client.ping()
        assert not client.answered(blocker)


def test_zygote_killed_before_it_was_ready():
    with harness.Daemon(harness.LIGHT) as daemon:
        client = daemon.connect()
        ident = client.start("print('served')", timeout=20)
        os.kill(daemon.zygote().pid, signal.SIGKILL)
        assert client.finish(ident).stdout == "served\n"


def test_keeper_killed():
    """Running jobs are lost and say so; waiting ones are served."""
    with harness.Daemon(ONE) as daemon:
        client = daemon.connect()
        running = start_marked(daemon, client, "running")
        queued = client.start("print('queued')", timeout=20)
        client.ping()
        keeper = daemon.keeper()
        below = harness.descendants(keeper.pid)
        os.kill(keeper.pid, signal.SIGKILL)
        answer = client.finish(running)
        assert answer.verdict == "lost" and answer.is_error, answer
        assert client.finish(queued).stdout == "queued\n"
        assert client.run("print(1)").stdout == "1\n"
        harness.eventually(lambda: not [p for p in below
            if harness.alive(p)], "the old processes are gone", 5)
        assert daemon.keeper().pid != keeper.pid


def test_guard_killed():
    """Nothing with rights is left to start keepers: adderd says so, ends,
    and all ends with it."""
    daemon = harness.Daemon(ONE)
    try:
        client = daemon.connect()
        start_marked(daemon, client, "running")
        before = daemon.processes()
        os.kill(daemon.guard().pid, signal.SIGKILL)
        assert daemon.wait_exit() > 0
        harness.eventually(lambda: not [p for p in before
            if harness.alive(p)], "nothing is left", 5)
        assert re.search(r"error .*guard", daemon.log_tail()), (
            daemon.log_tail())
    finally:
        daemon.kill()


def test_worker_killed_from_outside():
    with harness.Daemon(harness.LIGHT) as daemon:
        client = daemon.connect()
        ident = start_marked(daemon, client, "victim")
        os.kill(daemon.marked("victim")[0].pid, signal.SIGKILL)
        answer = client.finish(ident)
        assert answer.verdict in ("signal", "lost"), answer
        assert answer.stdout == "begun\n"
        assert client.run("print(1)").stdout == "1\n"


def test_idle_workers_killed_from_outside():
    """The pool fills up again and no call meets a dead worker."""
    with harness.Daemon(harness.LIGHT) as daemon:
        client = daemon.connect()
        client.run("print(0)")
        for _ in range(3):
            zygote = daemon.zygote()
            idle = [p for p in daemon.processes()
                if p.pid != zygote.pid and p.ppid == zygote.ppid]
            for proc in idle:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(proc.pid, signal.SIGKILL)
            assert client.run("print(1)").stdout == "1\n"


def test_adderd_killed_leaves_nothing():
    daemon = harness.Daemon(harness.LIGHT)
    try:
        client = daemon.connect()
        start_marked(daemon, client, "left-job")
        before = daemon.processes()
        assert len(before) >= 3, before
        daemon.send_signal(signal.SIGKILL)
        assert daemon.wait_exit() == -signal.SIGKILL
        harness.eventually(lambda: not [p for p in before
            if harness.alive(p)], "nothing is left", 5)
        harness.eventually(lambda: not harness.strays(), "no orphan", 5)
    finally:
        daemon.kill()


def test_socket_of_a_dead_server_is_taken_over():
    first = harness.Daemon(harness.LIGHT)
    path = str(first.socket_path)
    try:
        first.send_signal(signal.SIGKILL)
        first.wait_exit()
        assert os.path.exists(path)
        options = dict(harness.LIGHT, **{"listen.unix": path})
        with harness.Daemon(options, unix=False) as second:
            second.socket_path = first.socket_path
            second.wait_listening(True, False)
            assert second.connect().run("print(1)").stdout == "1\n"
        assert not os.path.exists(path)
    finally:
        first.kill()


def test_socket_of_a_live_server_is_left_alone():
    with harness.Daemon(harness.LIGHT) as first:
        result = subprocess.run([str(harness.build_dir() / "adderd"),
            "-f", str(first.conf_file), "-o",
            "listen.unix=%s" % first.socket_path], timeout=harness.WAIT,
            capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert result.returncode != 0
        assert str(first.socket_path) in result.stderr, result.stderr
        assert first.connect().run("print(1)").stdout == "1\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stop_by_signal(number):
    """Also with a job running, one waiting and a child that hides."""
    with harness.Daemon(ONE, tcp=True) as daemon:
        client = daemon.connect("tcp")
        start_marked(daemon, client, "busy")
        client.start("print(1)")
        client.ping()
        begun = time.monotonic()
        daemon.stop(number)
        assert time.monotonic() - begun < 2


def test_reload():
    """A new generation serves; a running job and connections stay."""
    options = dict(harness.LIGHT)
    with harness.Daemon(options) as daemon:
        client = daemon.connect()
        running = start_marked(daemon, client, "running",
            "import time\ntime.sleep(1.5)\nprint('done')\n", timeout=20)
        zygote = daemon.zygote()
        daemon.conf_file.write_text("limits.timeout_max = 300ms\n")
        daemon.send_signal(signal.SIGHUP)
        daemon.wait_log(r"(?i)(reload|configuration)")

        def clamped():
            answer = client.run("import time\ntime.sleep(1)\nprint('x')\n",
                timeout=50)
            return answer.verdict == "timeout"
        harness.eventually(clamped, "the new limit holds")
        assert client.finish(running).stdout == "done\n"
        harness.eventually(lambda: not harness.alive(zygote),
            "the old generation is gone")
        assert client.run("print(1)").stdout == "1\n"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can hide a path")
def test_reload_of_a_path_that_only_the_keeper_can_reach(tmp_path):
    """adderd looks the zygote up as root first, and as nobody later."""
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    program = private / "adder-zygote"
    program.symlink_to(harness.build_dir() / "adder-zygote")
    options = dict(harness.LIGHT, **{"zygote.path": program})
    with harness.Daemon(options) as daemon:
        first = daemon.zygote().pid
        daemon.conf_file.write_text("limits.timeout_max = 300ms\n")
        daemon.send_signal(signal.SIGHUP)
        harness.eventually(lambda: daemon.zygote() is not None and
            daemon.zygote().pid != first, "another zygote serves")
        assert daemon.connect().run("print(1)").stdout == "1\n"


def test_reload_with_a_mistake_changes_nothing():
    with harness.Daemon(harness.LIGHT) as daemon:
        client = daemon.connect()
        zygote = daemon.zygote()
        client.run("1")
        daemon.conf_file.write_text("no such key = 5\n")
        daemon.send_signal(signal.SIGHUP)
        daemon.wait_log(r"(?i)adderd\.conf.*no|no.*such")
        assert client.run("print(1)").stdout == "1\n"
        assert daemon.zygote().pid == zygote.pid


def test_stdio_ends_at_once_at_end_of_input():
    daemon = harness.Daemon(harness.LIGHT, stdio=True, unix=False)
    try:
        client = daemon.connect("stdio")
        start_marked(daemon, client, "stdio-job")
        before = daemon.processes()
        begun = time.monotonic()
        client.shut_down_writing()
        assert daemon.wait_exit() == 0
        took = time.monotonic() - begun
        daemon.check_nothing_left(before)
        assert took < 1, "took %.2f s" % took
    finally:
        daemon.kill()


def test_stdio_ends_while_the_zygote_imports():
    daemon = harness.Daemon({}, stdio=True, unix=False)
    try:
        client = daemon.connect("stdio")
        before = daemon.processes()
        begun = time.monotonic()
        client.shut_down_writing()
        assert daemon.wait_exit() == 0
        took = time.monotonic() - begun
        daemon.check_nothing_left(before)
        assert took < 1, "took %.2f s" % took
    finally:
        daemon.kill()


def test_initialize_is_answered_while_the_zygote_imports():
    """A large library takes far longer to import; the call waits for it."""
    slow = {"python.modules": "scipy.stats"}
    with harness.Daemon(slow, stdio=True, unix=False) as daemon:
        client = daemon.connect("stdio")
        client.ping()
        ident = client.start("import sys, numpy\nprint('numpy' in "
            "sys.modules, numpy.arange(3).sum())\n", timeout=20)
        client.ping()
        assert not client.answered(ident), "the import is over already?"
        answer = client.finish(ident)
        assert answer.stdout == "True 3\n"
        assert answer.receipt["queue_ms"] > 100, answer
        client.shut_down_writing()
        assert daemon.wait_exit() == 0


def test_all_listeners_at_once():
    """Two TCP addresses, a Unix socket and stdio, each with a call."""
    options = dict(harness.LIGHT, **{
        "listen.tcp": "127.0.0.1:0,127.0.0.1:0"})
    with harness.Daemon(options, stdio=True) as daemon:
        pattern = r"listening on tcp ([0-9.]+):([0-9]+)"
        ports = [int(daemon.wait_log(pattern, count=i)[2]) for i in (1, 2)]
        assert len(set(ports)) == 2
        clients = [daemon.connect("stdio"), daemon.connect("unix")]
        for port in ports:
            daemon.tcp_address = ("127.0.0.1", port)
            clients.append(daemon.connect("tcp"))
        idents = [c.start("print('for %d')" % i)
            for i, c in enumerate(clients)]
        for i, (c, ident) in enumerate(zip(clients, idents)):
            assert c.finish(ident).stdout == "for %d\n" % i
        for c in clients:
            assert c.inbox == []


def test_unix_socket_has_its_mode():
    options = dict(harness.LIGHT, **{"listen.unix_mode": "0600"})
    with harness.Daemon(options) as daemon:
        mode = os.stat(daemon.socket_path).st_mode
        assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600


need_socat = pytest.mark.skipif(shutil.which("socat") is None,
    reason="socat is not installed")


@need_socat
def test_socat_as_a_stdio_command():
    """A client that only knows commands reaches a running server."""
    with harness.Daemon(harness.LIGHT) as daemon:
        bridge = harness.start_process(["socat", "STDIO", "UNIX-CONNECT:%s" %
            daemon.socket_path], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        client = harness.PipeClient(bridge, "socat")
        client.initialize()
        assert client.run("print('through')").stdout == "through\n"
        client.close()
        assert bridge.wait(harness.WAIT) == 0
        bridge.stdout.close()


@need_socat
def test_socat_serves_stdio_on_a_socket(tmp_path):
    """And the other way: a socket in front of adderd --stdio."""
    path = tmp_path / "s"
    command = "%s -f %s -o python.modules=math --stdio" % (
        harness.build_dir() / "adderd", os.devnull)
    bridge = harness.start_process(["socat", "UNIX-LISTEN:%s" % path,
        "EXEC:%s" % command])
    try:
        harness.eventually(path.exists, "socat listens")
        sock = socket.socket(socket.AF_UNIX)
        harness.eventually(lambda: sock.connect_ex(str(path)) == 0,
            "socat accepts")
        client = harness.SocketClient(sock, "socat")
        client.initialize()
        assert client.run("print('through')").stdout == "through\n"
        client.shut_down_writing()
        client.wait_closed()
        client.close()
        assert bridge.wait(harness.WAIT) == 0
    finally:
        if bridge.poll() is None:
            bridge.kill()
            bridge.wait()
