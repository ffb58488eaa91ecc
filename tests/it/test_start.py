"""The first calls, served while the warm-up goes on.

The warm-up is held by a warm file that reads from a FIFO, so it goes on for as
long as a test wants it to: nothing here depends on how fast a machine is.
"""

import contextlib
import os
import re
import shutil
import signal
import tempfile
import time

import pytest

import harness
import tiers

HOLD = """
import builtins, os, select
fd = os.open(%r, os.O_RDONLY | os.O_NONBLOCK)
assert select.select([fd], [], [], 300)[0]
os.close(fd)
builtins.WARMED = True
"""
ASK = "import builtins; print(hasattr(builtins, 'WARMED'))"
EARLY, WARM = "False\n", "True\n"
SERVES = r" zygote ([0-9]+) serves while zygote ([0-9]+) warms up: "
READY = " ready: Python"


class Held:
    """A daemon whose zygotes warm up until release()."""

    def __init__(self, options=None, tier=None, then="", **kwargs):
        self.stack = contextlib.ExitStack()
        options = dict(harness.LIGHT, **(options or {}))
        top = self.stack.enter_context(directory())
        self.fifo = os.path.join(top, "fifo")
        os.mkfifo(self.fifo)
        os.chmod(self.fifo, 0o666)
        warm = os.path.join(top, "warm.py")
        with open(warm, "w") as f:
            f.write(HOLD % self.fifo + then)
        # A byte in it lets every zygote go, as none of them reads it.
        self.end = os.open(self.fifo, os.O_RDWR | os.O_NONBLOCK)
        self.stack.callback(os.close, self.end)
        options["zygote.warm_file"] = warm
        try:
            self.daemon = self.stack.enter_context(
                Unready(tier, options, **kwargs))
        except BaseException:
            self.stack.close()
            raise

    def release(self):
        os.write(self.end, b"x")

    def hold(self):
        """Zygotes that start from now on are held."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.end, 100)

    def serves(self, count=1):
        return self.daemon.wait_log(SERVES, count=count)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        with contextlib.suppress(OSError):
            self.release()
        return self.stack.__exit__(*exc)


@contextlib.contextmanager
def directory():
    top = tempfile.mkdtemp(prefix="adder-it-start-")
    os.chmod(top, 0o755)
    try:
        yield top
    finally:
        shutil.rmtree(top)


def Unready(tier, options, **kwargs):
    """A daemon of this tier that nobody waits for."""
    if tier is None:
        return harness.Daemon(options, **kwargs)
    return EarlyTier(tier, options, **kwargs)


class EarlyTier(tiers.TierDaemon):
    def wait_log(self, pattern, *args, **kwargs):
        if pattern == r" zygote [0-9]+ ready":
            pattern = SERVES
        return super().wait_log(pattern, *args, **kwargs)


def status(client):
    return client.rpc("adder/status")["result"]


def ready(daemon):
    return len([l for l in daemon.lines if READY in l])


def index(daemon, pattern, start=0):
    """Where a line of the log is."""
    return next(i for i, line in enumerate(daemon.lines)
        if i >= start and re.search(pattern, line))


# --- served while it warms up ---------------------------------------------

def test_served_while_warming_up():
    with Held({"pool.warm": "3"}) as held, held.daemon.connect() as client:
        daemon = held.daemon
        answer = client.run(ASK)
        assert answer.verdict == "ok" and answer.stdout == EARLY
        now = status(client)
        assert (now["state"], now["ready"]) == ("warming up", True), now
        early = now["generation"]
        assert not ready(daemon) and now["workers"]["idle"] == 0, now
        zygote = daemon.early()
        held.release()
        daemon.wait_log(READY)
        assert client.run(ASK).stdout == WARM
        now = status(client)
        assert now["state"] == "serving" and now["generation"] < early, now
        assert not harness.alive(zygote) or harness.eventually(
            lambda: not harness.alive(zygote), "the early zygote is gone")
        harness.eventually(lambda: status(client)["workers"]["idle"] == 3,
            "a full pool")
        assert now["zygote"]["restarts"] == 0


@pytest.mark.parametrize("tier", tiers.NAMES)
def test_each_tier(tier):
    """An early worker is as confined as any, and so says the self-test."""
    if tiers.why_not(tier):
        pytest.skip(tiers.why_not(tier))
    with Held({"sandbox.selftest": "on"}, tier) as held, \
            held.daemon.connect() as client:
        assert client.run(ASK).stdout == EARLY
        checks = client.rpc("adder/doctor")["result"]["checks"]
        early = {c["check"]: c["state"] for c in checks}
        assert early["read-file"] == early["work"] == "held", early
        assert early["time"] == "open", "limits are tried behind a warm one"
        answer = client.run("import os\nprint(os.listdir('.'), "
            "len(os.listdir('/proc/self/fd')) if os.path.exists('/proc/self')"
            " else 0)\nopen('/etc/passwd', 'a')")
        assert answer.verdict == "exception"
        held.release()
        held.daemon.wait_log(READY)
        assert client.run(ASK).stdout == WARM
        harness.eventually(lambda: all(c["state"] == "held" for c in
            client.rpc("adder/doctor")["result"]["checks"]), "all has held")


def test_health_tells_it():
    with Held({"listen.http": "127.0.0.1:0"}) as held:
        from test_run import Web
        web = Web(held.daemon)
        held.serves()
        response, body = web.ask("GET", "/readyz")
        assert (response.status, body) == (200, b"ok, but still warming up\n")
        metrics = web.ask("GET", "/metrics")[1].decode()
        assert "\nadder_ready 1\n" in metrics and "\nadder_warm 0\n" in metrics
        assert web.run(ASK)["stdout"] == EARLY
        held.release()
        held.daemon.wait_log(READY)
        assert web.ask("GET", "/readyz")[1] == b"ok\n"
        assert "\nadder_warm 1\n" in web.ask("GET", "/metrics")[1].decode()


def test_off():
    with Held({"zygote.early": "off"}) as held, \
            held.daemon.connect() as client:
        ident = client.start(ASK)
        # It has come to its warm file and no other zygote is there.
        zygote = held.daemon.zygote()
        harness.eventually(lambda: held.fifo in links(zygote.pid),
            "the warm file runs")
        assert status(client)["state"] == "starting"
        assert not client.answered(ident)
        held.release()
        assert client.finish(ident).stdout == WARM
        assert not any(re.search(SERVES, l) for l in held.daemon.lines)


def links(pid):
    found = []
    for name in os.listdir("/proc/%d/fd" % pid):
        with contextlib.suppress(OSError):
            found.append(os.readlink("/proc/%d/fd/%s" % (pid, name)))
    return found


def test_many_wait():
    """All are served, by no more workers at once than there are CPUs."""
    with Held({"pool.max": "64"}) as held, held.daemon.connect() as client:
        idents = [client.start("print(%d)" % i) for i in range(40)]
        for i, ident in enumerate(idents):
            assert client.finish(ident).stdout == "%d\n" % i
        most = max(2, os.sysconf("SC_NPROCESSORS_ONLN"))
        assert status(client)["workers"]["idle"] <= most


def test_sessions_and_packages_wait_for_a_warm_one():
    """And let those pass that need not."""
    with Held() as held, held.daemon.connect() as client:
        text = client.rpc("tools/call", {"name": "sandbox_initialize",
            "arguments": {}})["result"]["content"][0]["text"]
        handle = re.search(r"[0-9a-z]+_[0-9a-f]{32}", text)[0]
        first = client.start(ASK, session_id=handle)
        listing = client.request("tools/call", {"name": "list_packages",
            "arguments": {}})
        assert client.run(ASK).stdout == EARLY
        assert client.run(ASK).stdout == EARLY
        assert not client.answered(first) and not client.answered(listing)
        held.release()
        assert client.finish(first).stdout == WARM
        assert "Python 3" in client.answer(listing)["result"]["content"][0][
            "text"]


RANDOM = """
import builtins, numpy, os, random, secrets, tempfile, uuid
print(random.random(), random.Random().random(), numpy.random.rand(),
    numpy.random.default_rng().random(), uuid.uuid4(), secrets.token_hex(8),
    next(tempfile._get_candidate_names()),
    *[g.random() for g in getattr(builtins, "GENERATORS", ())], sep="\\n")
