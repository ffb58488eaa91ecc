"""What a call costs elsewhere: a sandbox started for each, and forks of an
interpreter that has imported the same."""

import json
import os
import shutil
import statistics
import subprocess
import time

from tools import CODE, ENVIRON, PRINTED, interpreter, program
import harness


def bubblewrap_ms(count):
    """bubblewrap and python with the same imports per call; None where
    bubblewrap is missing or may not make namespaces."""
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        return None
    python, modules = interpreter()
    argv = [bwrap, "--unshare-all", "--ro-bind", "/", "/", "--tmpfs", "/tmp",
        "--proc", "/proc", "--dev", "/dev", "--die-with-parent", python,
        "-I", "-c", "import %s\n%s\n" % (modules, CODE)]
    times = []
    for _ in range(count + 1):
        begun = time.monotonic()
        ran = subprocess.run(argv, capture_output=True, text=True,
            env=dict(os.environ, **ENVIRON))
        times.append((time.monotonic() - begun) * 1e3)
        if ran.stdout.strip() != PRINTED:
            return None
    return statistics.median(times[1:])


def forks(count):
    """Forks a second of an interpreter in the zygote's state."""
    env = harness.effective_conf()["python.env"]
    out = subprocess.run([program("bench/forkloop"), env, interpreter()[1],
        str(count)], capture_output=True, text=True, check=True).stdout
    return json.loads(out)


def rate(runs, kind):
    """Of the runs before and after the load."""
    return statistics.mean(run[kind]["per_second"] for run in runs)


def rows(found):
    ms = found["bubblewrap_ms"]
    out = [("bubblewrap and a fresh interpreter", "%.0f ms" % ms if ms else
        "skipped: no bubblewrap, or it may not make namespaces")]
    for kind in ("plain", "compacted"):
        out.append(("bare fork + exit, %s, before and after" % kind,
            "%.0f and %.0f /s" % tuple(run[kind]["per_second"]
            for run in found["forks"])))
    return out
