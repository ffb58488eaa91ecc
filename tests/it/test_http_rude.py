"""HTTP from clients that mean no good, or that are very slow."""

import contextlib
import json
import re
import resource
import socket

import pytest

import harness
from test_http import ANNA, HEAD, Http, OPTIONS, modern, raw, run

GET = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"
# What would be answered if the request before it ended where a smuggler
# wants it to.
SMUGGLED = GET + b"\r\n"
CHUNKED = HEAD + b"Content-Type: application/json\r\nTransfer-Encoding: "


def chunks(body):
    return CHUNKED + b"chunked\r\n\r\n" + body


@pytest.mark.parametrize("data", [
    chunks(b"0x2\r\n{}\r\n0\r\n\r\n"),
    chunks(b"+2\r\n{}\r\n0\r\n\r\n"),
    chunks(b" 2\r\n{}\r\n0\r\n\r\n"),
    chunks(b"-2\r\n{}\r\n0\r\n\r\n"),
    chunks(b"fffffffffffffffff\r\n{}\r\n0\r\n\r\n"),
    chunks(b"7fffffffffffffff\r\n{}\r\n0\r\n\r\n"),
    chunks(b"\r\n{}\r\n0\r\n\r\n"),
    chunks(b"2;a=b\r\n{}\r\n0\r\n\r\n"),
    chunks(b"2;\nxx\r\n{}\r\n0\r\n\r\n"),
    chunks(b"2\r\n{}XX0\r\n\r\n"),
    chunks(b"2\r\n{}\r\n0\r\nHost: evil\r\n\r\n"),
    CHUNKED + b"xchunked\r\n\r\n0\r\n\r\n",
    CHUNKED + b"\x0bchunked\r\n\r\n0\r\n\r\n",
    CHUNKED + b"chunked, identity\r\n\r\n0\r\n\r\n",
    CHUNKED + b"chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    CHUNKED + b"\r\n chunked\r\n\r\n0\r\n\r\n",
    HEAD + b"Content-Length\0: 2\r\n\r\n{}",
    HEAD + b"Content-Length:\r\n 2\r\n\r\n{}",
    HEAD + b"Content-Length: 2, 2\r\n\r\n{}",
    HEAD + b"Content-Length: 99999999999999999999\r\n\r\n{}",
    HEAD + b"Content-Length: 18446744073709551618\r\n\r\n{}",
    HEAD + b"Colon\r\nContent-Length: 2\r\n\r\n{}",
    b"GET /livez\rX HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /livez?\x7f HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET\t/livez\tHTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /livez HTTP/1.1\r\n Host: evil\r\nHost: localhost\r\n\r\n",
    b"GET /livez\r\n\r\n",
    b"GET /livez HTTP/0.1\r\nHost: localhost\r\n\r\n",
    b"GET /livez HTTP/2.0\r\nHost: localhost\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
])
def test_nothing_is_smuggled(quick, data):
    """A refusal at most, and nothing behind it is answered."""
    reply = raw(quick, data + SMUGGLED)
    assert len(re.findall(rb"HTTP/1\.\d \d", reply)) <= 1
    assert b" 200 OK" not in reply, reply


@pytest.fixture(scope="module")
def quick():
    """A daemon that waits for no long time for what does not come."""
    with harness.Daemon(dict(OPTIONS, **{"http.timeout": "500ms"})) as own:
        yield own


def test_a_body_in_chunks_is_taken(daemon):
    message, headers = modern(run("print('chunks')"))
    body = json.dumps(message).encode()
    lines = b"".join(b"%s: %s\r\n" % (k.replace("_", "-").encode(),
        v.encode()) for k, v in headers.items())
    data = b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + 50]), body[i:i + 50])
        for i in range(0, len(body), 50))
    reply = raw(daemon, HEAD + b"Content-Type: application/json\r\n" + lines +
        b"Transfer-Encoding: chunked\r\n\r\n" + data + b"0\r\n\r\n")
    assert b" 200 OK" in reply and b"chunks" in reply
    assert b"Connection: close" in reply


def test_the_host_of_the_uri_counts(daemon):
    for host, status in ((b"localhost", b"200"), (b"evil.example", b"403")):
        reply = raw(daemon, b"GET http://%s/livez HTTP/1.1\r\nHost: localhost"
            b"\r\nConnection: close\r\n\r\n" % host)
        assert reply.split()[1] == status


def test_many_requests_in_one_go(daemon):
    """All are answered, in their order, to whoever reads."""
    asked = GET.replace(b"/livez", b"/n%d") + b"\r\n"
    data = b"".join(asked.replace(b"%d", b"%d" % i) if i % 2 else SMUGGLED
        for i in range(2000))
    reply = raw(daemon, data + GET + b"Connection: close\r\n\r\n")
    found = re.findall(rb"HTTP/1.1 (\d+)", reply)
    assert found == [b"200", b"404"] * 1000 + [b"200"]


