#!/usr/bin/python3
"""What adder promises of its speed, measured in one run.

  bench.py [--quick] [--json FILE]

Prints a table of figures and the lines that must hold, each with PASS or
FAIL, and writes the same as JSON.  Exit status 1 if one fails.  README.md
beside this file says how to read it.
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/it"))

import harness  # noqa: E402
import packages  # noqa: E402

CODE = "print(sum(range(100)))"
PRINTED = "4950"
TURNS = 5			# of two ways that are compared
GREETING = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"}}})
CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "run_python", "arguments": {"code": CODE}}})

META = "io.modelcontextprotocol/"
# The same in the version that has no sessions, for either carrier.
MODERN_CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "run_python", "arguments": {"code": CODE}, "_meta": {
    META + "protocolVersion": "2026-07-28",
    META + "clientCapabilities": {}}}})


def program(name):
    return str(harness.build_dir() / name)


def interpreter(env):
    if env not in ("", "system"):
        return os.path.join(env, "bin", "python")
    return os.environ.get("ADDER_PYTHON", "/usr/bin/python3")


def load(to, request, calls, clients=1, greeting=None, pause_ms=0):
    """to: the path of a Unix socket, or the port of HTTP."""
    argv = [program("bench/load"), "-p" if isinstance(to, int) else "-u",
        str(to), "-r", request, "-e", PRINTED, "-c", str(clients), "-n",
        str(calls)]
    if greeting:
        argv += ["-g", greeting]
    if pause_ms:
        argv += ["-w", str(pause_ms)]
    result = subprocess.run(argv, capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit("load: " + result.stderr)
    return json.loads(result.stdout)


def measure_fresh(python, modules, count):
    """Milliseconds of an interpreter that imports and runs, each time."""
    code = "import %s\n%s\n" % (modules, CODE)
    times = []
    for _ in range(count + 1):
        begun = time.monotonic()
        out = subprocess.run([python, "-I", "-c", code], check=True,
            capture_output=True, text=True, env=dict(os.environ,
            MPLBACKEND="Agg", OPENBLAS_NUM_THREADS="1")).stdout
        times.append((time.monotonic() - begun) * 1e3)
        assert out.strip() == PRINTED
    return statistics.median(times[1:])		# the first fills the cache


def measure_floor(python, modules, calls):
    with tempfile.TemporaryDirectory() as top:
        path = os.path.join(top, "s")
        server = subprocess.Popen([python, "-I", str(HERE / "floor.py"),
            path, modules], stdout=subprocess.PIPE, env=dict(os.environ,
            MPLBACKEND="Agg", OPENBLAS_NUM_THREADS="1"))
        try:
            assert server.stdout.readline() == b"ready\n"
            return load(path, CODE, calls)
        finally:
            server.kill()
            server.wait()
            server.stdout.close()


def measure_fork(env, modules, count):
    """Forks a second of an interpreter in the zygote's state."""
    out = subprocess.run([program("bench/forkloop"), env, modules,
        str(count)], capture_output=True, text=True, check=True).stdout
    return json.loads(out)


def measure_stdio(count):
    """Milliseconds from exec to the answer to initialize, and from the end
    of input to the exit, which must leave no process."""
    starts, ends = [], []
    for _ in range(count):
        daemon = harness.Daemon({}, stdio=True, unix=False)
        try:
            daemon.connect("stdio")
            starts.append((time.monotonic() - daemon.started_at) * 1e3)
            client = daemon.stdio
            answer = client.run(CODE)
            assert answer.stdout.strip() == PRINTED, answer
            before = daemon.processes()
            begun = time.monotonic()
            client.shut_down_writing()
            assert daemon.wait_exit() == 0
            ends.append((time.monotonic() - begun) * 1e3)
            daemon.check_nothing_left(before)
        finally:
            daemon.kill()
    return starts, ends


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
    """The same program, one call after the other, in one session."""
    with daemon.connect() as client:
        made = client.rpc("tools/call", {"name": "sandbox_initialize"})
        handle = made["result"]["structuredContent"]["session_id"]
        call = json.loads(CALL)
        call["params"]["arguments"]["session_id"] = handle
        load(daemon.socket_path, json.dumps(call), 50, 1, GREETING)
        return load(daemon.socket_path, json.dumps(call), calls, 1,
            GREETING)


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
    return {way: {key: statistics.median(run[key] for run in found)
        for key in ("p50_us", "p90_us", "p99_us", "per_second")}
        for way, found in runs.items()}


