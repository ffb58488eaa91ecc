"""Programs that attack, run in sessions: the jail holds there as elsewhere.

The same collection and the same canaries as for test_hostile.py.  Beyond
them, what the answer says of the session is held against it, its own
processes must be gone when it is stopped, and no other session may notice.
"""

import contextlib
import os

import pytest

import canaries
import sessions
import test_hostile
import tiers
from harness import eventually
from test_hostile import host, judge, programs	# noqa: F401 (fixtures)

# Sessions are led in other ways where there is no pid namespace, and where
# programs may start processes.
pytestmark = test_hostile.pytestmark


@pytest.fixture(scope="module", params=tiers.NAMES)
def daemon(request, host):		# noqa: F811
    if tiers.why_not(request.param):
        pytest.skip(tiers.why_not(request.param))
    with test_hostile.start(request.param, host,
            {"pool.max": "3", "pool.warm": "1"}) as daemon:
        yield daemon


# abort() blocks all signals first since then, SIGSYS, too: where a call of a
# session has no pid namespace nobody can do for it what the filter refuses,
# and it dies of the refusal.
ABORTS_BLIND = tuple(int(n) for n in os.confstr("CS_GNU_LIBC_VERSION")
    .split()[1].split(".")[:2]) >= (2, 41)


def isolated():
    return [p for p in programs() if p.values[2] == "isolated" and
        p.values[1].get("with") != "victim"]


@pytest.mark.parametrize("path, header, policy", isolated())
def test_program(daemon, host, judge, path, header, policy):	# noqa: F811
    if ABORTS_BLIND and path.stem == "016_abort" and daemon.tier == "medium":
        pytest.skip("this C library aborts with SIGSYS blocked")
    wanted = [c for c in canaries.parse_canaries(header["canary"])
        if c[0] != "latency-ok"]
    watch = canaries.Watch(host, daemon, wanted)
    with daemon.connect() as client, daemon.connect() as neighbour, \
            sessions.Session(neighbour) as other, \
            contextlib.ExitStack() as stack:
        other.run("y = 7")
        before = {p.pid for p in daemon.processes()}
        session = stack.enter_context(sessions.Session(client))
        session.run("before_all = 41")
        # The pool may make workers meanwhile; a leader has children.
        new = [p for p in daemon.processes() if p.pid not in before]
        mine = [p for p in new if p.ppid != daemon.keeper().pid or
            any(q.ppid == p.pid for q in new)]
        assert len(mine) >= 2, new
        run = canaries.Run(session.run(path.read_text()))
        fate = sessions.fate(run.answer)
        assert fate in ("kept", "rolled_back", "lost"), run.answer
        after = session.run("before_all")
        if fate == "lost":
            assert after.is_error and "sandbox_initialize" in after.text
        else:
            assert after.rest == "value: 41", (run.answer, after)
            session.stop()
        eventually(lambda: not [p for p in mine
            if canaries.harness.alive(p)], "the session's processes end")
        run.left = []
        if watch.wants("next-job-ok"):
            run.next = client.finish(client.start(
                test_hostile.companion("nextjob.py")))
        run.alive = client.run("print(6*7)").stdout
        run.messages = client.inbox
        bad = watch.failures([run])
        fits, why = judge.judge({"file": str(path), "policy": policy,
            "run": 1, "outcome": canaries.outcome(run.answer),
            "stdout": run.answer.stdout, "stderr": run.answer.rest},
            host.token)
        if not fits:
            bad.append("%s: %r" % (why, run.answer))
        assert other.run("y").rest == "value: 7"
    assert not bad, "\n".join(bad)
