"""Thousands of jobs, a tenth of them hostile, leave everything as it was.

$ADDER_SOAK says how many jobs.
"""

import os
import pathlib

import pytest

import canaries
import harness
import tiers

JOBS = int(os.environ.get("ADDER_SOAK", "240"))
WINDOW = 8
OPTIONS = dict(harness.LIGHT, **{"pool.max": "4", "pool.warm": "4",
    "queue.max": "64", "limits.memory": "64m", "limits.output_kill": "1m",
    # What is kept on purpose is not what this is about.
    "result.keep": "0"})

# What each tries, and the verdicts that may come of it besides timeout.
HOSTILE = (
    ("import os\nos._exit(3)\n", {"exit"}),
    ("import ctypes\nctypes.string_at(0)\n", {"signal"}),
    ("import os\nos.abort()\n", {"signal"}),
    ("while True: pass\n", set()),
    ("while True: print('x' * 10000)\n", {"output"}),
    ("hoard = []\nwhile True: hoard.append(b'x' * (1 << 20))\n", {"memory"}),
    ("import os\nos.write(3, os.urandom(500))\n", {"ok"}),
    ("import os\nos.closerange(0, 256)\n", {"ok", "exit", "exception"}),
    ("import threading, time\nfor _ in range(300):\n"
        "    threading.Thread(target=time.sleep, args=(60,)).start()\n",
        {"exception", "memory"}),
    ("import os\nfor i in range(300): open('f%d' % i, 'w').write('x' * 999)\n"
        "os.mkdir('d')\nos.chmod('d', 0)\n", {"ok"}),
    ("import os, time\ntry:\n    while True:\n        if os.fork() == 0:\n"
        "            os.setsid()\n            time.sleep(60)\n"
        "except OSError: os._exit(7)\n", {"exit"}),
    ("import socket\nsocket.socket()\n", {"denied"}),
    ("import ctypes\nctypes.CDLL(None).shmget(0, 4096, 0o1600)\n", {"ok"}),
)


def settle(daemon):
    """What the three that stay hold, when the pool is at rest."""
    canaries.Workers(daemon)
    return canaries.resources(daemon)


def plan(count):
    """Numbers of jobs, and None or the number of a hostile program."""
    for number in range(count):
        yield number, number // 10 % len(HOSTILE) if number % 10 == 0 else \
            None


def check(answer, number, kind):
    if kind is None:
        assert answer.stdout == "%d\n" % number, answer
    else:
        code, fits = HOSTILE[kind]
        assert answer.verdict in fits | {"timeout"}, "%s\n%r" % (code,
            answer)


def run_jobs(client, jobs):
    """WINDOW at a time; every answer is looked at."""
    waiting = []
    for number, kind in jobs:
        if len(waiting) == WINDOW:
            ident, *which = waiting.pop(0)
            check(client.finish(ident), *which)
        if kind is None:
            ident = client.start("print(%d)" % number)
        else:
            ident = client.start(HOSTILE[kind][0], timeout=0.5)
        waiting.append((ident, number, kind))
    for ident, *which in waiting:
        check(client.finish(ident), *which)
    assert client.inbox == []


@pytest.mark.parametrize("tier", tiers.NAMES)
def test_soak(tier):
    if tiers.why_not(tier):
        pytest.skip(tiers.why_not(tier))
    jobs = JOBS // len(tiers.NAMES)
    with tiers.TierDaemon(tier, OPTIONS) as daemon:
        first = int(daemon.options.get("sandbox.uid_base", 0))
        uids = range(first, first + 1000) if first else [tiers.USER.pw_uid]
        with daemon.connect() as client:
            run_jobs(client, enumerate(2 * list(range(len(HOSTILE)))))
        before = settle(daemon)
        with daemon.connect() as client:
            run_jobs(client, plan(jobs))
        after = settle(daemon)
        for name, (fds, rss) in after.items():
            assert fds <= before[name][0], "%s: %d descriptors, before %d" % (
                name, fds, before[name][0])
            assert rss - before[name][1] < 1024 or harness.sanitized(), \
                "%s grew by %d KiB" % (name,
                rss - before[name][1])
        # One directory for each idle worker, where they are not mounted.
        warm = int(daemon.options["pool.warm"])
        left = [p for p in daemon.scratch_files()
            if pathlib.Path(p).name.isdigit()]
        assert len(left) <= warm, left
        assert not [p for p in harness.descendants(daemon.pid)
            if p.state == "Z"]
        groups = [d for top, dirs, _ in os.walk("/sys/fs/cgroup")
            if top.endswith("/adder-%d" % daemon.keeper().pid) for d in dirs]
        assert len(groups) <= warm, groups
    assert not [row for row in canaries.mounts() if "adder" in str(row)]
    assert not canaries.ipc_of(uids), canaries.ipc_of(uids)