def measure(quick):
    """Everything, in one run on one machine."""
    conf = harness.effective_conf()
    python, modules = interpreter(conf["python.env"]), conf["python.modules"]
    n = 200 if quick else 2000
    found = {}
    found["fresh_ms"] = measure_fresh(python, modules, 3 if quick else 9)
    found["floor"] = measure_floor(python, modules, n)
    found["fork"] = measure_fork(conf["python.env"], modules, n)
    with harness.Daemon({"listen.http": "127.0.0.1:0"}) as daemon:
        daemon.connect().run(CODE)
        load(daemon.socket_path, CALL, 200, 1, GREETING)
        found["one"] = load(daemon.socket_path, CALL, n, 1, GREETING)
        found["session"] = measure_session(daemon, n)
        found["one_again"] = load(daemon.socket_path, CALL, n, 1, GREETING)
        found["eight"] = load(daemon.socket_path, CALL, n * 2, 8, GREETING)
        found["http"] = measure_http(daemon, n)
        found["endurance"] = measure_endurance(daemon,
            1000 if quick else 10000)
    found["packages"] = packages.measure(load, n, GREETING)
    # A second time, after the load: the machine's mood changes.
    found["fork_again"] = measure_fork(conf["python.env"], modules, n)
    starts, ends = measure_stdio(3 if quick else 9)
    found["initialize_ms"], found["exit_ms"] = starts, ends
    return found


def mean_rate(found, kind):
    """Forks a second, of the runs before and after the load."""
    return statistics.mean(found[run][kind]["per_second"] for run in
        ("fork", "fork_again"))


def judge(found):
    """(what, measured, bound, holds) for every line that must hold."""
    p50 = found["one"]["p50_us"]
    fork = mean_rate(found, "plain")
    fresh = found["fresh_ms"] * 1e3 / p50
    over = (p50 - found["floor"]["p50_us"]) / 1e3
    rate = found["eight"]["per_second"] / fork
    in_session = found["session"]["p50_us"] / statistics.mean(
        (p50, found["one_again"]["p50_us"]))
    start = statistics.median(found["initialize_ms"])
    end = max(found["exit_ms"])
    http = found["http"]["http"]["p50_us"] / found["http"]["unix"]["p50_us"]
    endurance = found["endurance"]
    growth = max(endurance["growth_percent"][n] for n in ("adderd",
        "zygote"))
    leaked = max(endurance["fds_leaked"].values())
    return [
        ("fresh interpreter / warm call, p50", "%.0f x" % fresh, ">= 200 x",
            fresh >= 200),
        ("warm call - floor, p50", "%.2f ms" % over, "<= 1.2 ms",
            over <= 1.2),
        ("call in a session / warm call, p50", "%.2f x" % in_session,
            "<= 1.5 x", in_session <= 1.5),
        ("calls with 8 clients / plain fork loop", "%.2f x" % rate,
            ">= 0.9 x", rate >= 0.9),
        ("HTTP / Unix socket, p50 of the warm call", "%.2f x" % http,
            "<= 1.6 x", http <= 1.6),
        ("exec to initialize's answer, median", "%.1f ms" % start,
            "<= 50 ms", start <= 50),
        ("end of input to exit, worst", "%.0f ms" % end, "<= 1000 ms",
            end <= 1000),
        ("growth over %d calls" % endurance["run"]["calls"],
            "%.2f %%" % growth, "<= 2 %", growth <= 2),
        ("descriptors leaked", "%d" % leaked, "0", leaked <= 0),
        ("zombies, restarts", "%d, %d" % (endurance["zombies"],
            len(endurance["restarted"])), "0, 0",
            not endurance["zombies"] and not endurance["restarted"]),
    ] + packages.judge(found["packages"])


def figures(found):
    """(what, value) for the table."""
    def times(run):
        return "%.3f / %.3f / %.3f ms" % tuple(run[k] / 1e3 for k in
            ("p50_us", "p90_us", "p99_us"))
    endurance = found["endurance"]
    rows = [
        ("fresh interpreter with the same imports", "%.0f ms" %
            found["fresh_ms"]),
        ("running interpreter (floor), p50 / p90 / p99",
            times(found["floor"])),
        ("warm call, 1 client, p50 / p90 / p99", times(found["one"])),
        ("call in a session, p50 / p90 / p99", times(found["session"])),
        ("calls/s, 1 client", "%.0f" % found["one"]["per_second"]),
        ("calls/s, 8 clients", "%.0f" % found["eight"]["per_second"]),
        ("8 clients, p50 / p90 / p99", times(found["eight"])),
    ]
    rows.append(("the same over HTTP, 1 client, p50 / p90 / p99",
        times(found["http"]["http"])))
    rows += packages.rows(found["packages"])
    for kind in ("plain", "compacted"):
        rows.append(("bare fork + exit, %s, before and after" % kind,
            "%.0f and %.0f /s" % tuple(found[run][kind]["per_second"]
            for run in ("fork", "fork_again"))))
    rows.append(("calls with 8 clients / compacted fork loop", "%.2f x" %
        (found["eight"]["per_second"] / mean_rate(found, "compacted"))))
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
        print("%s  %-42s %-12s (%s)" % ("PASS" if holds else "FAIL", what,
            value, bound))
    found["must"] = [{"what": w, "measured": v, "bound": b, "pass": h}
        for w, v, b, h in lines]
    options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0 if all(line[3] for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
