"""Each rule of the protocol on each carrier: what one message is answered, in
both eras, over pipes, sockets, HTTP as JSON and as events, and the old pair."""

import contextlib
import json
import re
import signal

import pytest

import harness
from test_http import META, MODERN, Http, Reply

OPTIONS = dict(harness.LIGHT, **{"listen.http": "127.0.0.1:0",
    "http.legacy_sse": "on", "message.max": "64k", "result.keep": "1m",
    "result.max_text": "1k"})
CARRIERS = ["stdio", "unix", "tcp", "http", "events", "pair"]
NOTHING = None
HANG = "import time\nprint('begun', flush=True)\ntime.sleep(3600)\n"


def id_of(raw):
    """The id of what will be answered, maybe later than what comes next."""
    with contextlib.suppress(ValueError, AttributeError):
        message = json.loads(raw)
        if isinstance(message.get("method"), str) and type(message.get(
                "id")) in (int, str):
            return message["id"]
    return None


class Lines:
    """A connection whose messages are lines."""

    status = None

    def __init__(self, daemon, name):
        self.client = daemon.connect(name, version=None)
        self.keep = name == "stdio"

    def ask(self, raw):
        """The answer to these bytes, or NOTHING."""
        self.client.inbox.clear()
        self.client.send_bytes(raw + b"\n")
        ident = id_of(raw)
        answers = [] if ident is None else [self.client.answer(ident)]
        self.client.answer(self.client.request("ping", id="marker"))
        answers += [m for m in self.client.inbox if "method" not in m]
        assert len(answers) < 2, answers
        return answers[0] if answers else NOTHING

    def begin(self, raw):
        self.client.inbox.clear()
        self.client.send_bytes(raw + b"\n")

    def end(self, ident):
        return self.client.answer(ident)

    def close(self):
        if not self.keep:
            self.client.close()


class Posts:
    """HTTP, where each message is posted by itself."""

    accept = "application/json"

    def __init__(self, daemon, name):
        self.daemon = daemon
        self.web = Http(daemon)
        self.status = None
        self.waiting = []

    def headers(self, raw):
        headers = {"Accept": self.accept}
        with contextlib.suppress(ValueError, AttributeError, TypeError):
            message = json.loads(raw)
            params = message.get("params") or {}
            version = (params.get("_meta") or {}).get(META +
                "protocolVersion")
            if version is not None:
                headers["MCP-Protocol-Version"] = str(version)
                headers["Mcp-Method"] = str(message.get("method"))
                name = params.get("name") or params.get("uri")
                if name:
                    headers["Mcp-Name"] = str(name)
        return headers

    def read(self, web):
        reply = Reply(web.connection.getresponse())
        if "Mcp-Session-Id" in reply.headers:
            self.web.session = reply.headers["Mcp-Session-Id"]
        if reply.body == b"":
            return reply.status, NOTHING
        if reply.headers["Content-Type"] == "application/json":
            return reply.status, reply.json
        answers = [m for m in reply.events if "method" not in m]
        assert len(answers) < 2, answers
        return reply.status, answers[0] if answers else NOTHING

    def ask(self, raw):
        self.web.send("POST", body=raw, headers=self.headers(raw))
        self.status, answer = self.read(self.web)
        return answer

    def begin(self, raw):
        web = Http(self.daemon)
        web.session = self.web.session
        web.send("POST", body=raw, headers=self.headers(raw))
        self.waiting.append(web)

    def end(self, ident):
        return self.read(self.waiting[-1])[1]

    def close(self):
        for web in self.waiting + [self.web]:
            web.close()


class Events(Posts):
    accept = "text/event-stream"


