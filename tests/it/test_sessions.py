"""Sessions: what stays, what goes, and whose they are."""

import os
import pathlib
import re
import time

import pytest

import harness
import sessions
import tiers
from harness import eventually
from sessions import Session, call, fate

OPEN = int(os.environ.get("ADDER_SESSIONS_OPEN", "25"))
OPTIONS = dict(harness.LIGHT, **{"sessions.max": "30"})
UNKNOWN = "vm_00112233445566778899aabbccddeeff"


@pytest.fixture
def session(client):
    with Session(client) as session:
        yield session


def test_variables_stay(session):
    assert fate(session.run("x = [1]")) == "kept"
    session.run("x.append(2)\ndef f(): return x")
    assert session.run("f()").rest == "value: [1, 2]"


def test_one_shot_calls_know_nothing_of_it(session, client):
    session.run("x = 1")
    answer = client.run("x")
    assert answer.verdict == "exception" and fate(answer) is None


def test_generators_files_modules_and_random_state(session):
    session.run("import random, colorsys\nrandom.seed(7)\n"
        "g = (i * i for i in range(10))\nf = open('log', 'w')\n"
        "f.write('one ')\na = random.random()")
    session.run("next(g), next(g)")
    assert session.run("b = random.random(); f.write('two'); f.flush()\n"
        "next(g)").texts[0] == "value: 4"
    assert session.run("random.seed(7)\n"
        "(a, b) == (random.random(), random.random())").rest == \
        "value: True"
    assert session.run("open('log').read()").rest == "value: 'one two'"


@pytest.mark.parametrize("code, verdict, arguments", [
    ("while True: pass", "timeout", {"timeout": 0.4}),
    ("import ctypes; ctypes.string_at(0)", "signal", {}),
    ("import os; os._exit(0)", "ok", {}),
    ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal",
        {}),
    ("y = bytearray(10**12)", "memory", {}),
    ("print('x' * (100 << 20))", "output", {}),
])
def test_rollback(session, code, verdict, arguments):
    session.run("x = 1")
    answer = session.run("x = 2\n" + code, **arguments)
    assert answer.verdict == verdict, answer
    assert fate(answer) == "rolled_back"
    assert "rolled back" in answer.text
    assert session.run("x").rest == "value: 1"


@pytest.mark.parametrize("code, verdict", [("1/0", "exception"),
    ("import sys; sys.exit(3)", "exit"), ("open('/root/x')", "exception")])
def test_what_fails_by_itself_is_kept(session, code, verdict):
    answer = session.run("x = 2\n" + code)
    assert (answer.verdict, fate(answer)) == (verdict, "kept")
    assert session.run("x").rest == "value: 2"


def test_traceback_shows_lines_of_earlier_calls(session):
    session.run("def f(n):\n    return 1 / n")
    text = session.run("# another program\n#\nf(0)").text
    assert "    return 1 / n" in text and "    f(0)" in text


def test_cancel(session, client):
    session.run("x = 1")
    ident = session.start("x = 2\n" + harness.mark("cancelme") +
        "import time; time.sleep(100)", timeout=60)
    follow = session.start("print(x)")
    client.ping()
    client.cancel(ident)
    assert session.finish(follow).stdout == "1\n"


def test_calls_run_in_order(session):
    idents = [session.start("import time\ntime.sleep(0.01)\n"
        "order = globals().get('order', []) + [%d]" % i) for i in range(20)]
    for ident in idents:
        assert fate(session.finish(ident)) == "kept"
    assert session.run("order == list(range(20))").rest == "value: True"


def test_output_and_input_belong_to_the_call(session):
    assert session.run("print(input())", stdin="a\nb\n").stdout == "a\n"
    assert session.run("print(input())", stdin="c\n").stdout == "c\n"
    assert session.run("input()").receipt["exception"] == "EOFError"
    session.run("import sys; print('late', end='')")
    assert session.run("print('now')").stdout == "now\n"


def test_only_new_files_come_back(session):
    first = session.run("open('a.csv', 'w').write('1')")
    assert [f["resource"]["uri"].rsplit("/", 1)[1] for f in first.files] == \
        ["a.csv"], first
    assert session.run("1").files == []
    assert len(session.run("open('a.csv', 'a').write('2')").files) == 1
    assert session.run("open('a.csv').read()").files == []


