"""A call that asks for a package, against one that does not."""

import json
import pathlib
import shutil
import statistics
import tempfile
import time

import harness

PACKAGE = "networkx"
CODE = "print(sum(range(100)))"
USE = "import networkx; networkx.path_graph(3)\n" + CODE
TURNS = 10


def call(code, dependencies):
    arguments = {"code": code}
    if dependencies:
        arguments["dependencies"] = dependencies
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "run_python", "arguments": arguments}})


def by_turns(load, path, calls, greeting):
    """Medians of runs that share the machine's mood."""
    ways = {"plain": call(CODE, None), "package": call(CODE, [PACKAGE]),
        "used": call(USE, [PACKAGE])}
    runs = {way: [] for way in ways}
    for _ in range(TURNS):
        for way, request in ways.items():
            runs[way].append(load(path, request, max(1, calls // TURNS), 1,
                greeting))
    return {way: {key: statistics.median(run[key] for run in found)
        for key in ("p50_us", "p90_us", "p99_us", "per_second")}
        for way, found in runs.items()}


def measure(load, calls, greeting):
    """{"skipped": why} where the package cannot be had, which takes an index
    that pip is configured for."""
    top = pathlib.Path(tempfile.mkdtemp(prefix="adder-bench-"))
    top.chmod(0o711)
    try:
        with harness.Daemon({"deps.dir": str(top / "deps"),
                "deps.timeout": "5m"}) as daemon:
            client = daemon.connect()
            client.run(CODE)
            begun = time.monotonic()
            first = client.run(CODE, wait=400, dependencies=[PACKAGE])
            seconds = time.monotonic() - begun
            if first.verdict == "install":
                return {"skipped": first.text.splitlines()[-1]}
            found = by_turns(load, daemon.socket_path, calls, greeting)
            return dict(found, first_s=seconds)
    finally:
        shutil.rmtree(top, ignore_errors=True)


def rows(found):
    if "skipped" in found:
        return [("calls with dependencies", "skipped: " + found["skipped"])]
    def times(run):
        return "%.3f / %.3f / %.3f ms" % tuple(run[k] / 1e3 for k in
            ("p50_us", "p90_us", "p99_us"))
    return [("first call with dependencies", "%.1f s" % found["first_s"]),
        ("later ones, p50 / p90 / p99", times(found["package"])),
        ("those that use the package", times(found["used"])),
        ("by turns with those, without dependencies", times(found["plain"]))]


def judge(found):
    if "skipped" in found:
        return []
    ratio = found["package"]["p50_us"] / found["plain"]["p50_us"]
    return [("call with dependencies / without, p50", "%.2f x" % ratio,
        "<= 2 x", ratio <= 2)]
