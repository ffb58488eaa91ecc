"""Output on its way: soon at a client that reads, and held back by one that
does not.

ADDER_LIVE=30 (make check-live) has programs print once a second for so many
seconds and holds every single line to the bound; without it a program prints
until enough lines in a row were in time, so that a loaded machine only takes
longer.
"""

import contextlib
import json
import os
import socket
import time

import pytest

import harness
from test_http import Http, modern, request, run

SECONDS = int(os.environ.get("ADDER_LIVE", "0"))
BOUND = 0.1			# from print() to the client
IN_A_ROW = 5
# print() alone, as programs have it: nobody flushes for adder's sake.
CLOCK = ("import time\nfor i in range(%d):\n    print(time.time())\n"
    "    time.sleep(%g)\n" % ((SECONDS, 1) if SECONDS else (3000, 0.02)))
META = {"progressToken": "t", "io.modelcontextprotocol/logLevel": "debug"}

OPTIONS = dict(harness.LIGHT, **{"listen.http": "127.0.0.1:0",
    "result.max_text": "20k", "limits.timeout_max": "5m",
    "limits.output_kill": "8g"})


def stream(daemon, path, body, headers=(), receive_buffer=None):
    """A POST whose answer is a stream of events; its socket and file."""
    with Http(daemon) as web:
        sock = socket.socket()
        if receive_buffer:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF,
                receive_buffer)
        sock.settimeout(harness.WAIT)
        sock.connect(web.address)
    data = json.dumps(body).encode()
    lines = ["POST %s HTTP/1.1" % path, "Host: localhost",
        "Content-Type: application/json", "Connection: close",
        "Accept: application/json, text/event-stream",
        "Content-Length: %d" % len(data)]
    lines += ["%s: %s" % (k.replace("_", "-"), v)
        for k, v in dict(headers).items()]
    sock.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
    return sock, sock.makefile("rb")


def messages(file):
    """What comes as events: (data, when)."""
    for line in file:
        if line.startswith(b"data: "):
            yield json.loads(line[6:]), time.time()


def mcp_text(message):
    params = message.get("params", {})
    return (params["data"]["text"] if params.get("logger") == "stdout"
        else "")


@contextlib.contextmanager
def unix_lines(daemon, code, seconds):
    with daemon.connect("unix") as client:
        client.start(code, META, timeout=seconds)

        def texts():
            while True:
                message = client.receive()
                if "method" not in message:
                    return
                yield mcp_text(message), time.time()
        yield texts()


@contextlib.contextmanager
def mcp_lines(daemon, code, seconds):
    message, headers = modern(run(code, meta=META, timeout=seconds))
    sock, file = stream(daemon, "/mcp", message, headers)
    with sock, file:
        yield ((mcp_text(m), when) for m, when in messages(file))


@contextlib.contextmanager
def run_lines(daemon, code, seconds):
    sock, file = stream(daemon, "/run", {"code": code, "timeout": seconds})
    with sock, file:
        yield ((m.get("text", ""), when) for m, when in messages(file))


CARRIERS = {"unix": unix_lines, "mcp": mcp_lines, "run": run_lines}


@pytest.fixture(params=CARRIERS)
def lines_of(request):
    return CARRIERS[request.param]


def delays(texts):
    """Of each printed time, how long it was on its way."""
    for text, when in texts:
        for line in text.splitlines():
            yield when - float(line)