class Pair:
    """GET /sse and POST /messages."""

    status = None

    def __init__(self, daemon, name):
        self.down = Http(daemon)
        self.down.send("GET", "/sse", headers={"Accept":
            "text/event-stream"})
        self.stream = self.down.connection.getresponse()
        self.up = Http(daemon)
        self.path = self.event()
        self.seen = []

    def event(self):
        while True:
            line = self.stream.readline().decode("ascii")
            assert line, "the stream is at its end"
            if line.startswith("data: "):
                return line[6:].rstrip("\n")

    def post(self, raw):
        reply = self.up.ask("POST", self.path, raw)
        assert reply.status == 202 or raw is None, reply.body
        return reply.status

    def until(self, ident):
        while True:
            message = json.loads(self.event())
            if "method" in message:
                continue
            if message.get("id") == ident:
                return message
            self.seen.append(message)

    def ask(self, raw):
        self.seen.clear()
        self.post(raw)
        ident = id_of(raw)
        if ident is not None:
            self.seen = [self.until(ident)]
        self.post(b'{"jsonrpc":"2.0","id":"marker","method":"ping"}')
        self.until("marker")
        assert len(self.seen) < 2, self.seen
        return self.seen[0] if self.seen else NOTHING

    def begin(self, raw):
        self.post(raw)

    def end(self, ident):
        return self.until(ident)

    def close(self):
        self.down.close()
        self.up.close()


KINDS = {"http": Posts, "events": Events, "pair": Pair}


def connect(daemon, name):
    return KINDS.get(name, Lines)(daemon, name)


def text(method, params=None, ident=1):
    message = {"jsonrpc": "2.0", "id": ident, "method": method}
    if params is not None:
        message["params"] = params
    return json.dumps(message).encode()


def claim(method, params=None, ident=1, version=MODERN, drop=None):
    meta = {META + "protocolVersion": version, META + "clientCapabilities":
        {}}
    if drop:
        del meta[META + drop]
    return text(method, dict(params or {}, _meta=meta), ident)


