"""What the parts of the bench share: the load client, the floor, /proc."""

import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

import harness

HERE = pathlib.Path(__file__).resolve().parent
CODE = "print(sum(range(100)))"
PRINTED = "4950"
TURNS = 5			# of two ways that are compared
GREETING = json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"}}})
ENVIRON = {"MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1"}


def call(code):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "run_python", "arguments": {"code": code}}})


CALL = call(CODE)


def program(name):
    return str(harness.build_dir() / name)


def interpreter():
    """The product's interpreter, and the modules that it imports."""
    conf = harness.effective_conf()
    env = conf["python.env"]
    python = os.environ.get("ADDER_PYTHON", "/usr/bin/python3")
    if env not in ("", "system"):
        python = os.path.join(env, "bin", "python")
    return python, conf["python.modules"]


def load(to, request, calls, clients=1, greeting=None, pause_ms=0,
        expect=PRINTED):
    """to: the path of a Unix socket, or the port of HTTP."""
    argv = [program("bench/load"), "-p" if isinstance(to, int) else "-u",
        str(to), "-r", request, "-e", expect, "-c", str(clients), "-n",
        str(calls)]
    if greeting:
        argv += ["-g", greeting]
    if pause_ms:
        argv += ["-w", str(pause_ms)]
    result = subprocess.run(argv, capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit("load: " + result.stderr)
    return json.loads(result.stdout)


@contextlib.contextmanager
def floor():
    """The path of a socket where programs are run by an interpreter that is
    there already; one client after the other."""
    python, modules = interpreter()
    with tempfile.TemporaryDirectory() as top:
        path = os.path.join(top, "s")
        server = subprocess.Popen([python, "-I", str(HERE / "floor.py"),
            path, modules], stdout=subprocess.PIPE, env=dict(os.environ,
            **ENVIRON))
        try:
            assert server.stdout.readline() == b"ready\n"
            yield path
        finally:
            server.kill()
            server.wait()
            server.stdout.close()


def median(runs):
    """Of several runs that share the machine's mood, key by key."""
    return {key: statistics.median(run[key] for run in runs)
        for key in ("p50_us", "p90_us", "p99_us", "per_second")}


def times(run):
    return "%.3f / %.3f / %.3f ms" % tuple(run[k] / 1e3 for k in
        ("p50_us", "p90_us", "p99_us"))


def cpu_ms(pid, children=False):
    """CPU time of a process, or of those that it has reaped, in ms."""
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    at = 13 if children else 11
    return (int(fields[at]) + int(fields[at + 1])) * 1000 / os.sysconf(
        "SC_CLK_TCK")
