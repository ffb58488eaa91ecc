"""Programs that attack: each does what it may, and nothing else.

They come from a collection beside the sources, each with a header that says
under which policy to run it, which ends are right, and what must not have
changed.  Without $ADDER_HOSTILE=all only a sample of them runs.
"""

import contextlib
import os
import statistics
import time

import pytest

import canaries
import harness
import tiers

FOLDER = canaries.collection()
ALL = os.environ.get("ADDER_HOSTILE") == "all"
# One of a kind; the whole collection takes minutes.
SAMPLE = ("008", "012", "015", "016", "025", "027", "029", "031", "034",
    "035", "037", "038", "042", "043", "045", "048", "050", "052", "059")

# The worst case for what a program leaves behind, and room for another one
# to run at the same time.
POOLS = {
    "one": {"pool.max": "1", "pool.warm": "1"},
    "wide": {"pool.max": "3", "pool.warm": "3"},
}


def programs():
    if not FOLDER.is_dir():
        return []
    judge = canaries.load_judge()
    found = []
    for path in sorted(FOLDER.glob("[0-9]*.py")):
        if not ALL and not path.name.startswith(SAMPLE):
            continue
        header = judge.header(path)
        both = header["policy"] == "both"
        for policy in (("isolated", "restricted") if both else
                (header["policy"],)):
            found.append(pytest.param(path, header, policy,
                id="%s-%s" % (path.stem, policy)))
    return found


pytestmark = pytest.mark.skipif(not FOLDER.is_dir(),
    reason="the collection of programs is not there")


@pytest.fixture(scope="module")
def host():
    try:
        host = canaries.Host()
    except harness.Timeout:
        if tiers.ROOT:
            raise
        pytest.skip("the traps of another user are in the way")
    yield host
    host.close()


@pytest.fixture(scope="module")
def judge():
    return canaries.load_judge()


@pytest.fixture(scope="module", params=tiers.NAMES)
def daemons(request, host):
    """Daemons of one tier, by the name of their pool; made when asked for."""
    tier = request.param
    if tiers.why_not(tier):
        pytest.skip(tiers.why_not(tier))
    running = {}

    def get(pool):
        if pool not in running:
            running[pool] = start(tier, host, POOLS[pool])
        return running[pool]

    with contextlib.ExitStack() as stack:
        yield get
        for daemon in running.values():
            stack.enter_context(daemon)	# which stops it


def start(tier, host, options):
    options = dict(options)
    if not ALL:
        options["python.modules"] = "numpy"
    daemon = tiers.TierDaemon(tier, options,
        env={"ISO_CANARY_ENV": host.token},
        conf="# ISO-CANARY %s\n" % host.token)
    with daemon.connect() as client:
        daemon.policies = policies(client)
        times = []
        for _ in range(3):
            begun = time.monotonic()
            assert client.run("print(1)").stdout == "1\n"
            times.append(time.monotonic() - begun)
    daemon.usual_latency = statistics.median(times)
    return daemon


def policies(client):
    """Those that a call may ask for."""
    tool = next(t for t in client.rpc("tools/list")["result"]["tools"]
        if t["name"] == "run_python")
    more = "policy" in tool["inputSchema"]["properties"]
    return ("isolated", "restricted") if more else ("isolated",)


def companion(name):
    return (FOLDER / "companions" / name).read_text()


def run_once(daemon, watch, header, code, arguments):
    """Run the program once, with what is to run beside and after it."""
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(daemon.connect())
        answered = 1
        if header.get("with") == "victim":
            sibling = stack.enter_context(daemon.connect())
            victim = sibling.start(companion("victim.py"))
        ident = client.start(code, **arguments)
        latency = None
        if watch.wants("latency-ok"):
            with daemon.connect() as quick:
                begun = time.monotonic()
                assert quick.run("print(1)").stdout == "1\n"
                latency = time.monotonic() - begun
            answered += 1
        run = canaries.Run(client.finish(ident))
        run.latency = latency
        if watch.wants("next-job-ok"):
            following = client.start(companion("nextjob.py"))
        run.left = watch.workers.wait_none_left(answered)
        if watch.wants("next-job-ok"):
            run.next = client.finish(following)
        if header.get("with") == "victim":
            run.victim = sibling.finish(victim)
        client.ping()
        run.alive = client.run("print(6*7)").stdout
        run.messages = client.inbox
    return run


@pytest.mark.parametrize("path, header, policy", programs())
def test_program(daemons, host, judge, path, header, policy):
    wanted = canaries.parse_canaries(header["canary"])
    wide = header.get("with") == "victim" or ("latency-ok", "") in wanted
    daemon = daemons("wide" if wide else "one")
    if policy not in daemon.policies:
        pytest.skip("run_python has no argument policy")
    arguments = {} if policy == "isolated" else {"policy": policy}
    bad, runs = [], []
    for number in range(int(header.get("runs", 1))):
        watch = canaries.Watch(host, daemon, wanted)
        run = run_once(daemon, watch, header, path.read_text(), arguments)
        fits, why = judge.judge({"file": str(path), "policy": policy,
            "run": number + 1, "outcome": canaries.outcome(run.answer),
            "stdout": run.answer.stdout, "stderr": run.answer.rest},
            host.token)
        if not fits:
            bad.append("%s: %r" % (why, run.answer))
        runs.append(run)
        bad += watch.failures(runs)
    assert not bad, "\n".join(bad)