@pytest.mark.skipif(harness.sanitized(), reason="keeps what is freed")
def test_many_requests_and_no_reader(daemon, other):
    """What nobody reads is not answered on and on."""
    with Http(daemon) as web, socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(web.address)
        sock.setblocking(False)
        before = harness.proc_status_kib(daemon.pid, "VmRSS")
        sent, data = 0, memoryview(SMUGGLED * 1000)
        for _ in range(200):
            # Both ends' buffers fill up; then nothing moves any more.
            with contextlib.suppress(BlockingIOError):
                sent += sock.send(data[sent % len(SMUGGLED):])
            other.ping()
        assert sent > 0
        assert other.run("print(1)").stdout == "1\n"
        assert harness.proc_status_kib(daemon.pid, "VmRSS") < before + 4096


def test_a_thousand_half_open_connections(daemon):
    """They stop nobody who has something to ask."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 1200:
        pytest.skip("no 1200 descriptors for the clients")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    starts = (b"", b"POST", HEAD, HEAD + b"Content-Length: 9\r\n\r\n{")
    with contextlib.ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE,
            (soft, hard))
        for i in range(1000):
            with Http(daemon) as web:
                sock = stack.enter_context(socket.create_connection(
                    web.address, harness.WAIT))
            with contextlib.suppress(ConnectionError):
                sock.sendall(starts[i % len(starts)])
            if i % 100 == 99:
                with Http(daemon) as web:
                    web.initialize()
                    assert not harness.Answer(web.post(run("print(1)")).
                        json).is_error


# --- before a token is shown ----------------------------------------------------

@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    top = tmp_path_factory.mktemp("tokens")
    top.chmod(0o755)
    (top / "tokens").write_text("anna %s\n" % ANNA)
    (top / "tokens").chmod(0o644)
    with harness.Daemon(dict(OPTIONS, **{"http.token_file":
            str(top / "tokens"), "user": "", "http.timeout": "2s"})) as own:
        yield own


def program(size, token=None, close=True, name=b"Authorization"):
    """A POST to /run of so many bytes."""
    body = b"print(1)#".ljust(size, b"x")
    return (b"POST /run HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: text/x-python\r\nContent-Length: %d\r\n" % size +
        (b"%s: Bearer %s\r\n" % (name, token.encode()) if token else b"") +
        (b"Connection: close\r\n" if close else b"") + b"\r\n" + body)


WRONG = ANNA[:-1] + "0"


@pytest.mark.parametrize("size, token, status", [
    (1000, None, b"401"), (1000, WRONG, b"401"), (1000, ANNA, b"200"),
    (1 << 20, None, b"413"), (1 << 20, WRONG, b"413"),
    (1 << 20, ANNA, b"200"),
])
def test_who_shows_no_token_sends_little(guarded, size, token, status):
    reply = raw(guarded, program(size, token))
    assert reply.split()[1] == status
    if status != b"200":
        assert json.loads(reply.split(b"\r\n\r\n", 1)[1])["error"]
    if status == b"413":
        assert b"Authorization" in reply


def test_a_token_is_seen_in_pieces(guarded):
    data = program(1 << 20, ANNA, name=b"aUTHORIZATION")
    assert raw(guarded, *[data[i:i + 1] for i in range(200)],
        data[200:]).split()[1] == b"200"


def test_a_token_in_a_body_opens_nothing(guarded):
    """The one guess of a request is its header."""
    line = b"\r\nAuthorization: Bearer %s\r\n"
    body = line % WRONG.encode() + line % ANNA.encode() + b"x" * 200000
    reply = raw(guarded, HEAD + b"Authorization: Bearer %s\r\n"
        b"Content-Length: %d\r\n\r\n" % (WRONG.encode(), len(body)) + body)
    assert reply.split()[1] == b"413"


def test_each_request_shows_its_token(guarded):
    """A larger body may follow on the connection, but no request."""
    reply = raw(guarded, program(100, ANNA, close=False) + program(1 << 18))
    assert re.findall(rb"HTTP/1.1 (\d+)", reply) == [b"200",
        b"401"]


@pytest.mark.skipif(harness.sanitized(), reason="keeps what is freed")
def test_strangers_take_no_memory(guarded):
    before = harness.proc_status_kib(guarded.pid, "VmRSS")
    data = program(8 << 20)[:4 << 20]
    with contextlib.ExitStack() as stack:
        for _ in range(60):
            with Http(guarded) as web:
                sock = stack.enter_context(socket.create_connection(
                    web.address, harness.WAIT))
            with contextlib.suppress(ConnectionError):
                sock.sendall(data)
        assert raw(guarded, program(10, ANNA)).split()[1] == b"200"
        # 240 MiB were sent.
        assert (harness.proc_status_kib(guarded.pid, "VmRSS") < before +
            60 * 128 + 4096)


def test_a_token_behind_the_body_counts_for_nothing(guarded):
    """A proxy looks at the headers, not at what follows the last chunk."""
    reply = raw(guarded, b"POST /run HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: text/x-python\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"8\r\nprint(1)\r\n0\r\nAuthorization: Bearer %s\r\n\r\n" %
        ANNA.encode())
    assert reply.split()[1] == b"401"
