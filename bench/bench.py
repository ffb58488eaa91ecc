#!/usr/bin/python3
"""What adder promises of its speed, measured in one run.

  bench.py [--quick] [--json FILE]

Prints a table of figures and the lines that must hold, each with PASS or
FAIL, and writes the same as JSON.  Exit status 1 if one fails.  README.md
beside this file says how to read it.
"""

import argparse
import json
import pathlib
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/it"))

import harness  # noqa: E402
import crowd  # noqa: E402
import idle  # noqa: E402
import jail  # noqa: E402
import latency  # noqa: E402
import packages  # noqa: E402
import peers  # noqa: E402
import start  # noqa: E402
from tools import CALL, CODE, GREETING, TURNS, floor, load, median, \
    times  # noqa: E402

META = "io.modelcontextprotocol/"
# The same in the version that has no sessions, for either carrier.
MODERN_CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "run_python", "arguments": {"code": CODE}, "_meta": {
    META + "protocolVersion": "2026-07-28",
    META + "clientCapabilities": {}}}})


def holdings(daemon):
    """Resident memory and descriptors of adderd, keeper and zygote."""
    time_out = time.monotonic() + 10
    while time.monotonic() < time_out:		# until the pool is at rest
        first = {p.pid for p in daemon.processes()}
        time.sleep(0.2)
        if first == {p.pid for p in daemon.processes()}:
            break
    pids = {"adderd": daemon.pid, "keeper": daemon.keeper().pid,
        "zygote": daemon.zygote().pid}
    return {name: {"pid": pid, "fds": harness.proc_fds(pid),
        "rss_kib": harness.proc_status_kib(pid, "VmRSS")}
        for name, pid in pids.items()}