def test_processes_end_with_the_call(session, daemon):
    if daemon.wait_log(r"sandbox: (\S+)")[1] != "strong+":
        pytest.skip("programs may not start processes here")
    start = "import subprocess, sys\np = subprocess.Popen([sys.executable, " \
        "'-c', %r])\nsys.stdout.write(p.stdout.read(1) if p.stdout else '')\n"
    child = harness.mark("straggler") + "import time; time.sleep(100)"
    session.run("x = 1\n" + start % child)
    eventually(lambda: not daemon.marked("straggler"), "it is gone")
    answer = session.run("import os, time\nif os.fork() == 0:\n"
        "    os.setsid()\n    if os.fork() == 0:\n" +
        "".join("        %s\n" % line for line in (harness.mark("daemonish")
        + "import time; time.sleep(100)").splitlines()) +
        "    os._exit(0)\nx = 2")
    assert fate(answer) == "kept", answer
    eventually(lambda: not daemon.marked("daemonish"), "it is gone")
    assert session.run("x").rest == "value: 2"


def test_fork_bomb(session, daemon):
    if daemon.wait_log(r"sandbox: (\S+)")[1] != "strong+":
        pytest.skip("programs may not start processes here")
    session.run("x = 1")
    answer = session.run("import os\nwhile True:\n    try: os.fork()\n"
        "    except OSError: pass", timeout=1)
    assert (answer.verdict, fate(answer)) == ("timeout", "rolled_back")
    answer = session.run("import os\nx = 2\nfor _ in range(200):\n    try:\n"
        "        if os.fork() == 0:\n            while True: pass\n"
        "    except OSError: break", timeout=20)
    assert fate(answer) == "kept", answer
    assert session.run("x").rest == "value: 2"


def test_forked_child_ends_as_elsewhere(session, daemon):
    if daemon.wait_log(r"sandbox: (\S+)")[1] != "strong+":
        pytest.skip("programs may not start processes here")
    answer = session.run("import os, sys\nx = 1\npid = os.fork()\n"
        "if pid == 0:\n    print('child', flush=True)\n    x = 2\n"
        "    sys.exit(5)\nprint(os.waitstatus_to_exitcode("
        "os.waitpid(pid, 0)[1]))")
    assert answer.stdout == "child\n5\n", answer
    assert session.run("x").rest == "value: 1"


def test_full_directory_can_be_emptied(session):
    answer = session.run("with open('big', 'wb') as f:\n    while True:\n"
        "        f.write(bytes(1 << 20))")
    assert answer.verdict == "files" and fate(answer) == "kept", answer
    session.run("g = open('rest', 'wb', buffering=0)\ntry:\n"
        "    while True: g.write(b'x')\nexcept OSError: pass", timeout=30)
    assert session.run("import os; os.remove('big'); os.remove('rest')\n"
        "len(os.listdir())").verdict == "ok"


def processes_of(daemon, before):
    """The leader and the state of the one session opened since before; the
    state that the last call came from may be about to go."""
    def find():
        new = [p for p in daemon.processes() if p.pid not in before]
        leaders = [p for p in new if p.ppid == daemon.keeper().pid and
            any(q.ppid == p.pid for q in new)]
        states = [p for p in new if leaders and p.ppid == leaders[0].pid]
        return len(states) == 1 and (leaders[0], states[0])
    return eventually(find, "a session at rest")


@pytest.mark.parametrize("victim", ["leader", "state"])
@pytest.mark.parametrize("when", ["rest", "call"])
def test_killed(client, victim, when):
    with harness.Daemon(harness.LIGHT) as daemon, \
            daemon.connect() as client:
        before = {p.pid for p in daemon.processes()}
        session = Session(client)
        session.run("x = 1")
        leader, state = processes_of(daemon, before)
        if when == "call":
            ident = session.start(harness.mark("working") +
                "import time; time.sleep(100)", timeout=1)
            eventually(lambda: daemon.marked("working"), "it runs")
        os.kill(leader.pid if victim == "leader" else state.pid, 9)
        if when == "call":
            answer = session.finish(ident)
            assert fate(answer) == "lost", answer
        answer = eventually(lambda: (lambda a: a.is_error and a)(
            session.run("x")), "it is told")
        assert "sandbox_initialize" in answer.text
        eventually(lambda: not harness.alive(leader), "nothing is left")
        with Session(client) as fine:
            assert fine.run("2").rest == "value: 2"


def test_client_that_hangs_up_in_a_call(daemon, client):
    gone = daemon.connect()
    session = Session(gone)
    session.run("x = 1")
    session.start("x = 2\n" + harness.mark("hangup") +
        "import time; time.sleep(100)", timeout=60)
    eventually(lambda: daemon.marked("hangup"), "it runs")
    gone.close()
    eventually(lambda: not daemon.marked("hangup"), "it ends")
    with Session(client, session.handle) as same:
        assert same.run("x").rest == "value: 1"