"""


def check_all_differ(runs, count):
    assert all(len(run) == count for run in runs), runs
    numbers = [number for run in runs for number in run]
    assert len(set(numbers)) == len(numbers), runs


def test_random_numbers_differ():
    """Those of early workers, of warm ones, and of the two zygotes; also of
    generators that a warm file has made, whatever it did then."""
    generators = """
import gc, random
class Own(random.Random): pass
builtins.GENERATORS = random.Random(1), Own(2)
gc.freeze()
"""
    with Held({"python.modules": "numpy"}, then=generators) as held, \
            held.daemon.connect() as client:
        early = [client.run(RANDOM).stdout.split() for _ in range(8)]
        check_all_differ(early, 7)
        held.release()
        held.daemon.wait_log(READY)
        warm = [client.run(RANDOM).stdout.split() for _ in range(8)]
        check_all_differ(warm, 9)
        check_all_differ([run[:7] for run in early + warm], 7)


def test_random_numbers_differ_without_a_warm_file():
    with harness.Daemon({"python.modules": "numpy"}) as daemon, \
            daemon.connect() as client:
        daemon.wait_log(READY)
        check_all_differ([client.run(RANDOM).stdout.split()
            for _ in range(8)], 7)


def test_fresh_each_time():
    """No early program finds what another one left, in memory or files."""
    code = ("import os, sys, builtins\n"
        "print(hasattr(builtins, 'left'), os.listdir('.'), "
        "sorted(k for k in globals() if k[0] != '_'))\n"
        "builtins.left = 1\nopen('left', 'w').close()\n"
        "sys.modules['json'] = None\n")
    with Held() as held, held.daemon.connect() as client:
        first = client.run(code).stdout
        assert first == "False ['main.py'] ['builtins', 'os', 'sys']\n"
        assert client.run(code).stdout == first
        held.release()
        held.daemon.wait_log(READY)
        assert client.run(code).stdout == first
        assert client.run("import json; print(json.dumps(1))").stdout == "1\n"


# --- what is killed ---------------------------------------------------------

def test_early_worker_killed():
    with Held() as held, held.daemon.connect() as client:
        ident = client.start(harness.mark("victim") +
            "import time; time.sleep(60)", timeout=60)
        victim = harness.eventually(lambda: held.daemon.marked("victim"),
            "it runs")
        os.kill(victim[0].pid, signal.SIGKILL)
        assert client.finish(ident).verdict in ("signal", "lost")
        assert client.run("while True: pass", timeout=0.2).verdict == \
            "timeout"
        assert client.run(ASK).stdout == EARLY


def test_early_job_goes_on():
    """The change of zygotes ends no program."""
    with Held() as held, held.daemon.connect() as client:
        ident = client.start("import time, os\n" + harness.mark("goes-on") +
            "while not os.path.exists('end'): time.sleep(0.01)\n" + ASK,
            timeout=60)
        running = harness.eventually(lambda: held.daemon.marked("goes-on"),
            "it runs")[0]
        zygote = held.daemon.early()
        held.release()
        held.daemon.wait_log(READY)
        harness.eventually(lambda: not harness.alive(zygote),
            "the early zygote is gone")
        assert client.run(ASK).stdout == WARM
        assert harness.alive(running)
        client.cancel(ident)
        harness.eventually(lambda: not harness.alive(running), "cancelled")


def test_zygote_killed_while_it_warms_up():
    """The early one serves on, until the next is warm."""
    with Held() as held, held.daemon.connect() as client:
        daemon = held.daemon
        assert client.run(ASK).stdout == EARLY
        os.kill(daemon.zygote().pid, signal.SIGKILL)
        daemon.wait_log(r" zygote [0-9]+ ended, ")
        assert client.run(ASK).stdout == EARLY
        harness.eventually(lambda: status(client)["zygote"]["restarts"] == 1,
            "it is counted")
        assert client.run(ASK).stdout == EARLY
        held.release()
        daemon.wait_log(READY)
        assert client.run(ASK).stdout == WARM
        # One that serves needs no other beside it.
        assert len([l for l in daemon.lines if re.search(SERVES, l)]) == 1


def test_early_zygote_killed():
    """Calls wait for the one that warms up."""
    with Held() as held, held.daemon.connect() as client:
        daemon = held.daemon
        assert client.run(ASK).stdout == EARLY
        os.kill(daemon.early().pid, signal.SIGKILL)
        daemon.wait_log("which served meanwhile, ended")
        assert status(client)["state"] == "starting"
        ident = client.start(ASK)
        client.ping()
        assert not client.answered(ident)
        held.release()
        assert client.finish(ident).stdout == WARM
        assert status(client)["zygote"]["restarts"] == 0


def test_both_killed():
    with Held() as held, held.daemon.connect() as client:
        daemon = held.daemon
        assert client.run(ASK).stdout == EARLY
        for proc in (daemon.zygote(), daemon.early()):
            os.kill(proc.pid, signal.SIGKILL)
        assert client.run(ASK).stdout == EARLY
        held.serves(2)
        held.release()
        daemon.wait_log(r" zygote [0-9]+ ready")
        assert client.run(ASK).stdout == WARM


def test_restart_of_a_warm_zygote():
    """Is a start like the first: calls do not wait for the warm-up."""
    with Held({"pool.warm": "1", "pool.max": "2"}) as held, \
            held.daemon.connect() as client:
        daemon = held.daemon
        held.release()
        daemon.wait_log(READY)
        assert client.run(ASK).stdout == WARM
        held.hold()
        os.kill(daemon.zygote().pid, signal.SIGKILL)
        held.serves(2)
        # Workers that were waiting are used up first.
        harness.eventually(lambda: client.run(ASK).stdout == EARLY,
            "an early worker")
        held.release()
        daemon.wait_log(r" zygote [0-9]+ ready", count=2)
        assert client.run(ASK).stdout == WARM


def test_keeper_killed_while_it_warms_up():
    with Held() as held, held.daemon.connect() as client:
        assert client.run(ASK).stdout == EARLY
        os.kill(held.daemon.keeper().pid, signal.SIGKILL)
        assert client.run(ASK).stdout == EARLY
        held.serves(2)
        held.release()
        held.daemon.wait_log(READY)
        assert client.run(ASK).stdout == WARM


def test_stopped_while_it_warms_up():
    """Nothing is left, as the end of the block sees."""
    with Held() as held, held.daemon.connect() as client:
        assert client.run(ASK).stdout == EARLY
        before = held.daemon.processes()
        assert len(before) >= 4
        held.daemon.send_signal(signal.SIGTERM)
        assert held.daemon.wait_exit() == 0
        harness.eventually(lambda: not [p for p in before
            if harness.alive(p)], "processes are left: %r" % before, 5)


# --- reload -----------------------------------------------------------------

def test_reload_of_a_warm_one_needs_none():
    with Held() as held, held.daemon.connect() as client:
        daemon = held.daemon
        held.release()
        daemon.wait_log(READY)
        seen = len([l for l in daemon.lines if re.search(SERVES, l)])
        held.hold()
        daemon.send_signal(signal.SIGHUP)
        daemon.wait_log(" reloaded")
        for _ in range(5):
            assert client.run(ASK).stdout == WARM
        held.release()
        daemon.wait_log(READY, count=2)
        assert client.run(ASK).stdout == WARM
        assert len([l for l in daemon.lines if re.search(SERVES, l)]) == seen


def test_reload_while_it_warms_up():
    with Held() as held, held.daemon.connect() as client:
        daemon = held.daemon
        assert client.run(ASK).stdout == EARLY
        for count in (1, 2, 3):
            daemon.send_signal(signal.SIGHUP)
            daemon.wait_log(" reloaded", count=count)
            assert client.run(ASK).stdout == EARLY
        held.release()
        daemon.wait_log(READY)
        assert client.run(ASK).stdout == WARM


# --- the verdict comes first --------------------------------------------------

def run_until_it_ends(daemon, client, code):
    """Calls without end; the texts of those answers that are results."""
    found = []
    with contextlib.suppress(AssertionError, OSError):
        while True:
            answer = client.answer(client.start(code))
            if "result" in answer:
                found.append(answer["result"]["content"][0]["text"])
    assert daemon.wait_exit() == 1
    assert re.search("error .* The self-test of the jail failed: a program "
        "could not do ordinary work", daemon.log_tail()), daemon.log_tail()
    return found


@pytest.mark.parametrize("early", ("on", "off"))
def test_nothing_is_served_where_the_self_test_fails(early):
    """Behind an early zygote as behind any.  With a limit of one file, which
    is that of the program, ordinary work is not possible."""
    with Held({"sandbox.selftest": "on", "limits.files": "1",
            "zygote.early": early}, arguments=("-d",)) as held:
        if early == "off":
            held.release()
        client = held.daemon.connect()
        assert not run_until_it_ends(held.daemon, client, "print(1)")
        assert bool(ready(held.daemon)) <= (early == "off")


@pytest.mark.skipif("sandbox.without" not in harness.effective_conf(),
    reason="needs --enable-test-hooks")
def test_nothing_is_served_below_the_minimum():
    with Held({"sandbox.minimum": "strong+", "sandbox.without": "landlock"},
            arguments=("-d",)) as held:
        assert held.daemon.wait_exit() == 1
        assert "sandbox.minimum is strong+" in held.daemon.log_tail()


def test_a_warm_zygote_gets_a_verdict_of_its_own():
    """What its warm file did to it did not reach the early one."""
    with Held({"sandbox.selftest": "on"}, arguments=("-d",),
            then="import threading; threading.Thread = None") as held:
        client = held.daemon.connect()
        for _ in range(3):
            assert client.run(ASK).stdout == EARLY
        held.release()
        assert WARM not in run_until_it_ends(held.daemon, client, ASK)
        start = index(held.daemon, r" zygote [0-9]+ ready")
        jobs = [l for l in held.daemon.lines[start:]
            if re.search(r" job \S+: ", l)]
        # That of the self-test, and one that an early worker was at.
        assert 1 <= len(jobs) <= 2, jobs


def test_verdict_before_any_job():
    """Behind the early zygote, and again behind the warm one."""
    with Held({"sandbox.selftest": "on"}, arguments=("-d",)) as held, \
            held.daemon.connect() as client:
        daemon = held.daemon
        def run_of(answer):
            return r" job %s: ok" % answer.receipt["run_id"]
        answer = client.run(ASK)
        assert answer.stdout == EARLY
        line = daemon.wait_log(run_of(answer)) and index(daemon,
            run_of(answer))
        assert index(daemon, "self-test work: held") < line
        held.release()
        seen = []
        deadline = time.monotonic() + harness.WAIT
        while not seen or seen[-1].stdout == EARLY:
            assert time.monotonic() < deadline
            seen.append(client.run(ASK))
        daemon.wait_log(run_of(seen[-1]))
        line = index(daemon, run_of(seen[-1]))
        assert index(daemon, "self-test work: held",
            index(daemon, r" zygote [0-9]+ ready")) < line


def test_killed_in_the_self_test():
    """No answer is no verdict: it is made again."""
    with harness.Daemon(dict(harness.LIGHT, **{"sandbox.selftest": "on"}),
            arguments=("-d",)) as daemon, daemon.connect() as client:
        ident = client.start("print(1)", timeout=60)
        os.kill(daemon.keeper().pid, signal.SIGKILL)
        assert client.finish(ident).stdout == "1\n"
        assert index(daemon, "self-test work: held") >= 0


def test_workers_killed_in_the_self_test():
    """Nor is that, as long as it comes to its end at last."""
    with Held({"sandbox.selftest": "on"}, arguments=("-d",)) as held:
        daemon = held.daemon
        keeper = daemon.keeper().pid
        client = daemon.connect()
        ident = client.start(ASK, timeout=60)
        zygotes = {daemon.zygote().pid}
        killed = set()
        while len(killed) < 3 and not client.answered(ident):
            if daemon.early():
                zygotes.add(daemon.early().pid)
                for p in daemon.processes():
                    if p.ppid == keeper and p.pid not in zygotes | killed:
                        killed.add(p.pid)
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(p.pid, signal.SIGKILL)
        assert client.finish(ident).verdict in ("ok", "signal", "lost")
        assert client.run(ASK).stdout == EARLY
        assert index(daemon, "self-test work: held") >= 0


def test_garbage_with_descriptors_is_no_hindrance():
    """But a descriptor that is kept is."""
    garbage = """
import gc
class Cycle: pass
def make():
    a = Cycle()
    a.self, a.file = a, open("/dev/null")
make()
gc.freeze()
"""
    with Held(then=garbage) as held, held.daemon.connect() as client:
        held.release()
        held.daemon.wait_log(READY)
        assert client.run(ASK).stdout == WARM
    with Held(then="import builtins; builtins.kept = open('/dev/null')") \
            as held, held.daemon.connect() as client:
        held.release()
        held.daemon.wait_log("cannot serve: an imported module keeps "
            "descriptor")
        # The early one goes on.
        assert client.run(ASK).stdout == EARLY