def handshake(peer, version="2025-11-25"):
    answer = peer.ask(text("initialize", {"protocolVersion": version,
        "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
        "init"))
    assert peer.ask(b'{"jsonrpc":"2.0","method":'
        b'"notifications/initialized"}') is NOTHING
    return answer["result"]["protocolVersion"]


@pytest.fixture(params=CARRIERS)
def fresh(request, daemon):
    peer = connect(daemon, request.param)
    yield peer
    peer.close()


@pytest.fixture
def peer(fresh):
    """After a handshake."""
    handshake(fresh)
    return fresh


def expect(peer, raw, code, ident, status):
    answer = peer.ask(raw)
    assert answer is not NOTHING, raw
    if code is None:
        assert "result" in answer, answer
    else:
        assert answer["error"]["code"] == code, answer
        assert answer["error"]["message"].endswith(".")
    # Echoed with its type, and no member where there is none.
    assert ("id" in answer) == (ident is not None), answer
    assert answer.get("id") == ident and type(answer.get("id")) is \
        type(ident), answer
    if peer.status is not None:
        assert peer.status == status, (peer.status, answer)
    return answer


# --- one message, before 2026-07-28 -----------------------------------------

CALL = {"name": "run_python", "arguments": {"code": "print(1)"}}
LEGACY = [
    # bytes, code (None: a result), the id of the answer, status over HTTP
    (b'{"jsonrpc":"2.0","meth', -32700, None, 400),
    # So that its client does not wait for ever.
    (b'{"jsonrpc":"2.0","id":1,"meth', -32700, 1, 400),
    (b"hello", -32700, None, 400),
    (b'\xff\xfe', -32700, None, 400),
    (b"{}", -32600, None, 400),
    (b'"text"', -32600, None, 400),
    (b"7", -32600, None, 400),
    (b"null", -32600, None, 400),
    (b'{"id":2,"method":"ping"}', -32600, 2, 400),
    (b'{"jsonrpc":"1.0","id":3,"method":"ping"}', -32600, 3, 400),
    (b'{"jsonrpc":2.0,"id":4,"method":"ping"}', -32600, 4, 400),
    (b'{"jsonrpc":"2.0","id":5,"method":17}', -32600, 5, 400),
    (b'{"jsonrpc":"2.0","id":"six"}', -32600, "six", 400),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600, None, 400),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600, None, 400),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600, None, 400),
    (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600, None, 400),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600, None, 400),
    (text("ping", [1], 7), -32600, 7, 400),
    (text("ping", "x", 8), -32600, 8, 400),
    (b'{"jsonrpc":"2.0","id":9,"method":"ping","params":null}', None, 9,
        200),
    (b"[]", -32600, None, 400),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None, 400),
    (text("ping", ident=1), None, 1, 200),
    (text("ping", ident="1"), None, "1", 200),
    (text("ping", ident=0), None, 0, 200),
    (text("ping", ident=-5), None, -5, 200),
    (text("ping", ident=""), None, "", 200),
    (text("ping", ident="\u2028"), None, "\u2028", 200),
    (text("no/such"), -32601, 1, 200),
    (text(""), -32601, 1, 200),
    (text("server/discover"), -32601, 1, 200),
    (text("subscriptions/listen", {"notifications": {}}), -32601, 1, 200),
    (text("tasks/list"), -32601, 1, 200),
    (text("tools/list"), None, 1, 200),
    (text("tools/list", {"cursor": None}), None, 1, 200),
    (text("tools/list", {"cursor": "x"}), -32602, 1, 200),
    (text("resources/list", {"cursor": "x"}), -32602, 1, 200),
    (text("resources/templates/list", {"cursor": 7}), -32602, 1, 200),
    (text("prompts/list", {"cursor": "x"}), -32602, 1, 200),
    (text("resources/list"), None, 1, 200),
    (text("resources/templates/list"), None, 1, 200),
    (text("prompts/list"), None, 1, 200),
    (text("prompts/get", {"name": "x"}), -32602, 1, 200),
    (text("prompts/get"), -32602, 1, 200),
    (text("resources/read", {"uri": "adder://run/x/y"}), -32002, 1, 200),
    (text("resources/read", {"uri": "file:///etc/passwd"}), -32002, 1, 200),
    (text("resources/read"), -32602, 1, 200),
    (text("resources/subscribe", {"uri": "x:y"}), -32002, 1, 200),
    (text("resources/unsubscribe", {"uri": "x:y"}), None, 1, 200),
    (text("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"},
        "argument": {"name": "a", "value": ""}}), None, 1, 200),
    (text("completion/complete", {"ref": "x"}), -32602, 1, 200),
    (text("logging/setLevel", {"level": "emergency"}), None, 1, 200),
    (text("logging/setLevel", {"level": "loud"}), -32602, 1, 200),
    (text("logging/setLevel"), -32602, 1, 200),
    (text("tools/call"), -32602, 1, 200),
    (text("tools/call", {"name": "nope"}), -32602, 1, 200),
    (text("tools/call", {"name": 7}), -32602, 1, 200),
    (text("tools/call", {"name": "run_python", "arguments": []}), -32602, 1,
        200),
    (text("tools/call", {"name": "run_python", "arguments": "x"}), -32602, 1,
        200),
    (text("tools/call", CALL), None, 1, 200),
    (text("tools/call", dict(CALL, task={"ttl": 1})), None, 1, 200),
    (text("tools/call", dict(CALL, _meta={"x/y": 1})), None, 1, 200),
    (text("tools/call", dict(CALL, inputResponses={}, requestState="s")),
        None, 1, 200),
    (text("tools/call", {"name": "run_python", "arguments": None}), None, 1,
        200),
    (text("tools/call", {"name": "list_packages", "arguments": None}), None,
        1, 200),
    (text("initialize", {}), -32602, 1, (200, 400)),
    (text("initialize", {"protocolVersion": 7}), -32602, 1, (200, 400)),
]


@pytest.mark.parametrize("raw, code, ident, status", LEGACY,
    ids=lambda v: v.decode("latin-1")[:60] if isinstance(v, bytes) else None)
