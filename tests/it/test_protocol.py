"""MCP while calls run: ping, progress, cancellation, logging, gone peers."""

import pytest

import harness

CARRIERS = ["stdio", "unix", "tcp"]
HANG = "import time\nprint('begun', flush=True)\ntime.sleep(3600)\n"


@pytest.fixture(params=CARRIERS)
def any_client(request, daemon):
    client = daemon.connect(request.param)
    yield client
    if request.param != "stdio":
        client.close()


def start_marked(daemon, client, name, code=HANG, **kwargs):
    """Start a job and wait until it really runs."""
    kwargs.setdefault("timeout", 60)
    ident = client.start(harness.mark(name) + code, **kwargs)
    harness.eventually(lambda: daemon.marked(name), "job %s runs" % name)
    return ident


def test_ping_while_a_call_runs(daemon, any_client):
    ident = start_marked(daemon, any_client, "ping-job")
    any_client.ping(timeout=2)
    assert not any_client.answered(ident)
    any_client.cancel(ident)
    harness.eventually(lambda: not daemon.marked("ping-job"), "job ended")


def test_cancelled_call_is_never_answered(daemon, any_client):
    ident = start_marked(daemon, any_client, "cancel-job")
    any_client.cancel(ident)
    harness.eventually(lambda: not daemon.marked("cancel-job"),
        "the worker is gone", 2)
    assert any_client.run("print(1)").stdout == "1\n"
    any_client.ping()
    assert not any_client.answered(ident)


def test_cancel_with_id_of_another_type_is_ignored(daemon, client):
    ident = start_marked(daemon, client, "type-job",
        "import time\ntime.sleep(0.3)\nprint('x')\n")
    client.cancel(str(ident))
    assert client.finish(ident).stdout == "x\n"


def test_cancel_of_another_connection_is_ignored(client, other):
    code = "import time\ntime.sleep(0.2)\nprint('mine')\n"
    ident = client.start(code)
    other.cancel(ident)
    other.ping()
    assert client.finish(ident).stdout == "mine\n"


def test_cancel_in_the_queue(client):
    """Cancelled right after it was sent, whatever it had come to."""
    cancelled = []
    for _ in range(20):
        ident = client.start("print(1)")
        client.cancel(ident)
        cancelled.append(ident)
    assert client.run("print(2)").stdout == "2\n"
    client.ping()
    # A call may have finished before its cancellation arrived, not after.
    answers = [m["id"] for m in client.inbox if "result" in m]
    assert set(answers) <= set(cancelled) and len(answers) < 20


def test_answers_come_in_order_of_completion(client):
    slow = client.start("import time\ntime.sleep(0.5)\nprint('slow')\n")
    quick = client.start("print('quick')")
    assert client.receive()["id"] == quick
    assert client.receive()["id"] == slow


def test_same_id_in_flight_is_refused(daemon, client):
    ident = start_marked(daemon, client, "same-id")
    client.send({"jsonrpc": "2.0", "id": ident, "method": "tools/call",
        "params": {"name": "run_python", "arguments": {"code": "1"}}})
    assert client.answer(ident)["error"]["code"] == -32600
    client.cancel(ident)
    harness.eventually(lambda: not daemon.marked("same-id"), "job ended")


@pytest.mark.parametrize("token", ["tok", 0, 17])
def test_progress(client, token):
    code = ("import time\nfor i in range(600):\n"
        "    print(i, flush=True)\n    time.sleep(0.1)\n")
    ident = client.start(code, meta={"progressToken": token}, timeout=60)
    seen = []
    for _ in range(2):
        params = client.notification("notifications/progress")["params"]
        assert params["progressToken"] == token
        assert type(params["progressToken"]) is type(token)
        assert params.get("message", "") is not None
        seen.append(params["progress"])
    assert seen[0] < seen[1]
    client.cancel(ident)
    # What was sent before the cancellation arrived may still come; after a
    # round trip nothing more does.
    client.ping()
    client.inbox.clear()
    assert client.run("print(1)").stdout == "1\n"
    client.ping()
    assert client.inbox == []


