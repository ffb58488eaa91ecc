"""Packages that calls ask for: installed once, imported ahead, held."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

import harness
import tiers
from wheels import make_sdist, make_wheel

# What a hostile package tries when it is imported; each line says what it
# could do.  Nothing of it may work, neither in the zygote nor in a job.
HOSTILE = r'''
import ctypes, os, signal, socket
libc = ctypes.CDLL(None, use_errno=True)
did = []
def attempt(what, function):
    try:
        if function():
            did.append(what)
    except BaseException:
        pass
def write(path):
    with open(path, "w") as f:
        f.write("mine")
    return True
attempt("read", lambda: open({secret!r}).read())
attempt("overwrite", lambda: write(__file__))
attempt("plant", lambda: write(os.path.dirname(__file__) + "/planted.py"))
attempt("list", lambda: [n for n in os.listdir({store!r})
    if n not in __file__])
attempt("proc", lambda: os.listdir("/proc/1"))
attempt("socket", lambda: socket.socket(socket.AF_INET))
attempt("unix", lambda: socket.socket(socket.AF_UNIX))
def kills():
    for pid in {pids!r}:
        try:
            os.kill(pid, signal.SIGKILL)
            return True
        except OSError:
            pass
attempt("kill", kills)
attempt("setuid", lambda: libc.setresuid(0, 0, 0) == 0)
attempt("unshare", lambda: libc.unshare(0x10000000) == 0)
MS_REMOUNT, MS_BIND = 32, 4096
attempt("remount", lambda: libc.mount(b"none", b"/usr", None,
    MS_REMOUNT | MS_BIND, None) == 0)
attempt("umount", lambda: libc.umount2(b"/usr", 2) == 0)
attempt("bind", lambda: libc.mount(b"/usr", b"/scratch", None, MS_BIND, None)
    == 0)
attempt("proc mount", lambda: libc.mount(b"proc", b"/scratch", b"proc", 6,
    None) == 0)
attempt("chroot", lambda: libc.chroot(b"/scratch") == 0)
attempt("ptrace", lambda: libc.ptrace(16, {pids!r}[0], 0, 0) == 0)
'''


@pytest.fixture(scope="module")
def wheels():
    top = pathlib.Path(tempfile.mkdtemp(prefix="adder-wheels-"))
    top.chmod(0o755)
    make_wheel(top, "plain-one")
    make_wheel(top, "plain-one", "2.0")
    make_wheel(top, "needs-one", requires=["plain-one<2"])
    make_wheel(top, "needs-two", requires=["plain-one>=2"])
    make_wheel(top, "with-extra", extras={"more": ["plain-one"]})
    make_wheel(top, "other-name", files={"different.py": "x = 42\n"})
    make_wheel(top, "slow-import", files={"slow_import.py":
        "import threading, time\nt = threading.Thread(target=time.sleep, "
        "args=(1000,), daemon=True)\nt.start()\nstarted = True\n"})
    make_wheel(top, "dies-early", files={"dies_early.py":
        "import os\nos._exit(7)\n"})
    make_wheel(top, "big-one", files={"big_one.py": "x = 1\n",
        "big_one.bin": os.urandom(3 << 20)})
    make_wheel(top, "big-two", files={"big_two.py": "x = 2\n",
        "big_two.bin": os.urandom(3 << 20)})
    make_wheel(top, "path-file", files={"path_file.py": "x = 1\n",
        "path_file.pth": "import os, sys; sys.from_pth = os.getpid()\n"})
    make_wheel(top, "climber", files={"climber.py": "x = 1\n",
        "../../../../../climbed.py": "x = 1\n"})
    make_wheel(top, "overwriter", files={"overwriter.py": "x = 1\n",
        "overwriter-1.0.data/data/pyvenv.cfg": "home = /nowhere\n",
        "overwriter-1.0.data/data/adder.json": "{}"})
    make_wheel(top, "linker", files={"linker.py": "x = 1\n"},
        links=[("linker_link", "/etc/shadow")])
    make_sdist(top, "source-only", setup="open('/tmp/adder-ran', 'w')")
    yield top
    shutil.rmtree(top)


def options(wheels, store, **more):
    return dict(harness.LIGHT, **{"deps.dir": str(store),
        "deps.offline": str(wheels), "pool.warm": "2",
        "deps.timeout": "10m"}, **more)


@pytest.fixture
def store():
    top = pathlib.Path(tempfile.mkdtemp(prefix="adder-deps-"))
    top.chmod(0o711)
    yield top / "deps"
    shutil.rmtree(top, ignore_errors=True)


@pytest.fixture(scope="module")
def daemon(wheels):
    """One daemon, and one store, for all that does not break either."""
    top = pathlib.Path(tempfile.mkdtemp(prefix="adder-deps-"))
    top.chmod(0o711)
    with harness.Daemon(options(wheels, top / "deps",
            **{"log.level": "debug", "deps.deny": "evil-*"})) as daemon:
        daemon.store = top / "deps"
        yield daemon
    shutil.rmtree(top, ignore_errors=True)


def environments(store):
    """{digest: directory} of those that are finished."""
    return {p.name: os.readlink(p) for p in store.iterdir()
        if re.fullmatch("[0-9a-f]{32}", p.name)}


def installers(daemon):
    return [p for p in daemon.processes() if p.ppid == daemon.keeper().pid
        and b"--installer" in command(p.pid)]


def command(pid):
    try:
        return pathlib.Path("/proc/%d/cmdline" % pid).read_bytes()
    except OSError:
        return b""


def test_a_package_is_installed_once(daemon, client):
    code = "import plain_one; print(plain_one.VERSION)"
    assert client.run(code, dependencies=["plain-one"]).stdout == "2.0\n"
    before = environments(daemon.store)
    second = client.run(code, dependencies=["plain-one"])
    assert second.stdout == "2.0\n"
    # The same by other words is the same environment.
    assert client.run(code, dependencies=["Plain_One", "plain.one"]
        ).stdout == "2.0\n"
    assert environments(daemon.store) == before
    assert client.run(code).receipt["exception"] == "ModuleNotFoundError"


def test_a_second_call_meets_a_parked_worker(client):
    client.run("1", dependencies=["plain-one"])
    code = "import sys\nprint('plain_one' in sys.modules)"
    answer = client.run(code, dependencies=["plain-one"])
    assert answer.verdict == "ok"
    if harness_jail_holds_packages():
        assert answer.stdout == "True\n"	# imported ahead of the fork


def harness_jail_holds_packages():
    """Only root, or who may make user namespaces, has all the layers."""
    return os.geteuid() == 0


def test_versions_extras_and_markers(client):
    show = "import plain_one; print(plain_one.VERSION)"
    assert client.run(show, dependencies=["plain-one==1.0"]).stdout == "1.0\n"
    assert client.run(show, dependencies=["plain-one<2"]).stdout == "1.0\n"
    assert client.run(show, dependencies=["with-extra[more]"]
        ).stdout == "2.0\n"
    assert client.run("import with_extra, plain_one", dependencies=[
        "with-extra"]).receipt["exception"] == "ModuleNotFoundError"
    assert client.run(show, dependencies=[
        "plain-one==1.0; python_version < '3'", "plain-one"]
        ).stdout == "2.0\n"


def test_preinstalled_packages_need_nothing(daemon, client):
    before = environments(daemon.store)
    answer = client.run("print(1)", dependencies=["packaging"])
    assert answer.stdout == "1\n", answer
    assert environments(daemon.store) == before


def test_script_metadata_counts(client):
    code = ("# /// script\n# requires-python = \">=3.8\"\n# dependencies = "
        "[\n#   \"plain-one<2\",\n# ]\n# ///\nimport plain_one\n"
        "print(plain_one.VERSION)\n")
    assert client.run(code).stdout == "1.0\n"
    bad = client.run(code.replace("[\n", "{{\n"))
    assert bad.verdict == "install" and "TOML" in bad.text, bad
    old = client.run(code.replace("3.8", "3.99"))
    assert old.verdict == "install" and "3.99" in old.text, old


@pytest.mark.parametrize("requirement, words", [
    ("no-such-package", "could not be installed"),
    ("plain-one==9", "No matching distribution"),
    ("plain one", "is no requirement"),
    ("-r /etc/passwd", "is no requirement"),
    ("--index-url=x", "is no requirement"),
    ("; touch /tmp/x", "is no requirement"),
    ("$(id)", "is no requirement"),
    ("plain-one @ file:///etc", "names an address"),
    ("git+https://example.com/x", "is no requirement"),
    ("./wheel.whl", "is no requirement"),
    ("evil-package", "deps.deny"),
    ("\u0000", "is no requirement"),
    ("", "is no requirement"),
    ("x" * 10000, "could not be installed"),
])
def test_bad_requirements_are_tool_errors(client, requirement, words):
    answer = client.run("print(1)", dependencies=[requirement])
    assert answer.is_error and answer.verdict == "install", answer
    assert words in answer.text, answer
    assert client.run("print(2)").stdout == "2\n"


def test_a_conflict_shows_what_the_resolver_says(client):
    answer = client.run("print(1)", dependencies=["needs-one", "needs-two"])
    assert answer.is_error and answer.verdict == "install"
    assert "conflict" in answer.text.lower(), answer
    assert len(answer.text) < 4000


def test_huge_sets_are_refused(client):
    answer = client.run("1", dependencies=["p%d" % i for i in range(65)])
    assert answer.is_error and "64" in answer.text, answer
    answer = client.run("1", dependencies=["p" * 16384, "q" * 16384])
    assert answer.is_error and "16384" in answer.text, answer
    block = "# /// script\n" + "# x\n" * 20000 + "# ///\nprint(1)"
    answer = client.run(block)
    assert answer.is_error and "16384" in answer.text, answer


def test_a_missing_module_names_its_package(client):
    assert 'dependencies: ["opencv-python-headless"]' in client.run(
        "import cv2.x").text
    assert 'dependencies: ["somewhat"]' in client.run("import somewhat").text


def test_the_import_name_may_be_another(client):
    answer = client.run("import different; print(different.x)",
        dependencies=["other-name"])
    assert answer.stdout == "42\n", answer


def test_two_equal_sets_at_once_are_one_install(daemon, wheels):
    with daemon.connect() as one, daemon.connect() as two:
        before = set(environments(daemon.store))
        a = one.start("import needs_one", dependencies=["needs-one"])
        b = two.start("import needs_one", dependencies=["needs-one"])
        # Other words for the same: two installers, one environment.
        c = two.start("import needs_one", dependencies=["needs_one"])
        for client, ident in ((one, a), (two, b), (two, c)):
            assert client.finish(ident).verdict == "ok"
        assert len(set(environments(daemon.store)) - before) == 1


def test_progress_tells_of_the_installation(client):
    ident = client.start("import needs_two", meta={"progressToken": "p"},
        dependencies=["needs-two"])
    seen = []
    while not any("needs" in text for text in seen):
        seen.append(client.notification("notifications/progress")["params"]
            .get("message", ""))
    assert client.finish(ident).verdict == "ok"


def test_a_cancelled_call_is_no_harm(client):
    ident = client.start("1", dependencies=["plain-one!=1.5"])
    client.cancel(ident)
    assert client.run("import plain_one", dependencies=["plain-one!=1.5"]
        ).verdict == "ok"


# --- what packages may be like

def test_a_package_with_threads_is_not_imported_ahead(client):
    code = "import slow_import; print(slow_import.started)"
    for _ in range(3):
        assert client.run(code, dependencies=["slow-import"]
            ).stdout == "True\n"


def test_a_package_that_ends_the_process(client):
    for _ in range(2):
        answer = client.run("print(1)", dependencies=["dies-early"])
        assert answer.stdout == "1\n", answer
        assert client.run("import dies_early", dependencies=["dies-early"]
            ).receipt.get("exit_code") == 7


def test_a_package_that_takes_all_memory(wheels, store):
    make_wheel(wheels, "greedy-one", files={"greedy_one.py":
        "import os\nx = []\nwhile True:\n    x.append(os.urandom(1 << 24))\n"})
    with harness.Daemon(options(wheels, store,
            **{"limits.memory": "128m"})) as daemon:
        client = daemon.connect()
        for _ in range(2):
            answer = client.run("print(1)", dependencies=["greedy-one"])
            assert answer.stdout == "1\n", answer
        answer = client.run("import greedy_one", dependencies=["greedy-one"])
        assert answer.verdict == "memory", answer
        assert client.run("print(2)").stdout == "2\n"


def test_source_is_refused_unless_it_may_be_built(client):
    answer = client.run("1", dependencies=["source-only"])
    assert answer.is_error and "source-only" in answer.text, answer
    assert not os.path.exists("/tmp/adder-ran")


def test_path_files_run_in_the_jail_only(daemon, client):
    answer = client.run("import sys, path_file\n"
        "print(getattr(sys, 'from_pth', None))", dependencies=["path-file"])
    assert answer.verdict == "ok", answer
    plain = client.run("import sys; print(hasattr(sys, 'from_pth'))")
    assert plain.stdout == "False\n"


@pytest.mark.parametrize("name", ["climber", "overwriter", "linker"])
def test_wheels_that_reach_out(daemon, client, name):
    answer = client.run("import %s; print(%s.x)" % (name, name),
        dependencies=[name])
    # Refused or harmless: nothing outside of its own directory is there.
    assert answer.verdict in ("ok", "install"), answer
    for place in (daemon.store, daemon.store.parent, daemon.top):
        assert not (place / "climbed.py").exists()
    for top in environments(daemon.store).values():
        for path in (daemon.store / top / "lib").rglob("linker_link"):
            assert not path.is_symlink()
    assert client.run("import plain_one", dependencies=["plain-one"]
        ).verdict == "ok"


@pytest.mark.parametrize("tier", tiers.NAMES)
def test_a_hostile_package_can_do_nothing(wheels, store, tier):
    if tiers.why_not(tier):
        pytest.skip(tiers.why_not(tier))
    secret = pathlib.Path(tempfile.mkdtemp(prefix="adder-secret-"))
    store.parent.chmod(0o777)
    with tiers.TierDaemon(tier, options(wheels, store)) as daemon:
        client = daemon.connect()
        pids = [daemon.zygote().pid, daemon.keeper().pid, daemon.pid,
            os.getpid()]
        (secret / "file").write_text("secret")
        (secret / "file").chmod(0o644)
        secret.chmod(0o755)
        make_wheel(wheels, "hostile-one", files={"hostile_one.py":
            HOSTILE.format(secret=str(secret / "file"), store=str(store),
            pids=pids)})
        client.run("1", dependencies=["plain-one"])	# there to be seen
        for _ in range(3):
            answer = client.run("import hostile_one\n"
                "print(hostile_one.did)", dependencies=["hostile-one"])
            assert answer.stdout == "[]\n", answer
        answer = client.run("import plain_one", dependencies=["plain-one"])
        assert answer.verdict == "ok"
        assert client.run("print(1)").stdout == "1\n"
    shutil.rmtree(secret)


def test_a_package_that_speaks_for_the_zygote(wheels, store):
    """Garbage, and frames that name what is not its own, on descriptor 3."""
    make_wheel(wheels, "liar-one", files={"liar_one.py":
        "import os, socket, sys\n"
        "if 'plain' not in sys.argv:\n"
        "    try:\n"
        "        s = socket.socket(fileno=os.dup(3))\n"
        "        for data in (b'x' * 100, b'\\0\\0\\0\\1\\0\\x15\\0\\0\\x80'):\n"
        "            s.send(data)\n"
        "    except OSError:\n"
        "        pass\n"})
    with harness.Daemon(options(wheels, store)) as daemon:
        client = daemon.connect()
        keeper = daemon.keeper().pid
        for _ in range(3):
            assert client.run("print(1)", dependencies=["liar-one"]
                ).stdout == "1\n"
        assert daemon.keeper().pid == keeper
        assert client.run("print(2)").stdout == "2\n"


# --- processes and files that go away

def test_a_killed_installer_is_told_and_leaves_nothing(wheels, store):
    make_wheel(wheels, "huge-one", files={"huge_one/%d.py" % i: "x = %d\n" %
        i for i in range(1000)})
    with harness.Daemon(options(wheels, store)) as daemon:
        client = daemon.connect()
        ident = client.start("import huge_one", dependencies=["huge-one"])
        found = harness.eventually(lambda: installers(daemon),
            "an installer")
        os.kill(found[0].pid, signal.SIGKILL)
        answer = client.finish(ident)
        assert answer.is_error and answer.verdict == "install", answer
        assert "ended by signal 9 (Killed)" in answer.text
        assert not environments(store)
        assert client.run("import huge_one.x", dependencies=["huge-one"]
            ).receipt["exception"] == "ModuleNotFoundError"
        assert len(environments(store)) == 1
        # What the first left behind is gone.
        tops = [p.name for p in store.iterdir() if p.name.startswith("env-")]
        assert tops == list(environments(store).values())


def test_adderd_killed_in_an_installation(wheels, store):
    conf = options(wheels, store)
    with harness.Daemon(conf) as daemon:
        client = daemon.connect()
        client.start("import plain_one", dependencies=["plain-one"])
        harness.eventually(lambda: any(p.name.startswith("env-")
            for p in store.iterdir()) if store.exists() else 0,
            "an environment under way")
        before = daemon.processes()
        daemon.send_signal(signal.SIGKILL)
        daemon.process.wait()
        harness.eventually(lambda: not [p for p in before
            if harness.alive(p)], "processes are left")
    with harness.Daemon(conf) as daemon:
        client = daemon.connect()
        assert client.run("import plain_one", dependencies=["plain-one"]
            ).verdict == "ok"
        tops = [p.name for p in store.iterdir() if p.name.startswith("env-")]
        assert tops == list(environments(store).values())


def test_a_damaged_environment_is_made_anew(wheels, store):
    conf = options(wheels, store)
    with harness.Daemon(conf) as daemon:
        assert daemon.connect().run("import plain_one", dependencies=[
            "plain-one"]).verdict == "ok"
    (digest, top), = environments(store).items()
    for path in (store / top).rglob("plain_one/__init__.py"):
        path.unlink()
    with harness.Daemon(conf) as daemon:
        answer = daemon.connect().run("import plain_one\n"
            "print(plain_one.VERSION)", dependencies=["plain-one"])
        assert answer.stdout == "2.0\n", answer
        assert environments(store)[digest] != top


def test_a_dead_zygote_of_an_environment_is_replaced(daemon, client):
    client.run("import plain_one", dependencies=["plain-one"])
    keeper = daemon.keeper().pid
    main = daemon.zygote().pid
    children = [p for p in daemon.processes() if p.ppid == keeper and
        p.comm == "adder-zygote" and p.pid != main]
    for proc in children:		# those zygotes, and all idle workers
        with contextlib.suppress(ProcessLookupError):	# adderd was first
            os.kill(proc.pid, signal.SIGKILL)
    for _ in range(3):
        assert client.run("import plain_one", dependencies=["plain-one"]
            ).verdict == "ok"


def test_a_keeper_that_dies_takes_nothing_for_good(wheels, store):
    with harness.Daemon(options(wheels, store)) as daemon:
        client = daemon.connect()
        client.run("import plain_one", dependencies=["plain-one"])
        os.kill(daemon.keeper().pid, signal.SIGKILL)
        daemon.wait_log("keeper ended")	# else it may be lost, and told so
        for _ in range(2):
            assert client.run("import plain_one", dependencies=["plain-one"]
                ).verdict == "ok"
        ident = client.start("import needs_one", dependencies=["needs-one"])
        harness.eventually(lambda: installers(daemon), "an installer")
        os.kill(daemon.keeper().pid, signal.SIGKILL)
        assert client.finish(ident).verdict == "ok"


def test_the_least_used_environment_makes_room(wheels, store):
    conf = options(wheels, store, **{"deps.max_bytes": "6m",
        "deps.zygotes": "1"})
    with harness.Daemon(conf) as daemon:
        client = daemon.connect()
        # In use: it stays, though both together are too much.
        busy = client.start("import big_one\nprint('in', flush=True)\n"
            "import time; time.sleep(1000)\n", meta={"progressToken": 1},
            timeout=60, dependencies=["big-one"])
        client.take(lambda m: m.get("method") == "notifications/progress"
            and "in" == m["params"].get("message"), "its output")
        first = set(environments(store).values())
        with daemon.connect() as other:
            waiting = other.start("import big_two", dependencies=["big-two"])
            harness.eventually(lambda: len(environments(store)) == 2,
                "a second environment")
            assert first <= set(environments(store).values())
            client.cancel(busy)
            assert other.finish(waiting).verdict == "ok"
        # Unused since more than a while: it goes for the next.
        old = store / next(iter(first)) / "adder.json"
        os.utime(old, (1, 1))
        assert client.run("import plain_one", dependencies=["plain-one",
            "other-name"]).verdict == "ok"
        assert not first & set(environments(store).values())
        assert not (store / next(iter(first))).exists()


def test_more_than_there_may_be(wheels, store):
    with harness.Daemon(options(wheels, store,
            **{"deps.max_bytes": "2m"})) as daemon:
        answer = daemon.connect().run("1", dependencies=["big-one"])
        assert answer.is_error and answer.verdict == "install", answer
        assert not environments(store)


def test_an_idle_environment_retires(wheels, store):
    conf = options(wheels, store, **{"deps.idle": "200ms"})
    with harness.Daemon(conf) as daemon:
        client = daemon.connect()
        client.run("1", dependencies=["plain-one"])
        keeper = daemon.keeper().pid
        harness.eventually(lambda: sum(p.ppid == keeper
            for p in daemon.processes()) == 3, "one zygote, two workers")
        assert client.run("import plain_one", dependencies=["plain-one"]
            ).verdict == "ok"


def test_a_reload_starts_them_anew(wheels, store):
    with harness.Daemon(options(wheels, store)) as daemon:
        client = daemon.connect()
        client.run("1", dependencies=["plain-one"])
        daemon.send_signal(signal.SIGHUP)
        daemon.wait_log("reloaded")
        for _ in range(3):
            assert client.run("import plain_one", dependencies=["plain-one"]
                ).verdict == "ok"


def test_a_package_that_replaces_one_that_is_there(wheels, store):
    make_wheel(wheels, "packaging", "99.0", files={"packaging/__init__.py":
        "VERSION = '99.0'\n"})
    conf = options(wheels, store, **{"python.modules": "packaging"})
    with harness.Daemon(conf) as daemon:
        client = daemon.connect()
        code = "import packaging; print(getattr(packaging, 'VERSION', 0))"
        for _ in range(2):
            assert client.run(code, dependencies=["packaging>=99"]
                ).stdout == "99.0\n"
        assert client.run(code).stdout == "0\n"


def test_allow_holds_for_what_others_need_too(wheels, store):
    with harness.Daemon(options(wheels, store, **{"deps.allow":
            "needs-*"})) as daemon:
        client = daemon.connect()
        answer = client.run("1", dependencies=["other-name"])
        assert answer.is_error and "deps.allow" in answer.text, answer
        answer = client.run("1", dependencies=["needs-one"])
        assert answer.is_error and "plain-one" in answer.text, answer
        assert not environments(store)


def test_no_directory_no_packages(wheels):
    with harness.Daemon(dict(harness.LIGHT, **{"deps.dir": ""})) as daemon:
        client = daemon.connect()
        answer = client.run("print(1)", dependencies=["plain-one"])
        assert answer.is_error and "deps.dir" in answer.text, answer
        assert client.run("# /// script\n# dependencies = ['x']\n# ///\n"
            "print(1)").stdout == "1\n"


def test_restricted_programs_get_none(client):
    answer = client.run("print(1)", policy="restricted",
        dependencies=["plain-one"])
    assert answer.is_error and "restricted" in answer.text, answer
    assert client.run("# /// script\n# dependencies = ['x']\n# ///\n"
        "print(1)", policy="restricted").stdout == "1\n"


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))


def test_without_a_directory_all_but_packages_is_there():
    with harness.Daemon(dict(harness.LIGHT,
            **{"deps.dir": "/dev/null/adder"})) as daemon:
        daemon.wait_log("deps.dir /dev/null/adder is of no use")
        client = daemon.connect()
        assert client.run("print(1)").stdout == "1\n"
        answer = client.run("print(1)", dependencies=["one"])
        assert answer.verdict == "install", answer
        assert "deps.dir" in answer.text and "Not a directory" in answer.text
        assert client.run("print(2)").stdout == "2\n"
