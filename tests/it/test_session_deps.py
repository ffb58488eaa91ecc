"""Sessions that start with packages: they are there, and they stay."""

import contextlib
import itertools
import os
import pathlib
import shutil
import signal
import sys
import tempfile

import pytest

import harness
import tiers
from sessions import Session, call, fate
from test_deps import installers
from wheels import make_wheel

SHOW = "import plain_one; print(plain_one.VERSION)"


@pytest.fixture(scope="module")
def wheels():
    top = pathlib.Path(tempfile.mkdtemp(prefix="adder-wheels-"))
    top.chmod(0o755)
    make_wheel(top, "plain-one")
    make_wheel(top, "other-one", files={"other_one/__init__.py": "",
        "other_one/late.py": "x = 42\n"})
    make_wheel(top, "keeps-state", files={"keeps_state.py": "seen = []\n"})
    make_wheel(top, "needs-none", requires=["not-there"])
    make_wheel(top, "dies-early", files={"dies_early.py":
        "import os\nos._exit(7)\n"})
    make_wheel(top, "big-one", files={"big_one/__init__.py": "",
        "big_one/late.py": "x = 1\n", "big_one/data": os.urandom(3 << 20)})
    make_wheel(top, "big-two", files={"big_two.py": "x = 2\n",
        "big_two.bin": os.urandom(3 << 20)})
    yield top
    shutil.rmtree(top)


@pytest.fixture
def store():
    top = pathlib.Path(tempfile.mkdtemp(prefix="adder-deps-"))
    top.chmod(0o711)
    yield top / "deps"
    shutil.rmtree(top, ignore_errors=True)


def options(wheels, store, **more):
    return dict(harness.LIGHT, **{"deps.dir": str(store),
        "deps.offline": str(wheels), "pool.warm": "1",
        "deps.timeout": "10m"}, **more)


@pytest.fixture(scope="module")
def daemon(wheels):
    top = pathlib.Path(tempfile.mkdtemp(prefix="adder-deps-"))
    top.chmod(0o711)
    with harness.Daemon(options(wheels, top / "deps")) as daemon:
        daemon.store = top / "deps"
        yield daemon
    shutil.rmtree(top, ignore_errors=True)


def initialize(client, *packages, **more):
    return call(client, "sandbox_initialize", dependencies=list(packages),
        **more)


def open_sessions(daemon):
    with daemon.connect() as client:
        return client.rpc("adder/status", {})["result"]["sessions"]["open"]


def state(daemon):
    with daemon.connect() as client:
        return client.rpc("adder/status", {})["result"]["environments"]


def clients(daemon):
    """With the one that asks."""
    with daemon.connect() as client:
        return client.rpc("adder/status", {})["result"]["clients"]


def environment_zygotes(daemon):
    """Zygotes that another one has forked, and workers that are idle."""
    keeper, main = daemon.keeper().pid, daemon.zygote().pid
    return [p for p in daemon.processes() if p.ppid == keeper and
        p.comm == "adder-zygote" and p.pid != main]


def environments(store):
    return {os.readlink(p) for p in store.iterdir() if p.is_symlink()}


# --- they are there

def test_packages_are_there_in_every_call(client):
    with Session(client, dependencies=["plain-one", "other-one"]) as session:
        assert session.run(SHOW).stdout == "1.0\n"
        assert fate(session.run("x = plain_one.VERSION")) == "kept"
        assert session.run("x").rest == "value: '1.0'"
        # Not imported before: its files are still there to be read.
        answer = session.run("from other_one.late import x; x")
        assert answer.rest == "value: 42", answer
    assert client.run(SHOW).receipt["exception"] == "ModuleNotFoundError"
    with Session(client) as session:
        assert session.run(SHOW).receipt["exception"] == \
            "ModuleNotFoundError"