def test_legacy(peer, raw, code, ident, status):
    if isinstance(status, tuple):
        status = peer.status = None
    answer = peer.ask(raw) if status is None else expect(peer, raw, code,
        ident, status)
    assert status is not None or answer["error"]["code"] == code
    # It lives on.
    assert peer.ask(text("ping", ident="after"))["result"] == {}


# Nothing is said about these, whatever is wrong with them.
UNANSWERED = [
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
    b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}',
    b'{"jsonrpc":"2.0","method":"notifications/no/such","params":{"a":1}}',
    b'{"jsonrpc":"2.0","method":"tools/list"}',
    b'{"jsonrpc":"2.0","method":"no/such"}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled",'
    b'"params":{"requestId":"gone"}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled",'
    b'"params":{"requestId":{"a":1}}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled",'
    b'"params":{"requestId":"init"}}',
    b'{"jsonrpc":"2.0","method":"notifications/progress",'
    b'"params":{"progressToken":1,"progress":1}}',
    b'{"jsonrpc":"2.0","id":1,"result":{}}',
    b'{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"x"}}',
]


@pytest.mark.parametrize("raw", UNANSWERED,
    ids=lambda v: v.decode("latin-1")[16:70])
def test_never_answered(peer, raw):
    assert peer.ask(raw) is NOTHING
    assert peer.status in (None, 202)
    assert peer.ask(text("ping", ident="after"))["result"] == {}


def test_not_found_names_the_uri(peer):
    uri = "adder://run/nobody/x"
    error = peer.ask(text("resources/read", {"uri": uri}))["error"]
    assert error["data"] == {"uri": uri}


@pytest.mark.parametrize("asked, chosen", [
    ("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"),
    ("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"),
    ("2024-10-07", "2025-11-25"), ("2026-07-28", "2025-11-25"),
    ("2099-01-01", "2025-11-25"), ("garbage", "2025-11-25"),
    ("", "2025-11-25")])
def test_negotiation(fresh, asked, chosen):
    assert handshake(fresh, asked) == chosen


def test_second_handshake(peer):
    """A session over HTTP has one; a connection may begin anew."""
    answer = peer.ask(text("initialize", {"protocolVersion": "2025-06-18",
        "capabilities": {}}))
    if isinstance(peer, Posts):
        assert (peer.status, answer["error"]["code"]) == (400, -32600)
    else:
        assert answer["result"]["protocolVersion"] == "2025-06-18"
    assert peer.ask(text("ping"))["result"] == {}


def test_batches_of_their_version(fresh):
    if isinstance(fresh, (Pair, Events)):
        pytest.skip("2025-03-26 has other carriers")
    handshake(fresh, "2025-03-26")
    answer = fresh.ask(b"[]")
    assert answer["error"]["code"] == -32600
    # The reader of this file takes single answers; an array is one line.
    raw = b"[%s,%s]" % (text("ping", ident="a"), text("ping", ident="b"))
    if isinstance(fresh, Posts):
        assert {m["id"] for m in fresh.ask(raw)} == {"a", "b"}
    else:
        fresh.client.send_bytes(raw + b"\n")
        batch = fresh.client.take(lambda m: isinstance(m, list), "a batch")
        assert {m["id"] for m in batch} == {"a", "b"}


def test_results_have_no_nulls(peer):
    def walk(value, where):
        assert value is not None, where
        for key, part in (value.items() if isinstance(value, dict) else
                enumerate(value) if isinstance(value, list) else ()):
            walk(part, where + (key,))
    for raw in (text("tools/list"), text("resources/list"),
            text("resources/templates/list"), text("prompts/list"),
            text("tools/call", CALL), text("initialize", {"protocolVersion":
            "2025-11-25"})):
        answer = peer.ask(raw)
        walk(answer, ())
        assert "nextCursor" not in answer.get("result", {})


