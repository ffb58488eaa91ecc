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
    # What is kept for later reading grows to its bound, and is no leak.
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


def run_jobs(client, first, count):
    """WINDOW at a time; every answer is looked at."""
    waiting = []

    def finish():
        number, ident = waiting.pop(0)
        answer = client.finish(ident)
        if number % 10:
            assert answer.stdout == "%d\n" % number, answer
        else:
            code, fits = HOSTILE[number // 10 % len(HOSTILE)]
            assert answer.verdict in fits | {"timeout"}, "%s\n%r" % (code, answer)
    for number in range(first, first + count):
        if len(waiting) == WINDOW:
            finish()
        code = "print(%d)" % number
        arguments = {}
        if number % 10 == 0:
            code = HOSTILE[number // 10 % len(HOSTILE)][0]
            arguments["timeout"] = 0.5
        waiting.append((number, client.start(code, **arguments)))
    while waiting:
        finish()
    assert client.inbox == []


@pytest.mark.parametrize("tier", tiers.NAMES)
def test_soak(tier):
    if tiers.why_not(tier):
        pytest.skip(tiers.why_not(tier))
    # Every kind once before the level is taken: malloc keeps some of what the
    # largest answer took.
    first = max(JOBS // len(tiers.NAMES) // 3, 10 * len(HOSTILE))
    jobs = max(JOBS // len(tiers.NAMES), 2 * first)
    with tiers.TierDaemon(tier, OPTIONS) as daemon:
        base = int(daemon.options.get("sandbox.uid_base", 0))
        uids = range(base, base + 1000) if base else [tiers.USER.pw_uid]
        with daemon.connect() as client:
            run_jobs(client, 0, first)
        before = settle(daemon)
        with daemon.connect() as client:
            run_jobs(client, first, jobs - first)
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
