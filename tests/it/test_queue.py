"""Admission: a bounded queue, and turns between connections."""

import os
import time

import pytest

import harness

OPTIONS = dict(harness.LIGHT, **{"pool.max": "1", "pool.warm": "1",
    "queue.max": "60"})
STAMP = "import time\nprint(time.monotonic_ns())\n"


def block(daemon, client, name="blocker"):
    """Take the only place for a running job; returns the request's id."""
    ident = client.start(harness.mark(name) + "import time\n"
        "time.sleep(3600)\n", timeout=60)
    harness.eventually(lambda: daemon.marked(name), "the blocker runs")
    return ident


def test_turns_between_connections(daemon, client, other):
    """Fifty calls of one connection, then one of another: it is next."""
    blocker = block(daemon, client)
    flood = [client.start(STAMP, timeout=20) for _ in range(50)]
    client.ping()
    late = other.start(STAMP, timeout=20)
    other.ping()
    client.cancel(blocker)
    when = int(other.finish(late).stdout)
    stamps = [int(client.finish(ident).stdout) for ident in flood]
    assert stamps == sorted(stamps), "one connection's calls keep order"
    before = sum(stamp < when for stamp in stamps)
    assert before <= 1, "served after %d of the flood" % before


def test_three_connections_alternate(daemon, client, other):
    with daemon.connect() as third:
        blocker = block(daemon, client)
        idents = []
        for who in (other, third):
            idents += [(who, who.start(STAMP, timeout=20))
                for _ in range(5)]
            who.ping()
        client.cancel(blocker)
        order = sorted((int(who.finish(ident).stdout), who is third)
            for who, ident in idents)
        turns = [is_third for _, is_third in order]
        assert turns in ([False, True] * 5, [True, False] * 5), turns


def test_full_queue_answers_busy(daemon, client, other):
    blocker = block(daemon, client)
    queued = [client.start("print(%d)" % i, timeout=20) for i in range(30)]
    client.ping()
    queued2 = [other.start("print(%d)" % i, timeout=20) for i in range(30)]
    other.ping()
    answer = other.run("print('too much')")
    assert answer.verdict == "busy" and answer.is_error, answer
    assert "60" in answer.text, "the limit is not named"
    assert any(word in answer.text.lower() for word in ("retry", "again",
        "later", "wait")), "no hint: %r" % answer
    assert other.run("1").verdict == "busy"
    client.cancel(blocker)
    for who, idents in ((client, queued), (other, queued2)):
        for i, ident in enumerate(idents):
            assert who.finish(ident).stdout == "%d\n" % i
    assert other.run("print('now')").stdout == "now\n"


def test_waiting_does_not_use_up_the_timeout(daemon, client):
    blocker = block(daemon, client)
    ident = client.start("print('ran')", timeout=0.5)
    client.ping()
    harness.eventually(lambda: _age(daemon, "blocker") > 0.7,
        "the queued call has waited longer than its timeout")
    client.cancel(blocker)
    answer = client.finish(ident)
    assert answer.stdout == "ran\n", answer
    assert answer.receipt["queue_ms"] >= 500, answer
    assert answer.receipt["wall_ms"] < 500, answer


def _age(daemon, name):
    """Seconds since the job was started, by the kernel's clock."""
    start = daemon.marked(name)[0].start / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - start


def test_calls_of_one_connection_are_bounded():
    options = dict(harness.LIGHT, **{"clients.calls_max": "3",
        "pool.max": "1"})
    with harness.Daemon(options) as daemon:
        client, other = daemon.connect(), daemon.connect()
        blocker = block(daemon, client)
        queued = [client.start("print(1)") for _ in range(2)]
        answer = client.run("print('fourth')")
        assert answer.verdict == "busy" and "3" in answer.text, answer
        ident = other.start("print('other')")
        other.ping()
        client.cancel(blocker)
        assert other.finish(ident).stdout == "other\n"
        for ident in queued:
            assert client.finish(ident).stdout == "1\n"


def test_cancelled_queued_calls_free_their_places(daemon, client, other):
    blocker = block(daemon, client)
    idents = [client.start("print(1)", timeout=20) for _ in range(60)]
    client.ping()
    assert other.run("1").verdict == "busy"
    for ident in idents[:30]:
        client.cancel(ident)
    client.ping()
    ident = other.start("print('in')", timeout=20)
    other.ping()
    client.cancel(blocker)
    assert other.finish(ident).stdout == "in\n"
    for ident in idents[30:]:
        client.finish(ident)
    assert not any(client.answered(ident) for ident in idents[:30])


def test_gone_client_frees_its_places(daemon, client, other):
    blocker = block(daemon, client)
    leaver = daemon.connect()
    for _ in range(60):
        leaver.start("print(1)", timeout=20)
    leaver.ping()
    assert other.run("1").verdict == "busy"
    leaver.close()
    other.ping()
    answers = harness.eventually(lambda: _accepted(other), "a place is free")
    client.cancel(blocker)
    assert other.finish(answers).stdout == "in\n"


def _accepted(client):
    ident = client.start("print('in')", timeout=20)
    client.ping()
    return ident if not client.answered(ident) else None


def test_connections_are_bounded():
    """Further ones wait to be accepted; nobody is refused or harmed."""
    with harness.Daemon(dict(harness.LIGHT, **{"clients.max": "3"})) as daemon:
        clients = [daemon.connect() for _ in range(3)]
        waiting = daemon.connect(version=None)
        ident = waiting.request("ping")
        with pytest.raises(harness.Timeout):
            waiting.answer(ident, timeout=0.3)
        assert clients[0].run("print(1)").stdout == "1\n"
        clients[1].close()
        assert waiting.answer(ident)["result"] == {}
