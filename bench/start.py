"""From exec to the first answers, and from the end of input to the end."""

import os
import statistics
import subprocess
import time

import harness
from tools import CODE, ENVIRON, PRINTED, interpreter


def imports_ms(count):
    """The bare cost of an interpreter that imports the same and leaves."""
    python, modules = interpreter()
    times = []
    for _ in range(count + 1):
        begun = time.monotonic()
        subprocess.run([python, "-I", "-c", "import %s\n%s\n" % (modules,
            CODE)], check=True, capture_output=True, env=dict(os.environ,
            **ENVIRON))
        times.append((time.monotonic() - begun) * 1e3)
    return statistics.median(times[1:])		# the first fills the cache


def measure(count):
    """Milliseconds; the end must leave no process."""
    found = {"initialize_ms": [], "result_ms": [], "exit_ms": []}
    found["imports_ms"] = imports_ms(count)
    for _ in range(count):
        daemon = harness.Daemon({"sandbox.selftest": "on"}, stdio=True,
            unix=False)
        try:
            daemon.connect("stdio")
            found["initialize_ms"].append((time.monotonic() -
                daemon.started_at) * 1e3)
            client = daemon.stdio
            answer = client.run(CODE)
            assert answer.stdout.strip() == PRINTED, answer
            found["result_ms"].append((time.monotonic() -
                daemon.started_at) * 1e3)
            before = daemon.processes()
            begun = time.monotonic()
            client.shut_down_writing()
            assert daemon.wait_exit() == 0
            found["exit_ms"].append((time.monotonic() - begun) * 1e3)
            daemon.check_nothing_left(before)
        finally:
            daemon.kill()
    return found


def rows(found):
    return [("fresh interpreter with the same imports", "%.0f ms" %
        found["imports_ms"]),
        ("exec to the first result, median", "%.0f ms" % statistics.median(
        found["result_ms"]))]


def judge(found):
    start = statistics.median(found["initialize_ms"])
    result = statistics.median(found["result_ms"]) / found["imports_ms"]
    end = max(found["exit_ms"])
    return [
        ("exec to initialize's answer, median", "%.1f ms" % start,
            "<= 20 ms", start <= 20),
        ("exec to first result / bare imports", "%.2f x" % result,
            "<= 1.3 x", result <= 1.3),
        ("end of input to exit, worst", "%.0f ms" % end, "<= 1000 ms",
            end <= 1000),
    ]