def measure_session(daemon, calls):
    """The same program, in one session and without, by turns."""
    with daemon.connect() as client:
        made = client.rpc("tools/call", {"name": "sandbox_initialize"})
        handle = made["result"]["structuredContent"]["session_id"]
        call = json.loads(CALL)
        call["params"]["arguments"]["session_id"] = handle
        ways = {"session": json.dumps(call), "plain": CALL}
        runs = {way: [] for way in ways}
        load(daemon.socket_path, ways["session"], 50, 1, GREETING)
        for _ in range(TURNS):
            for way, request in ways.items():
                runs[way].append(load(daemon.socket_path, request,
                    calls // TURNS, 1, GREETING))
    return {way: median(run) for way, run in runs.items()}


def measure_endurance(daemon, calls):
    load(daemon.socket_path, CALL, 500, 4, GREETING)
    before = holdings(daemon)
    run = load(daemon.socket_path, CALL, calls, 4, GREETING)
    after = holdings(daemon)
    zombies = [p for p in harness.descendants(daemon.pid) if p.state == "Z"]
    growth = {name: 100.0 * (after[name]["rss_kib"] -
        before[name]["rss_kib"]) / before[name]["rss_kib"] for name in after}
    return {"run": run, "before": before, "after": after,
        "growth_percent": growth, "zombies": len(zombies),
        "restarted": [n for n in after if after[n]["pid"] !=
        before[n]["pid"]],
        "fds_leaked": {n: after[n]["fds"] - before[n]["fds"]
        for n in after}}


def measure_http(daemon, calls):
    """The same calls over a Unix socket and over HTTP, by turns: what a
    machine does meanwhile hits both."""
    port = int(daemon.wait_log(r"listening on http [0-9.]+:([0-9]+)")[1])
    runs = {"unix": [], "http": []}
    load(port, MODERN_CALL, 50)
    for _ in range(TURNS):
        runs["unix"].append(load(daemon.socket_path, MODERN_CALL,
            calls // TURNS))
        runs["http"].append(load(port, MODERN_CALL, calls // TURNS))
    return {way: median(run) for way, run in runs.items()}


def measure(quick):
    """Everything, in one run on one machine."""
    n = 200 if quick else 2000
    found = {"start": start.measure(3 if quick else 9)}
    found["peers"] = {"bubblewrap_ms": peers.bubblewrap_ms(3),
        "forks": [peers.forks(n)]}
    with floor() as path:
        found["floor"] = load(path, CODE, n)
    with harness.Daemon({"listen.http": "127.0.0.1:0"}) as daemon:
        daemon.connect().run(CODE)
        load(daemon.socket_path, CALL, 200, 1, GREETING)
        found["latency"] = latency.measure(daemon, n // 4)
        found["crowd"] = crowd.measure(daemon, n)
        # A second time, right after: the machine's mood changes.
        found["peers"]["forks"].append(peers.forks(n))
        found["session"] = measure_session(daemon, n)
        found["http"] = measure_http(daemon, n)
        found["jail"] = jail.measure(daemon, n)
        found["endurance"] = measure_endurance(daemon,
            1000 if quick else 10000)
    found["idle"] = idle.measure(quick)
    found["packages"] = packages.measure(load, n, GREETING)
    return found


def judge_endurance(found):
    growth = max(found["growth_percent"][n] for n in ("adderd", "zygote"))
    leaked = max(found["fds_leaked"].values())
    return [
        ("growth over %d calls" % found["run"]["calls"],
            "%.2f %%" % growth, "<= 2 %", growth <= 2),
        ("descriptors leaked", "%d" % leaked, "0", leaked <= 0),
        ("zombies, restarts", "%d, %d" % (found["zombies"],
            len(found["restarted"])), "0, 0",
            not found["zombies"] and not found["restarted"]),
    ]


def judge(found):
    """(what, measured, bound, holds) for every line that must hold."""
    rate = found["crowd"][8]["per_second"]
    fork = rate / peers.rate(found["peers"]["forks"], "plain")
    fresh = found["start"]["imports_ms"] / 1e3
    one = found["latency"]["print"]["adder"]["p50_us"] / 1e6
    session = found["session"]["session"]["p50_us"] / \
        found["session"]["plain"]["p50_us"]
    http = found["http"]["http"]["p50_us"] / found["http"]["unix"]["p50_us"]
    return latency.judge(found["latency"]) + [
        ("fresh interpreter / warm call, p50", "%.0f x" % (fresh / one),
            ">= 200 x", fresh / one >= 200),
        ("calls/s with 8 clients / plain fork loop", "%.2f x" % fork,
            ">= 2 x", fork >= 2),
        ("calls/s with 8 clients / fresh interpreters", "%.0f x" %
            (rate * fresh), ">= 300 x", rate * fresh >= 300),
    ] + crowd.judge(found["crowd"]) + [
        ("call in a session / warm call, p50", "%.2f x" % session,
            "<= 1.5 x", session <= 1.5),
        ("HTTP / Unix socket, p50 of the warm call", "%.2f x" % http,
            "<= 1.6 x", http <= 1.6),
    ] + jail.judge(found["jail"]) + start.judge(found["start"]) + \
        idle.judge(found["idle"]) + judge_endurance(found["endurance"]) + \
        packages.judge(found["packages"])


def figures(found):
    """(what, value) for the table."""
    endurance = found["endurance"]
    rows = start.rows(found["start"]) + peers.rows(found["peers"])
    rows.append(("floor, back to back, p50 / p90 / p99",
        times(found["floor"])))
    rows += latency.rows(found["latency"]) + crowd.rows(found["crowd"])
    rows += [
        ("call in a session, p50 / p90 / p99",
            times(found["session"]["session"])),
        ("by turns with those, without a session",
            times(found["session"]["plain"])),
        ("over HTTP, p50 / p90 / p99", times(found["http"]["http"])),
        ("by turns with those, over the Unix socket",
            times(found["http"]["unix"])),
    ]
    rows += jail.rows(found["jail"]) + idle.rows(found["idle"])
    rows += packages.rows(found["packages"])
    for name, row in endurance["after"].items():
        rows.append(("%s: resident, descriptors" % name, "%d KiB (%+.2f %%)"
            ", %d" % (row["rss_kib"], endurance["growth_percent"][name],
            row["fds"])))
    return rows


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true",
        help="a tenth of the calls")
    parser.add_argument("--json", type=pathlib.Path,
        default=harness.build_dir() / "bench.json")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    harness.become_subreaper()
    found = measure(options.quick)
    rows, lines = figures(found), judge(found)
    for what, value in rows:
        print("%-50s %s" % (what, value))
    print()
    for what, value, bound, holds in lines:
        print("%s  %-46s %-12s (%s)" % ("PASS" if holds else "FAIL", what,
            value, bound))
    found["must"] = [{"what": w, "measured": v, "bound": b, "pass": h}
        for w, v, b, h in lines]
    options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0 if all(line[3] for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