def test_too_long(peer):
    raw = text("ping", {"x": "y" * 70000})
    if isinstance(peer, Lines):
        first = json.loads(raw)
        # Some clients write the id first, others last, and some none.
        last = {key: first[key] for key in first if key != "id"}
        for message in (first, {**last, "id": first["id"]}, last):
            peer.client.send(message)
            answer = peer.client.receive()
            assert answer.get("id") == message.get("id")
            assert answer["error"]["code"] == -32600
            assert "message.max" in answer["error"]["message"]
            assert " 65536 " in answer["error"]["message"]
            assert re.search(r"has 70\d\d\d bytes",
                answer["error"]["message"])
        assert peer.ask(text("ping"))["result"] == {}
        return
    path = peer.path if isinstance(peer, Pair) else "/mcp"
    web = peer.up if isinstance(peer, Pair) else peer.web
    web.send("POST", path, raw)
    assert web.connection.getresponse().status == 413


# --- calls ------------------------------------------------------------------

def start(daemon, peer, name, ident, make=text):
    peer.begin(make("tools/call", {"name": "run_python", "arguments": {
        "code": harness.mark(name) + HANG, "timeout": 60}}, ident))
    harness.eventually(lambda: daemon.marked(name), "%s runs" % name)


def gone(daemon, name):
    harness.eventually(lambda: not daemon.marked(name), "%s ended" % name)


def cancel(peer, ident):
    assert peer.ask(json.dumps({"jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": ident}}).encode()) is NOTHING


@pytest.mark.parametrize("ident", ["c", 77])
def test_cancel(daemon, peer, ident):
    start(daemon, peer, "matrix-cancel", ident)
    assert peer.ask(text("ping", ident="meanwhile"))["result"] == {}
    other = str(ident) if isinstance(ident, int) else ident + "x"
    cancel(peer, other)
    assert daemon.marked("matrix-cancel")
    # Whoever has the id in use cannot use it again.
    answer = peer.ask(text("tools/call", CALL, ident))
    assert answer["error"]["code"] == -32600
    cancel(peer, ident)
    gone(daemon, "matrix-cancel")
    if isinstance(peer, Posts):
        assert peer.end(ident) is NOTHING
    # The id is free.
    assert "result" in peer.ask(text("tools/call", CALL, ident))


def test_modern_cancel(daemon, fresh):
    """By a notification, but over HTTP by leaving."""
    start(daemon, fresh, "matrix-modern", "m", claim)
    if isinstance(fresh, Posts):
        fresh.waiting[-1].close()
    else:
        cancel(fresh, "m")
    gone(daemon, "matrix-modern")
    assert "result" in fresh.ask(claim("tools/call", CALL, "m"))


def test_gone_client(daemon, fresh):
    """Its calls end with its connection; over HTTP, where there is a
    session, they do not."""
    handshake(fresh)
    if isinstance(fresh, Lines) and fresh.keep:
        pytest.skip("the end of the pipes is the end of adderd")
    start(daemon, fresh, "matrix-gone", "g")
    fresh.close()
    if isinstance(fresh, Posts):
        with Http(daemon) as web:
            web.session = fresh.web.session
            assert web.ask("POST", body=text("ping")).status == 200
            assert daemon.marked("matrix-gone")
            assert web.ask("DELETE").status == 200
    gone(daemon, "matrix-gone")


@pytest.mark.parametrize("name", CARRIERS)
def test_end_of_the_server_is_an_answer(name):
    """-32603 for a call that the end of adderd cut short."""
    with harness.Daemon(OPTIONS, tcp=True, stdio=True) as daemon:
        peer = connect(daemon, name)
        handshake(peer)
        start(daemon, peer, "matrix-stop", "s")
        daemon.send_signal(signal.SIGTERM)
        assert peer.end("s")["error"]["code"] == -32603
        peer.close()
        assert daemon.wait_exit() == 0