def test_lines_arrive_in_time(daemon, lines_of, request):
    with lines_of(daemon, CLOCK, SECONDS + 90) as texts:
        if SECONDS:
            late = list(delays(texts))
            print("\n%s: %d lines, latest after %.1f ms, median %.1f ms" %
                (request.node.callspec.id, len(late), max(late) * 1e3,
                sorted(late)[len(late) // 2] * 1e3))
            assert len(late) == SECONDS and max(late) < BOUND
            return
        row = 0
        for late in delays(texts):
            row = row + 1 if late < BOUND else 0
            if row == IN_A_ROW:
                return
        pytest.fail("never %d lines in a row within %g s" % (IN_A_ROW,
            BOUND))


def test_whoever_does_not_ask_gets_blocks(client):
    """Nothing changes for a program that nobody listens to."""
    code = "import sys\nprint(sys.stdout.line_buffering)"
    assert client.run(code).stdout == "False\n"
    ident = client.start(code, {"progressToken": 1})
    assert client.finish(ident).stdout == "True\n"


# --- clients that stop reading ------------------------------------------------

# Bytes that JSON writes as six each, on both streams.  It says that it is
# there, for those who look from outside.
def flood(name, size):
    return harness.mark(name) + ("import os\nb = b'\\1' * 65536\n"
        "for i in range(%d):\n    os.write(1, b)\n    os.write(2, b)\n"
        % (size // 131072))


GIGABYTE = 1 << 30
SMALL = 4096			# receive buffer, so that little is under way


@contextlib.contextmanager
def unix_stopped(daemon, code, seconds):
    """A client of the Unix socket, with a call, that reads nothing."""
    with daemon.connect("unix") as client:
        ident = client.start(code, META, timeout=seconds)
        yield lambda: client.finish(ident).receipt


@contextlib.contextmanager
def mcp_stopped(daemon, code, seconds):
    message, headers = modern(run(code, meta=META, timeout=seconds))
    sock, file = stream(daemon, "/mcp", message, headers, SMALL)
    with sock, file:
        yield lambda: next(m["result"]["_meta"]["adder/receipt"]
            for m, _ in messages(file) if "result" in m)


@contextlib.contextmanager
def run_stopped(daemon, code, seconds):
    sock, file = stream(daemon, "/run", {"code": code, "timeout": seconds},
        (), SMALL)
    with sock, file:
        yield lambda: next(m["receipt"] for m, _ in messages(file)
            if "receipt" in m)


STOPPED = {"unix": unix_stopped, "mcp": mcp_stopped, "run": run_stopped}


@pytest.fixture(params=STOPPED)
def stopped(request):
    return STOPPED[request.param]


def rss(daemon):
    return harness.proc_status_kib(daemon.pid, "VmRSS")


@pytest.fixture
def small():
    """A daemon of its own, whose memory nobody else has stretched."""
    with harness.Daemon(OPTIONS) as own:
        with own.connect() as client:
            client.run(flood("warm", 1 << 20))
        yield own


@pytest.mark.skipif(harness.sanitized(), reason="keeps what is freed")
def test_a_flood_that_nobody_reads_costs_no_memory(small, stopped):
    """All of a gigabyte, unless the client holds it back before."""
    before, most = rss(small), []
    with small.connect() as other, stopped(small, flood("flood", GIGABYTE),
            5) as receipt:
        harness.eventually(lambda: small.marked("flood"), "it runs")

        def has_ended():
            """Looked at now and then: to look takes CPU, too."""
            assert other.run("print(1)").stdout == "1\n"
            most.append(rss(small))
            return not small.marked("flood")
        harness.eventually(has_ended, "it ends")
        ended = receipt()
    assert max(most + [rss(small)]) < before + 8 * 1024
    assert ended["verdict"] in ("ok", "timeout")
    if ended["verdict"] == "ok":
        assert ended["stdout_bytes"] + ended["stderr_bytes"] == GIGABYTE


# What MCP clients are sent is limited in its rate, so it takes a while until
# too much of it waits: a program that takes its time, too.
SLOW_FLOOD = ("import os, time\nb = b'\\1' * 65536\nfor i in range(%d):\n"
    "    os.write(1, b)\n    os.write(2, b)\n    time.sleep(0.002)\n")
TURNS = {"unix": 1000, "mcp": 1000, "run": 50}


@pytest.fixture(scope="module")
def wide():
    """A daemon that sends much of what programs print."""
    with harness.Daemon(dict(OPTIONS, **{"limits.output": "64m",
            "result.keep": "0"})) as own:
        yield own


def switches(proc):
    """How often a process was given a CPU or let it go."""
    with open("/proc/%d/status" % proc.pid) as file:
        return [line for line in file if "ctxt_switches" in line]


def test_a_flood_that_nobody_reads_stands_still(wide, stopped, request):
    """Backpressure reaches the program; once its client reads again it goes
    on to its end."""
    kind = request.node.callspec.id
    code = harness.mark("still-" + kind) + SLOW_FLOOD % TURNS[kind]
    with wide.connect() as other, stopped(wide, code, 200) as receipt:
        program, = harness.eventually(lambda: wide.marked("still-" + kind),
            "it runs")

        def stands():
            before = switches(program)
            for _ in range(50):
                assert other.run("print(1)").stdout == "1\n"
            return switches(program) == before
        harness.eventually(stands, "the program stands still")
        ended = receipt()
    assert ended["verdict"] == "ok"
    assert ended["stdout_bytes"] == TURNS[kind] * 65536
