"""Memory of workers that wait, with 16, 64 and 256 of them."""

import harness

WORKERS = (16, 64, 256)


def pss_kib(pid):
    """Proportional set size (smaps_rollup, proc(5))."""
    with open("/proc/%d/smaps_rollup" % pid) as f:
        for line in f:
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


def measure(quick):
    """{workers: KiB each}, or {"skipped": why}: only root may look."""
    found = {}
    for n in WORKERS[:2] if quick else WORKERS:
        with harness.Daemon({"pool.warm": str(n), "pool.max": str(n)}) as d:
            d.connect().run("1")
            apart = {d.guard().pid, d.keeper().pid, d.zygote().pid, d.pid}

            def workers():
                pids = [p.pid for p in d.processes() if p.pid not in apart]
                return pids if len(pids) >= n else None
            pids = harness.eventually(workers, "%d workers" % n)
            # Those at the head of the pool become larger (pool.prefault).
            client = d.connect()
            harness.eventually(lambda: client.rpc("adder/status")["result"][
                "workers"]["prefaulted"] > 0, "the pool is at rest")
            try:
                found[n] = sum(map(pss_kib, pids)) / len(pids)
            except PermissionError:
                return {"skipped": "only root may read smaps_rollup of "
                    "processes that are not dumpable"}
    return found


def rows(found):
    if "skipped" in found:
        return [("PSS of a waiting worker", "skipped: " + found["skipped"])]
    return [("PSS of a waiting worker, one of %d" % n, "%.2f MB" %
        (kib / 1024)) for n, kib in found.items()]


def judge(found):
    if "skipped" in found:
        return []
    mb = found[64] / 1024
    return [("PSS of a waiting worker, one of 64", "%.2f MB" % mb, "<= 2 MB",
        mb <= 2)]