def test_rollback_keeps_the_packages(client):
    with Session(client, dependencies=["keeps-state"]) as session:
        session.run("import keeps_state\nkeeps_state.seen.append(1)")
        for code, more in (
                ("keeps_state.seen.append(2)\nwhile True: pass",
                    {"timeout": 0.5}),
                ("keeps_state.seen.append(3)\nimport ctypes\n"
                    "ctypes.string_at(0)", {})):
            answer = session.run(code, **more)
            assert fate(answer) == "rolled_back", answer
            assert session.run("keeps_state.seen").rest == "value: [1]"


def test_a_fork_has_them_too(client):
    with Session(client, dependencies=["keeps-state"]) as session:
        session.run("import keeps_state\nkeeps_state.seen.append(1)")
        with session.fork() as branch:
            branch.run("keeps_state.seen.append(2)")
            assert branch.run("keeps_state.seen").rest == "value: [1, 2]"
            assert branch.run("1", dependencies=["keeps-state"]
                ).verdict == "ok"
        assert session.run("keeps_state.seen").rest == "value: [1]"


@pytest.mark.parametrize("processes", ("auto", "deny"))
@pytest.mark.parametrize("tier", tiers.NAMES)
def test_behind_each_jail(wheels, store, tier, processes):
    if tiers.why_not(tier):
        pytest.skip(tiers.why_not(tier))
    store.parent.chmod(0o777)
    with tiers.TierDaemon(tier, options(wheels, store,
            **{"sandbox.processes": processes})) as daemon:
        client = daemon.connect()
        with Session(client, dependencies=["plain-one"]) as session:
            assert session.run(SHOW).stdout == "1.0\n"
            session.run("import threading\nx = 1\n"
                "t = threading.Thread(target=int); t.start(); t.join()")
            answer = session.run("import os\nprint(x)\nos.fork()")
            if processes == "deny" or tier == "medium":
                assert answer.verdict == "exception", answer
                assert "PermissionError" in answer.text, answer
            answer = session.run("x = 2\nwhile True: pass", timeout=0.5)
            assert fate(answer) == "rolled_back", answer
            with session.fork() as branch:
                assert branch.run("x").rest == "value: 1"
        assert client.run("print(2)").stdout == "2\n"


def test_nothing_to_install_is_a_plain_session(client, daemon):
    with Session(client, dependencies=["packaging"]) as session:
        assert session.run("import packaging; x = 1").verdict == "ok"
        assert session.run("x").rest == "value: 1"


def test_progress_tells_of_the_installation(client):
    client.send({"jsonrpc": "2.0", "id": "init", "method": "tools/call",
        "params": {"name": "sandbox_initialize", "arguments":
            {"dependencies": ["other-one", "plain-one<9"]},
            "_meta": {"progressToken": "p"}}})
    seen = []
    while not any("other" in text for text in seen):
        seen.append(client.notification("notifications/progress")["params"]
            .get("message", ""))
    handle = Session.handle_of(client.finish("init"))
    assert client.run(SHOW, session_id=handle).stdout == "1.0\n"
    Session(client, handle).stop()


# --- what is refused

@pytest.mark.parametrize("packages, words", [
    (["no-such-package"], "could not be installed"),
    (["needs-none"], "not-there"),
    (["plain one"], "is no requirement"),
    (["plain-one @ file:///etc"], "names an address"),
    (["p%d" % i for i in range(65)], "64"),
    (["x" * 20000], "16384"),
])
def test_what_cannot_be_installed_is_no_session(daemon, client, packages,
        words):
    before = open_sessions(daemon)
    answer = initialize(client, *packages)
    assert answer.is_error and words in answer.text, answer
    assert open_sessions(daemon) == before
    with Session(client) as session:
        assert session.run("print(1)").stdout == "1\n"


