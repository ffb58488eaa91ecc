"""What the jail costs: the time of confinement, and calls with and without.

To leave the jail out takes a build with --enable-test-hooks.
"""

import statistics
import subprocess

import harness
from tools import CALL, GREETING, TURNS, load, median, program

LAYERS = ("mount,pid,net,ipc,uts,userns,landlock,landlock-scope,seccomp,"
    "scratch,uid,cgroup")


def status(daemon, key):
    out = subprocess.run([program("adderctl"), "-s", str(daemon.socket_path),
        "status"], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        if line.split()[:1] == [key]:
            return float(line.split()[1])
    raise SystemExit("adderctl status has no " + key)


def compare(calls):
    """{"on": ..., "off": ...} by turns, or {"skipped": why}."""
    try:
        harness.effective_conf("sandbox.without=seccomp")
    except subprocess.CalledProcessError:
        return {"skipped": "needs a build with --enable-test-hooks"}
    off = {"sandbox.without": LAYERS, "sandbox.mode": "off",
        "sandbox.selftest": "off"}
    runs = {"on": {"paced": [], "crowd": []}, "off": {"paced": [],
        "crowd": []}}
    with harness.Daemon({}) as with_jail, harness.Daemon(off) as without:
        ways = {"on": with_jail, "off": without}
        for daemon in ways.values():
            daemon.connect().run("1")
        for _ in range(TURNS):
            for way, daemon in ways.items():
                runs[way]["paced"].append(load(daemon.socket_path, CALL,
                    max(10, calls // 20), 1, GREETING, 10))
                runs[way]["crowd"].append(load(daemon.socket_path, CALL,
                    calls, 8, GREETING))
    return {way: {kind: median(run) for kind, run in kinds.items()}
        for way, kinds in runs.items()}


def measure(daemon, calls):
    """At a pace at which workers are made one at a time."""
    confine = []
    for _ in range(TURNS):
        load(daemon.socket_path, CALL, 64, 1, GREETING, 10)
        confine.append(status(daemon, "workers.confine_us"))
    return {"confine_us": statistics.median(confine),
        "prepare_us": status(daemon, "workers.prepare_us"),
        "compare": compare(calls)}


def rows(found):
    out = [("making a worker, fork to parked, p50", "%.2f ms" %
        (found["prepare_us"] / 1e3))]
    c = found["compare"]
    if "skipped" in c:
        return out + [("with and without the jail", "skipped: " +
            c["skipped"])]
    return out + [("%s the jail: warm call p50; 8 clients" % name,
        "%.3f ms; %.0f calls/s" % (c[way]["paced"]["p50_us"] / 1e3,
        c[way]["crowd"]["per_second"])) for way, name in
        (("on", "with"), ("off", "without"))]


def judge(found):
    ms = found["confine_us"] / 1e3
    lines = [("confinement of a worker, p50", "%.2f ms" % ms, "<= 0.35 ms",
        ms <= 0.35)]
    c = found["compare"]
    if "skipped" in c:
        return lines
    p50 = c["on"]["paced"]["p50_us"] / c["off"]["paced"]["p50_us"]
    rate = c["on"]["crowd"]["per_second"] / c["off"]["crowd"]["per_second"]
    return lines + [
        ("warm call with / without the jail, p50", "%.2f x" % p50,
            "<= 1.1 x", p50 <= 1.1),
        ("calls/s, 8 clients, with / without", "%.2f x" % rate, ">= 0.9 x",
            rate >= 0.9)]