def test_no_progress_after_the_answer(client):
    for token in range(5):
        ident = client.start("print('x')", meta={"progressToken": token})
        client.finish(ident)
        client.inbox.clear()
        client.ping()
        assert client.inbox == []


def test_no_progress_without_a_token(client):
    ident = client.start("import time\nfor i in range(5):\n"
        "    print(i, flush=True)\n    time.sleep(0.1)\n")
    client.finish(ident)
    assert client.inbox == []


@pytest.mark.parametrize("carrier", ["unix", "tcp"])
def test_client_gone_ends_its_job(daemon, carrier):
    client = daemon.connect(carrier)
    start_marked(daemon, client, "gone-job")
    client.close()
    harness.eventually(lambda: not daemon.marked("gone-job"),
        "the worker is gone", 2)


@pytest.mark.parametrize("carrier", ["unix", "tcp"])
def test_end_of_input_lets_calls_finish(daemon, carrier):
    """As with "printf ... | socat": what was asked is answered, then the
    connection is closed."""
    client = daemon.connect(carrier)
    ident = client.start("import time\ntime.sleep(0.3)\nprint('done')\n")
    client.shut_down_writing()
    assert client.finish(ident).stdout == "done\n"
    client.wait_closed()
    client.close()


@pytest.mark.parametrize("carrier", ["unix", "tcp"])
def test_gone_after_end_of_input(daemon, carrier):
    """Who closes for good after that is gone, and so are its jobs."""
    client = daemon.connect(carrier)
    start_marked(daemon, client, "eof-job")
    client.shut_down_writing()
    client.close()
    harness.eventually(lambda: not daemon.marked("eof-job"),
        "the worker is gone", 5)


@pytest.mark.parametrize("carrier", ["unix", "tcp"])
@pytest.mark.parametrize("line", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}",
    b"OPTIONS * HTTP/1.0\r\n\r\n"], ids=["get", "post", "options"])
def test_http_is_refused(daemon, carrier, line, other):
    client = daemon.connect(carrier, version=None)
    client.send_bytes(line)
    data = bytearray()
    client._split = lambda: (data.extend(client.buffer),
        client.buffer.clear())
    client.wait_closed()
    assert b"jsonrpc" not in data
    client.close()
    other.ping()


def test_http_words_later_are_only_bad_json(client):
    client.send_bytes(b"GET / HTTP/1.1\n")
    assert client.receive()["error"]["code"] == -32700
    client.ping()


def test_message_in_pieces(client):
    text = b'{"jsonrpc":"2.0","id":"slow","method":"ping"}\n'
    for i in range(len(text)):
        client.send_bytes(text[i:i + 1])
    assert client.answer("slow")["result"] == {}


def test_many_messages_in_one_write(client):
    text = b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % i
        for i in range(1000, 2000))
    client.send_bytes(text)
    assert [client.receive()["id"] for _ in range(1000)] == list(
        range(1000, 2000))


def test_slow_reader_gets_everything(daemon, other):
    """A client that does not read holds up nobody and loses nothing."""
    client = daemon.connect("unix")
    idents = [client.start("print('x' * 400000)") for _ in range(12)]
    for _ in range(3):
        assert other.run("print(1)").stdout == "1\n"
    for ident in idents:
        assert client.finish(ident).stdout == "x" * 400000 + "\n"
    client.close()


def test_resources_come_embedded_for_old_peers(daemon):
    """2024-11-05 and 2025-03-26 have no resource_link."""
    code = "open('out.txt', 'w').write('hello')"
    for version in ("2024-11-05", "2025-03-26"):
        with daemon.connect("unix", version) as client:
            answer = client.run(code)
            assert {c["type"] for c in answer.content} <= {"text", "image",
                "resource"}
            assert [f["resource"]["text"] for f in answer.files] == ["hello"]