@pytest.mark.parametrize("token", ["t", "", 0, 7])
def test_progress_token_is_echoed(fresh, token):
    if type(fresh) is Posts:
        pytest.skip("one document has no place for notifications")
    handshake(fresh)
    code = "import time\nfor i in range(3):\n    print(i, flush=True)\n" \
        "    time.sleep(0.3)\n"
    seen = notifications(fresh, text("tools/call", {"name": "run_python",
        "arguments": {"code": code}, "_meta": {"progressToken": token}},
        "p"), "p")
    params = [m["params"] for m in seen
        if m["method"] == "notifications/progress"]
    assert len(params) >= 2
    assert all(p["progressToken"] == token and type(p["progressToken"]) is
        type(token) for p in params)
    values = [p["progress"] for p in params]
    assert values == sorted(set(values))


def notifications(peer, raw, ident):
    """What comes before the answer."""
    if isinstance(peer, Lines):
        peer.begin(raw)
        peer.client.answer(ident)
        return [m for m in peer.client.inbox if "method" in m]
    if isinstance(peer, Pair):
        peer.post(raw)
        seen = []
        while (message := json.loads(peer.event())).get("id") != ident:
            seen.append(message)
        return seen
    peer.web.send("POST", body=raw, headers=peer.headers(raw))
    return [m for m in Reply(peer.web.connection.getresponse()).events
        if "method" in m]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_log_levels(fresh, era):
    if type(fresh) is Posts:
        pytest.skip("one document has no place for notifications")
    handshake(fresh)

    def logged(level, ident):
        params = dict(CALL)
        if era == "legacy":
            if level:
                fresh.ask(text("logging/setLevel", {"level": level}))
            raw = text("tools/call", params, ident)
        else:
            raw = claim("tools/call", params, ident)
            if level:
                message = json.loads(raw)
                message["params"]["_meta"][META + "logLevel"] = level
                raw = json.dumps(message).encode()
        return [m["params"]["level"] for m in notifications(fresh, raw,
            ident) if m["method"] == "notifications/message"]

    # Who sets no level hears nothing.
    assert logged(None, "l1") == []
    assert "info" in logged("info", "l2")
    assert logged("error", "l3") == []
    assert "info" in logged("debug", "l4")
    # In the modern era it holds for one request.
    assert bool(logged(None, "l5")) == (era == "legacy")


# --- one message, from 2026-07-28 on ----------------------------------------

MODERN_ROWS = [
    (claim("server/discover"), None, 1, 200),
    (claim("tools/list"), None, 1, 200),
    (claim("resources/list"), None, 1, 200),
    (claim("resources/templates/list"), None, 1, 200),
    (claim("prompts/list"), None, 1, 200),
    (claim("tools/call", CALL), None, 1, 200),
    (claim("tools/call", dict(CALL, inputResponses={"x": {}},
        requestState="hostile")), None, 1, 200),
    (claim("completion/complete", {"ref": {"type": "ref/prompt", "name":
        "x"}, "argument": {"name": "a", "value": ""}}), None, 1, 200),
    (claim("tools/call", {"name": "nope"}), -32602, 1, 200),
    (claim("tools/call", {"name": "run_python", "arguments": [1]}), -32602,
        1, 200),
    (claim("tools/list", {"cursor": "x"}), -32602, 1, 200),
    (claim("prompts/get", {"name": "x"}), -32602, 1, 200),
    (claim("resources/read", {"uri": "adder://run/x/y"}), -32602, 1, 200),
    (claim("tools/list", drop="clientCapabilities"), -32602, 1, 400),
    (claim("tools/list", version="2099-01-01"), -32022, 1, 400),
    (claim("tools/list", version="2025-11-25"), -32022, 1, 400),
    (claim("tools/list", version="v9"), -32022, 1, 400),
    (claim("initialize", {"protocolVersion": "2025-11-25"}), -32601, 1, 404),
    (claim("ping"), -32601, 1, 404),
    (claim("logging/setLevel", {"level": "info"}), -32601, 1, 404),
    (claim("resources/subscribe", {"uri": "x:y"}), -32601, 1, 404),
    (claim("resources/unsubscribe", {"uri": "x:y"}), -32601, 1, 404),
    (claim("tasks/list"), -32601, 1, 404),
    (claim("no/such"), -32601, 1, 404),
    (claim("subscriptions/listen", {"notifications": 7}), -32602, 1, 200),
    (b"[" + claim("tools/list") + b"]", -32600, None, 400),
]
CACHED = ["server/discover", "tools/list", "resources/list",
    "resources/templates/list", "prompts/list"]


