"""Idle workers touch ahead what their jobs will use, when nothing else is to
be done; what programs print does not depend on it."""

import contextlib
import os
import signal

import pytest

import harness
from sessions import Session

WARM = 4
OPTIONS = dict(harness.LIGHT, **{"pool.warm": str(WARM), "log.level":
    "debug", "pool.prefault": "2"})
PROGRAM = """import json, random, sys
print(json.dumps({"a": [1, 2.5]}), sorted({3, 1, 2}), sys.argv == [sys.argv[0]])
try:
    {}["x"]
except KeyError as e:
    print(repr(e))
[i * i for i in range(5)]
"""
PRINTED = '{"a": [1, 2.5]} [1, 2, 3] True\nKeyError(\'x\')\n'


def workers(client):
    status = client.rpc("adder/status")["result"]
    return status["workers"]


def sessions_busy(client):
    return client.rpc("adder/status")["result"]["sessions"]["busy"]


def at_rest(client, prefaulted):
    def look():
        w = workers(client)
        return w if (w["idle"], w["starting"], w["busy"], w["prefaulted"]) \
            == (WARM, 0, 0, prefaulted) else None
    return harness.eventually(look, "%d workers idle, %d of them prefaulted" %
        (WARM, prefaulted))


def private_kib(daemon):
    """What each worker has to itself, by its age."""
    apart = {daemon.guard().pid, daemon.keeper().pid, daemon.zygote().pid,
        daemon.pid}
    found = []
    for pid in sorted(p.pid for p in daemon.processes() if p.pid not in
            apart):
        with open("/proc/%d/smaps_rollup" % pid) as f:
            found.append(sum(int(line.split()[1]) for line in f if
                line.startswith("Private_Dirty:")))
    return found


@contextlib.contextmanager
def daemon_with(**more):
    options = dict(OPTIONS, **{k.replace("_", "."): v for k, v in
        more.items()})
    with harness.Daemon(options) as daemon, daemon.connect() as client:
        yield daemon, client


def test_the_next_ones_are_prefaulted(daemon, client):
    at_rest(client, 2)
    daemon.wait_log(r"[1-9]\d* programs rehearsed: [1-9]\d* pages written, "
        r".*; 0 failed")
    for _ in range(6):
        at_rest(client, 2)
        answer = client.run(PROGRAM)
        assert answer.stdout == PRINTED
    at_rest(client, 2)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look at the "
    "memory of processes that are not dumpable")
def test_only_the_next_ones(daemon, client):
    at_rest(client, 2)
    first, second, third, fourth = private_kib(daemon)
    assert min(first, second) > max(third, fourth) + 256


def test_off():
    with daemon_with(pool_prefault="0") as (daemon, client):
        at_rest(client, 0)
        assert client.run(PROGRAM).stdout == PRINTED
        at_rest(client, 0)
        assert not [line for line in daemon.lines if "rehearsed" in line]


def test_without_compaction_there_is_nothing_to_touch():
    with daemon_with(zygote_compact="off") as (_, client):
        # A worker that is asked says at once that there is no more.
        at_rest(client, 2)
        assert client.run(PROGRAM).stdout == PRINTED


def test_memory_limit_bounds_it():
    with daemon_with(limits_memory="8m", python_modules="numpy") as (daemon,
            client):
        daemon.wait_log("programs rehearsed")
        # An eighth of that is less than all that there is to touch.
        at_rest(client, 0)


def test_each_worker_has_random_numbers_of_its_own(client):
    seen = set()
    for _ in range(6):
        at_rest(client, 2)
        seen.add(client.run("import random\nprint(random.random())").stdout)
    assert len(seen) == 6


def test_calls_come_first(daemon, client):
    """However they meet with it, calls in a row are answered in order."""
    idents = [client.start("print(%d)" % i) for i in range(60)]
    for i, ident in enumerate(idents):
        assert client.finish(ident).stdout == "%d\n" % i
    at_rest(client, 2)


def test_calls_of_sessions_come_first():
    """While they keep all CPUs but one busy no worker touches anything."""
    with daemon_with() as (daemon, client), contextlib.ExitStack() as stack:
        others = max(1, os.cpu_count() - 1)
        idents = []
        for _ in range(others):
            session = stack.enter_context(Session(client))
            idents.append(session.start("print(1, flush=True)\n"
                "import time\ntime.sleep(3600)\n", timeout=60))
        harness.eventually(lambda: workers(client)["busy"] == 0 and
            sessions_busy(client) == others, "the sessions are busy")
        for _ in range(3):
            assert client.run(PROGRAM).stdout == PRINTED
        at_rest(client, 0)
        for _ in range(200):
            assert workers(client)["prefaulted"] == 0
        for ident in idents:
            client.cancel(ident)
        at_rest(client, 2)


def test_reload():
    options = dict(OPTIONS)
    del options["pool.prefault"]
    with harness.Daemon(options, conf="pool.prefault = 0\n") as daemon, \
            daemon.connect() as client:
        at_rest(client, 0)
        for heads in (3, 1, 0):
            daemon.conf_file.write_text("pool.prefault = %d\n" % heads)
            daemon.send_signal(signal.SIGHUP)
            at_rest(client, heads)
        assert client.run(PROGRAM).stdout == PRINTED