def test_a_session_has_one_set(client):
    with Session(client, dependencies=["plain-one", "other-one"]) as session:
        assert session.run(SHOW, dependencies=["other-one", "plain-one"]
            ).stdout == "1.0\n"
        answer = session.run("1", dependencies=["plain-one"])
        assert answer.is_error and "other-one" in answer.text, answer
        assert "sandbox_initialize" in answer.text, answer
        answer = session.run("import somewhat")
        assert "sandbox_initialize" in answer.text, answer
    with Session(client) as session:
        answer = session.run("1", dependencies=["plain-one"])
        assert answer.is_error and "no dependencies" in answer.text, answer
        assert session.run("1", dependencies=[]).verdict == "ok"


def test_more_sessions_than_there_may_be(wheels, store):
    with harness.Daemon(options(wheels, store,
            **{"sessions.max": "1"})) as daemon:
        client = daemon.connect()
        with Session(client, dependencies=["plain-one"]):
            answer = initialize(client, "other-one")
            assert answer.is_error and "sessions.max" in answer.text, answer
        with Session(client, dependencies=["plain-one"]) as session:
            assert session.run(SHOW).stdout == "1.0\n"


def test_no_directory_no_packages():
    with harness.Daemon(harness.LIGHT) as daemon:
        answer = initialize(daemon.connect(), "plain-one")
        assert answer.is_error and "deps.dir" in answer.text, answer


# --- processes and files that go away

def test_a_cancelled_start_leaves_nothing(daemon, client):
    before = open_sessions(daemon)
    for i in range(5):
        client.send({"jsonrpc": "2.0", "id": "c%d" % i,
            "method": "tools/call", "params": {"name": "sandbox_initialize",
                "arguments": {"dependencies": ["plain-one!=2.%d" % i]}}})
        if i % 2:
            client.cancel("c%d" % i)
    for i in range(0, 5, 2):
        Session(client, Session.handle_of(client.finish("c%d" % i))).stop()
    harness.eventually(lambda: open_sessions(daemon) == before,
        "a session is left")


def test_a_client_that_leaves_in_between(daemon):
    sessions, installs = open_sessions(daemon), state(daemon)["installs"]
    with daemon.connect() as client:
        client.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "sandbox_initialize", "arguments":
                {"dependencies": ["plain-one!=7"]}}})
        # Held while the client leaves, unless it was too quick to be seen.
        held = harness.eventually(lambda: installers(daemon) or
            state(daemon)["installs"] > installs, "an installation")
        if held is not True:
            with contextlib.suppress(ProcessLookupError):
                os.kill(held[0].pid, signal.SIGSTOP)
    harness.eventually(lambda: clients(daemon) == 1, "it has left")
    if held is not True:
        with contextlib.suppress(ProcessLookupError):
            os.kill(held[0].pid, signal.SIGCONT)
    harness.eventually(lambda: state(daemon)["installs"] == installs + 1,
        "the installation goes on")
    assert open_sessions(daemon) == sessions


def test_the_zygote_of_its_packages_is_killed(daemon, client):
    with Session(client, dependencies=["keeps-state"]) as session:
        session.run("import os, keeps_state; x = 1")
        # The zygote is the oldest of its workers, of which one leads.
        for proc in sorted(environment_zygotes(daemon),
                key=lambda p: p.start)[:1]:
            os.kill(proc.pid, signal.SIGKILL)
        for _ in range(3):
            assert session.run("print(x)").stdout == "1\n"
        with Session(client, dependencies=["keeps-state"]) as another:
            assert another.run("import keeps_state").verdict == "ok"