def test_threads_run_in_place(session):
    answer = session.run("import threading\ne = threading.Event()\n"
        "t = threading.Thread(target=e.wait, daemon=True)\nt.start()\nx = 1")
    assert fate(answer) == "kept" and "Threads" in answer.text
    assert fate(session.run("x = 2")) == "kept"
    assert "Threads" not in session.run("e.set(); t.join()").text
    assert fate(session.run("x = 3\nwhile True: pass", timeout=0.4)) == \
        "rolled_back"
    assert session.run("x").rest == "value: 2"
    session.run("e.clear()\nthreading.Thread(target=e.wait).start()")
    answer = session.run("while True: pass", timeout=0.4)
    assert (answer.verdict, fate(answer)) == ("timeout", "lost")
    answer = session.run("x")
    assert answer.is_error and "sandbox_initialize" in answer.text


def test_stop_during_a_call(client):
    session = Session(client)
    ident = session.start(harness.mark("stopme") +
        "import time; time.sleep(100)", timeout=60)
    waiting = session.start("print(1)")
    client.ping()
    assert not session.stop().is_error
    for i in (ident, waiting):
        answer = session.finish(i)
        assert (answer.verdict, fate(answer)) == ("cancelled", "lost")
    answer = session.run("1")
    assert answer.is_error and "sandbox_stop" in answer.text


def test_fork(session):
    session.run("x = [1]; g = iter(range(5)); next(g)")
    with session.fork() as branch:
        session.run("x.append(2)")
        branch.run("x.append(3)")
        assert session.run("x, next(g)").rest == "value: ([1, 2], 1)"
        assert branch.run("x, next(g)").rest == "value: ([1, 3], 1)"
        assert fate(branch.run("x = 0\nwhile True: pass", timeout=0.4)) == \
            "rolled_back"
        with branch.fork() as third:
            branch.stop()
            assert third.run("x").rest == "value: [1, 3]"
    assert session.run("x").rest == "value: [1, 2]"


def test_foreign_is_as_unknown(daemon, session):
    with daemon.connect("tcp") as tcp, daemon.connect("tcp") as another, \
            daemon.connect("unix") as unix:
        theirs = Session(tcp)
        theirs.run("x = 1")
        wanted = call(another, "run_python", code="x",
            session_id=UNKNOWN).text
        for who, handle in ((another, theirs.handle), (unix, theirs.handle),
                (tcp, session.handle)):
            for tool, more in (("run_python", {"code": "x"}),
                    ("sandbox_stop", {}), ("sandbox_fork", {})):
                answer = call(who, tool, session_id=handle, **more)
                # But for the name that was asked for.
                assert answer.is_error and answer.text == wanted.replace(
                    UNKNOWN, handle)
        # The same user over another connection is the same user.
        session.run("y = 5")
        assert Session(unix, session.handle).run("y").rest == "value: 5"
        assert theirs.run("x").rest == "value: 1"


def open_sessions(client):
    return client.rpc("adder/status")["result"]["sessions"]["open"]


def test_ends_with_its_connection(daemon, client):
    before = open_sessions(client)
    with daemon.connect("tcp") as tcp:
        Session(tcp).run("x = 1")
        assert open_sessions(client) == before + 1
    eventually(lambda: open_sessions(client) == before, "it ended")


def test_ttl(client):
    session = Session(client, ttl=1)
    session.run("x = 1")
    eventually(lambda: "ttl" in call(client, "sandbox_stop",
        session_id=UNKNOWN if not ended(client, session) else
        session.handle).text, "it ended")
    answer = session.run("x")
    assert answer.is_error and "ttl" in answer.text and \
        "sandbox_initialize" in answer.text


def ended(client, session):
    """Without a call in it, which would keep it."""
    return client.rpc("adder/status")["result"]["sessions"]["expired"] > 0


def test_a_ttl_that_is_lowered_is_said(client):
    for ttl, lowered in ((86400, False), (86460, True)):
        answer = call(client, "sandbox_initialize", ttl=ttl)
        Session(client, Session.handle_of(answer)).stop()
        assert ("The ttl of %d s was lowered to" % ttl in answer.text) == \
            lowered, answer


@pytest.mark.parametrize("ttl", [0, -1, 1e9, "soon"])
def test_bad_ttl(client, ttl):
    answer = call(client, "sandbox_initialize", ttl=ttl)
    assert answer.is_error and "ttl" in answer.text