@pytest.mark.parametrize("raw, code, ident, status", MODERN_ROWS,
    ids=lambda v: v.decode("latin-1")[26:66] if isinstance(v, bytes) else
    None)
def test_modern(fresh, raw, code, ident, status):
    """Without a handshake before, and none is needed after."""
    answer = expect(fresh, raw, code, ident, status)
    if code == -32022:
        assert answer["error"]["data"]["supported"][0] == MODERN
        assert answer["error"]["data"]["requested"] == json.loads(raw)[
            "params"]["_meta"][META + "protocolVersion"]
    if code is None:
        result = answer["result"]
        assert result["resultType"] == "complete"
        assert result["_meta"][META + "serverInfo"]["name"] == "adder"
        assert ("ttlMs" in result) == (json.loads(raw)["method"] in CACHED)
        if "ttlMs" in result:
            assert result["ttlMs"] >= 0
            assert result["cacheScope"] == "private"
    assert "result" in fresh.ask(claim("server/discover", ident="after"))


def test_read_is_cached_too(fresh):
    """With a resource there is; by whoever knows its name."""
    answer = fresh.ask(claim("tools/call", {"name": "run_python",
        "arguments": {"code": "print('x' * 5000)"}}))
    uri = re.search(r"adder://run/\w+/stdout", json.dumps(answer))[0]
    result = fresh.ask(claim("resources/read", {"uri": uri}))["result"]
    assert result["contents"][0]["text"] == "x" * 5000 + "\n"
    assert result["ttlMs"] >= 0 and result["cacheScope"] == "private"


def test_eras_side_by_side(fresh):
    """A probe first, then a handshake, then both by turns."""
    assert "result" in fresh.ask(claim("server/discover"))
    handshake(fresh)
    for _ in range(2):
        assert "resultType" not in fresh.ask(text("tools/list"))["result"]
        assert fresh.ask(claim("tools/list"))["result"]["resultType"]


def test_missing_capability():
    """-32021 on each carrier: only a fixture needs one."""
    with harness.Daemon(OPTIONS, tcp=True, stdio=True,
            arguments=["--conformance-fixtures"]) as daemon:
        for name in CARRIERS:
            peer = connect(daemon, name)
            answer = expect(peer, claim("tools/call",
                {"name": "test_missing_capability"}), -32021, 1, 400)
            assert answer["error"]["data"] == {"requiredCapabilities":
                {"sampling": {}}}
            peer.close()


def test_questions_to_a_client():
    """Where a fixture asks its client, the answer comes back to the call; a
    client that did not say that it can be asked is not."""
    with harness.Daemon(OPTIONS, tcp=True, stdio=True,
            arguments=["--conformance-fixtures"]) as daemon:
        for name in ("stdio", "unix", "tcp"):
            client = daemon.connect(name, version=None)
            call = {"name": "test_sampling", "arguments": {"prompt": "p"}}
            client.initialize()
            assert client.rpc("tools/call", call)["result"]["isError"]
            client.rpc("initialize", {"protocolVersion": "2025-11-25",
                "capabilities": {"sampling": {}}})
            ident = client.request("tools/call", call)
            asked = client.notification("sampling/createMessage")
            for wrong in ("x", 10 ** 9, -1, None):
                client.send({"jsonrpc": "2.0", "id": wrong, "result": {}})
            client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {
                "role": "assistant", "model": "m", "content": {"type":
                "text", "text": "Paris"}}})
            # Once is enough.
            client.send({"jsonrpc": "2.0", "id": asked["id"], "result": {}})
            result = client.answer(ident)["result"]
            assert "Paris" in result["content"][0]["text"]
            client.ping()
