"""Many clients at once: times and rates with 1, 2, 8 and 64 of them, and
beside a thousand connections that say nothing."""

import socket

import harness
from tools import CALL, GREETING, cpu_ms, load, times

CLIENTS = (1, 2, 8, 64)
IDLE = 1000


def measure_idle(calls):
    """Eight clients, alone and beside IDLE connections."""
    conf = {"clients.max": str(IDLE + 64)}
    with harness.Daemon(conf) as daemon:
        daemon.connect().run("1")
        load(daemon.socket_path, CALL, 100, 8, GREETING)
        alone = load(daemon.socket_path, CALL, calls, 8, GREETING)
        idle = []
        try:
            for _ in range(IDLE):
                s = socket.socket(socket.AF_UNIX)
                idle.append(s)
                s.connect(str(daemon.socket_path))
            beside = load(daemon.socket_path, CALL, calls, 8, GREETING)
        finally:
            for s in idle:
                s.close()
    return {"alone": alone, "beside": beside}


def measure(daemon, calls):
    found = {}
    for n in CLIENTS:
        before = cpu_ms(daemon.pid), cpu_ms(daemon.keeper().pid, True)
        found[n] = load(daemon.socket_path, CALL, calls, n, GREETING)
        after = cpu_ms(daemon.pid), cpu_ms(daemon.keeper().pid, True)
        found[n]["adderd_cpu_ms"] = (after[0] - before[0]) / calls
        found[n]["worker_cpu_ms"] = (after[1] - before[1]) / calls
    found["idle"] = measure_idle(calls)
    return found


def share(found):
    """CPU time of adderd itself against its workers', from fork to end."""
    return found[8]["adderd_cpu_ms"] / max(found[8]["worker_cpu_ms"], 1e-3)


def rows(found):
    out = []
    for n in CLIENTS:
        run = found[n]
        out.append(("back to back, %d client%s, p50 / p90 / p99" % (n,
            "s" if n > 1 else ""), "%s, max %.1f ms, %.0f calls/s" %
            (times(run), run["max_us"] / 1e3, run["per_second"])))
    out.append(("CPU of a call, 8 clients: adderd, worker",
        "%.2f ms, %.2f ms" % (found[8]["adderd_cpu_ms"],
        found[8]["worker_cpu_ms"])))
    idle = found["idle"]
    out.append(("8 clients, alone", times(idle["alone"])))
    out.append(("8 clients, beside %d idle connections" % IDLE,
        times(idle["beside"])))
    return out


def judge(found):
    tail = found[8]["p99_us"] / found[8]["p50_us"]
    cpu = 100 * share(found)
    return [
        ("8 clients: p99 / p50", "%.1f x" % tail, "<= 5 x", tail <= 5),
        ("CPU of adderd / its worker's, a call", "%.0f %%" % cpu, "<= 15 %",
            cpu <= 15),
    ]