def test_as_many_as_may_be(client):
    room = 30 - open_sessions(client)
    many = [Session(client) for _ in range(room)]
    answer = call(client, "sandbox_initialize")
    assert answer.is_error and "sessions.max" in answer.text
    for session in many:
        session.stop()
    with Session(client) as again:
        assert again.run("1").rest == "value: 1"


def test_policy_is_the_sessions(session):
    answer = session.run("1", policy="restricted")
    assert answer.is_error and "policy" in answer.text


def test_restricted(daemon):
    with harness.Daemon(dict(harness.LIGHT, policy="restricted")) as daemon, \
            daemon.connect() as client, Session(client) as session:
        session.run("x = sum([1, 2])")
        assert session.run("x + 1").rest == "value: 4"
        answer = session.run("import os")
        assert answer.verdict == "denied" and fate(answer) == "kept"
        assert session.run("x").rest == "value: 3"


def test_program_harms_its_own_session_only(session, client):
    """It closes all descriptors, kills its checkpoint, forges frames."""
    session.run("x = 1")
    answer = session.run("import os; os.closerange(3, 200)")
    assert fate(answer) == "rolled_back"
    assert session.run("x").rest == "value: 1"
    for code in ("import os\nos.kill(-1, 9)", "import os\n"
            "for i in range(1, 100):\n    if i != os.getpid():\n"
            "        try: os.kill(i, 9)\n        except OSError: pass",
            "import os\nos.write(4, b'x' * 16)\nos.write(4, bytes(16))",
            "import os\nos.write(3, b'\\0' * 64)"):
        answer = session.run(code + "\nx = 2")
        assert fate(answer) in ("kept", "rolled_back", "lost", None)
    with Session(client) as fine:
        assert fine.run("1").rest == "value: 1"


def test_reload_keeps_sessions(client, daemon, session):
    session.run("x = 1")
    ready = len([l for l in daemon.lines if " ready: Python" in l])
    os.kill(daemon.pid, 1)
    daemon.wait_log(r" ready: Python", count=ready + 1)
    assert session.run("x").rest == "value: 1"


def test_status_and_metrics(client, session):
    session.run("1")
    status = client.rpc("adder/status")["result"]["sessions"]
    assert status["open"] >= 1 and status["opened"] >= 1


def test_keeper_killed():
    with harness.Daemon(harness.LIGHT) as daemon, \
            daemon.connect() as client:
        session = Session(client)
        session.run("x = 1")
        ident = session.start("import time; time.sleep(100)", timeout=60)
        client.ping()
        os.kill(daemon.keeper().pid, 9)
        answer = session.finish(ident)
        assert (answer.verdict, fate(answer)) == ("lost", "lost")
        answer = session.run("x")
        assert answer.is_error and "sandbox_initialize" in answer.text
        with Session(client) as new:
            assert new.run("2").rest == "value: 2"


def test_memory_of_all_sessions():
    with harness.Daemon(dict(harness.LIGHT, **{"sessions.memory": "64m"})) \
            as daemon, daemon.connect() as client:
        first, second = Session(client), Session(client)
        first.run("a = b'x' * 50_000_000")
        if not re.search(r"sandbox: [^(]*\([^)]*cgroup", daemon.log_tail()):
            pytest.skip("no control group counts memory here")
        second.run("b = b'x' * 50_000_000")
        eventually(lambda: client.rpc("adder/status")["result"]["sessions"]
            ["evicted"] == 1, "one made room")
        answer = first.run("len(a)")
        assert answer.is_error and "sessions.memory" in answer.text
        assert second.run("len(b)").rest == "value: 50000000"


def pss_kib(pid):
    for line in pathlib.Path("/proc/%d/smaps_rollup" % pid).open():
        if line.startswith("Pss:"):
            return int(line.split()[1])


