"""A thousand calls leave the processes as they were."""

import harness

CALLS = 1000
WARM = 4
OPTIONS = dict(harness.LIGHT, **{"queue.max": "64", "pool.warm": str(WARM)})


def run_many(client, count, window=8):
    """count calls, window at a time; every answer is looked at."""
    waiting = []
    for i in range(count):
        if len(waiting) == window:
            number, ident = waiting.pop(0)
            assert client.finish(ident).stdout == "%d\n" % number
        waiting.append((i, client.start("print(%d)" % i)))
    for number, ident in waiting:
        assert client.finish(ident).stdout == "%d\n" % number


def settle(daemon, client):
    """Wait until the pool is full and at rest, then what each process holds."""
    def full():
        w = client.rpc("adder/status")["result"]["workers"]
        return (w["idle"], w["starting"], w["busy"]) == (WARM, 0, 0)
    harness.eventually(full, "the pool is at rest")
    pids = {"adderd": daemon.pid, "keeper": daemon.keeper().pid,
        "zygote": daemon.zygote().pid}
    return {name: (harness.proc_fds(pid), harness.proc_status_kib(pid,
        "VmRSS"), pid) for name, pid in pids.items()}


def test_a_thousand_calls(daemon, client):
    run_many(client, 100)
    before = settle(daemon, client)
    run_many(client, CALLS)

    def fds_back():
        now = settle(daemon, client)
        return now if all(now[n][0] <= before[n][0] for n in now) else None
    after = harness.eventually(fds_back, "descriptors are back at %r" %
        {name: row[0] for name, row in before.items()}, 5)
    for name, (_, rss, pid) in after.items():
        _, rss0, pid0 = before[name]
        assert pid == pid0, "%s was restarted" % name
        allowed = max(rss0 * 0.02, 256)
        assert rss - rss0 <= allowed or harness.sanitized(), \
            "%s grew by %d KiB of %d" % (name, rss - rss0, rss0)
    zombies = [p for p in harness.descendants(daemon.pid) if p.state == "Z"]
    harness.eventually(lambda: not [p for p in harness.descendants(daemon.pid)
        if p.state == "Z"], "zombies are reaped: %r" % zombies, 5)


def test_connections_leave_nothing(daemon, client):
    client.ping()
    before = harness.proc_fds(daemon.pid)
    for _ in range(200):
        with daemon.connect() as passing:
            passing.start("print(1)")
    client.ping()
    harness.eventually(lambda: harness.proc_fds(daemon.pid) <= before + 1,
        "descriptors are back at %d" % before)
    assert client.run("print(1)").stdout == "1\n"