def test_zygotes_killed_while_sessions_start(wheels, store):
    with harness.Daemon(options(wheels, store)) as daemon:
        client = daemon.connect()
        client.run(SHOW, dependencies=["plain-one"])
        for _ in range(5):
            client.send({"jsonrpc": "2.0", "id": "s", "method":
                "tools/call", "params": {"name": "sandbox_initialize",
                    "arguments": {"dependencies": ["plain-one"]}}})
            for proc in environment_zygotes(daemon):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(proc.pid, signal.SIGKILL)
            answer = client.finish("s")
            if answer.is_error:		# killed more often than it is tried
                assert "could not be started" in answer.text, answer
                continue
            session = Session(client, Session.handle_of(answer))
            answer = session.run(SHOW)
            # Its own process may have been among those killed.
            assert answer.is_error or answer.stdout == "1.0\n", answer
        with Session(client, dependencies=["plain-one"]) as session:
            assert session.run(SHOW).stdout == "1.0\n"


def test_a_package_that_ends_its_zygote(client):
    with Session(client, dependencies=["dies-early"]) as session:
        session.run("x = 1")
        answer = session.run("import dies_early")
        assert answer.receipt.get("exit_code") == 7, answer
        assert session.run("x").rest == "value: 1"


def test_an_idle_environment_retires_and_the_session_stays(wheels, store):
    with harness.Daemon(options(wheels, store,
            **{"deps.idle": "200ms"})) as daemon:
        client = daemon.connect()
        with Session(client, dependencies=["other-one"]) as session:
            session.run("x = 1")
            harness.eventually(lambda: len(environment_zygotes(daemon)) == 2,
                "one plain worker, one leader")
            answer = session.run("from other_one.late import x; x")
            assert answer.rest == "value: 42", answer


def test_eviction_spares_what_a_session_holds(wheels, store):
    conf = options(wheels, store, **{"deps.max_bytes": "6m",
        "deps.zygotes": "1"})
    with harness.Daemon(conf) as daemon:
        client = daemon.connect()
        session = Session(client, dependencies=["big-one"])
        first = environments(store)
        for top in first:		# unused since more than a while
            os.utime(store / top / "adder.json", (1, 1))
        assert client.run("import big_two", dependencies=["big-two"]
            ).verdict == "ok"
        assert first <= environments(store)
        answer = session.run("from big_one.late import x; x")
        assert answer.rest == "value: 1", answer
        # Once the session and its process are gone nobody holds it.
        session.stop()
        numbers = itertools.count(2)

        def is_evicted():
            assert client.run("1", dependencies=["plain-one!=%d" %
                next(numbers)]).verdict == "ok"
            return not first & environments(store)
        assert state(daemon)["evictions"] == 0
        harness.eventually(is_evicted, "it is still there")
        assert state(daemon)["evictions"] == 1


def test_the_status_tells_of_environments(wheels, store):
    with harness.Daemon(options(wheels, store)) as daemon:
        client = daemon.connect()
        assert state(daemon) == {"zygotes": 0, "held": 0, "installs": 0,
            "failures": 0, "evictions": 0}
        assert initialize(client, "no-such-package").is_error
        with Session(client, dependencies=["plain-one"]) as session:
            with session.fork(), Session(client, dependencies=["plain-one"]):
                assert state(daemon) == {"zygotes": 1, "held": 1,
                    "installs": 1, "failures": 1, "evictions": 0}
        harness.eventually(lambda: state(daemon)["held"] == 0, "it is held")
        # Found again, not installed.
        client.run(SHOW, dependencies=["plain-one "])
        assert state(daemon)["installs"] == 1


def test_a_reload_and_a_dead_keeper(wheels, store):
    with harness.Daemon(options(wheels, store)) as daemon:
        client = daemon.connect()
        with Session(client, dependencies=["plain-one"]) as session:
            session.run(SHOW + "\nx = 1")
            daemon.send_signal(signal.SIGHUP)
            daemon.wait_log("reloaded")
            assert session.run("print(x)").stdout == "1\n"
            os.kill(daemon.keeper().pid, signal.SIGKILL)
            daemon.wait_log("keeper ended")
            answer = session.run("print(x)")
            assert answer.is_error and "no more" in answer.text, answer
        with Session(client, dependencies=["plain-one"]) as session:
            assert session.run(SHOW).stdout == "1.0\n"


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