def test_many_at_once():
    options = dict(harness.LIGHT) if OPEN < 100 else {}
    options.update({"sessions.max": str(OPEN), "queue.max": str(2 * OPEN),
        "clients.calls_max": str(OPEN), "queue.timeout": "10m"})
    with harness.Daemon(options) as daemon, daemon.connect() as client:
        begun = time.monotonic()
        many = [Session(client) for _ in range(OPEN)]
        idents = [s.start("x = %d\nprint(x)" % i, timeout=60)
            for i, s in enumerate(many)]
        for i, (s, ident) in enumerate(zip(many, idents)):
            assert s.finish(ident, timeout=240).stdout == "%d\n" % i
        took = time.monotonic() - begun
        assert many[0].run("x").rest == "value: 0"
        assert many[-1].run("x").rest == "value: %d" % (OPEN - 1)
        if os.geteuid() != 0:
            return
        keeper = daemon.keeper().pid
        workers = [p for p in daemon.processes() if p.ppid == keeper]
        leaders = [p.pid for p in workers if [c for c in
            harness.descendants(p.pid) if c.state not in "ZX"]]
        sizes = [sum(pss_kib(p) for p in [leader] + [c.pid for c in
            harness.descendants(leader)]) for leader in leaders[:50]]
        mean = sum(sizes) / len(sizes)
        print("%d sessions, one call in each: %.1f s; PSS of an idle "
            "session: mean %.0f KiB, largest %.0f KiB" % (OPEN, took, mean,
            max(sizes)))
        assert mean < 4096


def test_fork_is_refused_while_threads_go_on(session):
    session.run("import threading\ne = threading.Event()\nx = 1\n"
        "t = threading.Thread(target=e.wait, daemon=True)\nt.start()")
    answer = call(session.client, "sandbox_fork", session_id=session.handle)
    assert answer.is_error and "threads" in answer.text, answer
    assert "structuredContent" not in answer.result
    assert session.run("e.set(); t.join(); x").rest == "value: 1"
    with session.fork() as branch:
        assert branch.run("x").rest == "value: 1"


def test_stopping_a_branch_at_once_does_no_harm(session):
    """The session's next call may follow while its process is still being
    copied for a branch that nobody wants any more."""
    session.run("x = 1")
    for _ in range(20):
        session.client.cancel(session.client.request("tools/call", {
            "name": "sandbox_fork",
            "arguments": {"session_id": session.handle}}))
        assert session.run("x").rest == "value: 1"


def test_what_is_said_of_memory_is_true():
    """A session may have twice limits.memory, and says so."""
    with harness.Daemon(dict(harness.LIGHT, **{"limits.memory": "64m"})) \
            as daemon, daemon.connect() as client:
        if "cgroup" not in daemon.wait_log("sandbox: (.*)")[1]:
            pytest.skip("no control group counts memory here")
        about = {tool["name"]: tool["description"]
            for tool in client.rpc("tools/list")["result"]["tools"]}
        assert "64 MiB of memory" in about["run_python"]
        assert "128 MiB of memory" in about["sandbox_initialize"]
        big = "x = bytearray(90 << 20)"
        answer = client.run(big)
        assert answer.verdict == "memory" and " 64 MiB" in answer.text
        with Session(client) as session:
            assert session.run(big).verdict == "ok"
            change = session.run("for i in range(0, len(x), 4096): x[i] = 1")
            assert change.verdict == "memory", change
            assert fate(change) == "rolled_back"
            assert " 128 MiB" in change.text and "(64 MiB" in change.text
            assert session.run("x[0], len(x) >> 20").rest == "value: (0, 90)"


def test_a_kernel_that_cannot_confine_sessions_says_so():
    """From the first moment on, also while Python starts."""
    if tiers.why_not("medium"):
        pytest.skip(tiers.why_not("medium"))
    options = dict(harness.LIGHT, **{"sandbox.processes": "deny"})
    with tiers.TierDaemon("medium", options, flags=("--no-notify",)) as \
            daemon, daemon.connect() as client:
        for _ in range(2):
            answer = call(client, "sandbox_initialize")
            assert answer.is_error and "user notification" in answer.text
            assert client.run("1 + 1").rest == "value: 2"
            # A new zygote finds the same.
            before = daemon.zygote()
            os.kill(before.pid, 9)
            eventually(lambda: not harness.alive(before), "it is gone")
    with harness.Daemon(options, stdio=True) as daemon:
        client = daemon.connect("stdio")
        Session(client).stop()


def test_a_program_that_writes_into_others_descriptors(session):
    """Its result would come over one of them, and is not waited for."""
    session.run("x = 1")
    began = time.monotonic()
    answer = session.run("import os, time\nprint('said', flush=True)\nx = 2\n"
        "for fd in range(3, 64):\n    try: os.write(fd, bytes(100))\n"
        "    except OSError: pass\ntime.sleep(30)", timeout=30)
    assert (answer.verdict, fate(answer)) == ("lost", "rolled_back"), answer
    assert answer.stdout == "said\n" and "descriptor" in answer.text
    assert time.monotonic() - began < 25
    assert session.run("x").rest == "value: 1"
