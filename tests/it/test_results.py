"""What a client is given of a run: output while it runs, and its results."""

import time

import pytest

from harness import Daemon, LIGHT


@pytest.fixture(scope="module")
def daemon():
    with Daemon(LIGHT) as d:
        yield d


@pytest.fixture
def client(daemon):
    return daemon.connect()


def set_level(client, level):
    assert client.rpc("logging/setLevel", {"level": level})["result"] == {}


def test_lines_arrive_as_they_are_printed(client):
    """Each while the program still waits for the next input of its clock."""
    set_level(client, "info")
    ident = client.start("import time\nfor i in range(3):\n"
        "    print(i, time.time(), flush=True)\n    time.sleep(0.4)\n",
        timeout=30)
    for want in range(3):
        params = client.notification("notifications/message")["params"]
        late = time.time() - float(params["data"]["text"].split()[1])
        assert params["logger"] == "stdout" and params["level"] == "info"
        assert params["data"]["request"] == ident
        assert params["data"]["text"].split()[0] == str(want)
        # A loaded machine is slow, but not as slow as the end of the run.
        assert late < 0.35 or want == 2
    assert client.finish(ident).verdict == "ok"


def test_output_and_nothing_after_the_answer(client):
    set_level(client, "debug")
    ident = client.start("import sys\nprint('é' * 3)\n"
        "print('bad', file=sys.stderr)")
    seen = []
    while True:
        message = client.receive()
        if message.get("id") == ident:
            break
        seen.append((message["params"]["logger"], message["params"]["data"]))
    assert ("stdout", {"request": ident, "text": "é" * 3 + "\n"}) in seen
    assert ("stderr", {"request": ident, "text": "bad\n"}) in seen
    assert seen[-1][0] == "adder" and seen[-1][1]["verdict"] == "ok"
    client.ping()
    assert client.inbox == []


def test_no_output_without_a_level(client):
    assert client.run("print(1)").stdout == "1\n"
    assert not [m for m in client.inbox if "method" in m]


def test_a_flood_is_sent_in_few_messages(client):
    set_level(client, "info")
    answer = client.run("for i in range(20000): print(i, flush=True)",
        timeout=50)
    assert answer.verdict == "ok"
    messages = [m["params"] for m in client.inbox
        if m.get("method") == "notifications/message"]
    output = [p["data"] for p in messages if p["logger"] == "stdout"]
    sent = sum(len(d["text"]) + d.get("skipped", 0) for d in output)
    assert sent == answer.receipt["stdout_bytes"]
    assert max(len(d["text"]) for d in output) <= 8192
    # At most one a 50 ms, and one at the end.
    assert len(output) <= answer.receipt["wall_ms"] / 50 + 3
