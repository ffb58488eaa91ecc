"""MCP over HTTP: statuses, both eras, who may ask, slow and rude clients."""

import contextlib
import http.client
import json
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time

import pytest

import harness

OPTIONS = dict(harness.LIGHT, **{"listen.http": "127.0.0.1:0"})
BOTH = "application/json, text/event-stream"
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
HANG = "import time\nprint('begun', flush=True)\ntime.sleep(3600)\n"
ANNA, BERT = "anna-0123456789abcdef", "bert-0123456789abcdef"


class Reply:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self):
        assert self.headers["Content-Type"] == "application/json"
        return json.loads(self.body)

    @property
    def events(self):
        """The messages of an event stream."""
        assert self.headers["Content-Type"] == "text/event-stream"
        blocks = self.body.decode("ascii").split("\n\n")
        return [json.loads(line[6:]) for block in blocks
            for line in block.split("\n")
            if line.startswith("data: ") and line != "data: "]


class Http:
    """One keep-alive connection, and the session of its client if any."""

    def __init__(self, daemon, token=None):
        hit = daemon.wait_log(r"listening on http ([0-9.]+):([0-9]+)")
        self.address = (hit[1], int(hit[2]))
        self.connection = http.client.HTTPConnection(*self.address,
            timeout=harness.WAIT)
        self.token = token
        self.session = None
        self.version = None

    def send(self, method, path="/mcp", body=None, headers=None):
        """Send a request; a header that is None is left out."""
        merged = {"Content-Type": "application/json", "Accept": BOTH}
        if self.token:
            merged["Authorization"] = "Bearer " + self.token
        if self.session:
            merged["Mcp-Session-Id"] = self.session
        if self.version:
            merged["MCP-Protocol-Version"] = self.version
        merged.update(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        self.connection.request(method, path, body,
            {k: v for k, v in merged.items() if v is not None})

    def ask(self, *args, **kwargs):
        self.send(*args, **kwargs)
        return Reply(self.connection.getresponse())

    def post(self, message, **headers):
        """POST to /mcp; Mcp_Method=x is the header Mcp-Method."""
        return self.ask("POST", body=message,
            headers={k.replace("_", "-"): v for k, v in headers.items()})

    def initialize(self, version="2025-11-25"):
        reply = self.post(request("initialize", {"protocolVersion": version,
            "capabilities": {}, "clientInfo": {"name": "t",
            "version": "1"}}))
        assert reply.status == 200
        self.session = reply.headers["Mcp-Session-Id"]
        self.version = reply.json["result"]["protocolVersion"]
        assert self.post(note("notifications/initialized")).status == 202
        return reply

    def close(self):
        self.connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


def request(method, params=None, ident=1):
    message = {"jsonrpc": "2.0", "id": ident, "method": method}
    if params is not None:
        message["params"] = params
    return message


def note(method, params=None):
    message = request(method, params)
    del message["id"]
    return message


def run(code, ident=1, meta=None, **arguments):
    params = {"name": "run_python", "arguments": dict(arguments, code=code)}
    if meta:
        params["_meta"] = meta
    return request("tools/call", params, ident)


def modern(message, version=MODERN, drop=()):
    """A message with its envelope, and the headers that belong to it."""
    meta = {META + "protocolVersion": version,
        META + "clientCapabilities": {},
        META + "clientInfo": {"name": "t", "version": "1"}}
    for key in drop:
        del meta[META + key]
    params = dict(message.get("params") or {})
    params["_meta"] = dict(params.get("_meta") or {}, **meta)
    headers = {"MCP_Protocol_Version": version,
        "Mcp_Method": message["method"]}
    name = params.get("name") or params.get("uri")
    if name:
        headers["Mcp_Name"] = name
    return dict(message, params=params), headers


@pytest.fixture
def web(daemon):
    with Http(daemon) as web:
        yield web


@pytest.fixture
def session(daemon):
    """A client in a session of the newest version that has sessions."""
    with Http(daemon) as web:
        web.initialize()
        yield web


@contextlib.contextmanager
def tokens(text="anna %s\nbert %s\n" % (ANNA, BERT)):
    with tempfile.TemporaryDirectory() as top:
        pathlib.Path(top).chmod(0o755)
        path = pathlib.Path(top) / "tokens"
        path.write_text(text)
        path.chmod(0o644)
        yield path


# --- the legacy era ---------------------------------------------------------

@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26",
    "2025-06-18", "2025-11-25"])
def test_session(daemon, version):
    with Http(daemon) as web:
        reply = web.initialize(version)
        assert web.version == version
        assert len(web.session) == 32 and int(web.session, 16) > 0
        assert reply.json["result"]["serverInfo"]["name"] == "adder"
        assert web.post(request("ping")).json["result"] == {}
        answer = harness.Answer(web.post(run("print(6 * 7)")).json)
        assert answer.stdout == "42\n" and answer.verdict == "ok"
        assert web.ask("DELETE").status == 200
        assert web.post(request("ping")).status == 404
        assert web.ask("DELETE").status == 404


PING = request("ping")
UNKNOWN_SESSION = {"Mcp-Session-Id": "0" * 32}


@pytest.mark.parametrize("status, code, method, path, body, headers", [
    (200, None, "POST", "/mcp", PING, {}),
    (200, -32601, "POST", "/mcp", request("no/such"), {}),
    (200, -32601, "POST", "/mcp", request("server/discover"), {}),
    (200, -32602, "POST", "/mcp", request("tools/call", {"name": "x"}), {}),
    (200, -32002, "POST", "/mcp", request("resources/read",
        {"uri": "adder://no"}), {}),
    (202, None, "POST", "/mcp", note("notifications/initialized"), {}),
    (202, None, "POST", "/mcp", note("notifications/no/such"), {}),
    (202, None, "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "result": {}},
        {}),
    (400, -32700, "POST", "/mcp", "{nonsense", {}),
    (400, -32700, "POST", "/mcp", "", {}),
    (400, -32700, "POST", "/mcp", b'{"x": "\xff"}', {}),
    (400, -32600, "POST", "/mcp", "7", {}),
    (400, -32600, "POST", "/mcp", {"id": 1, "method": "ping"}, {}),
    (400, -32600, "POST", "/mcp", request("ping", ident=None), {}),
    (400, -32600, "POST", "/mcp", request("ping", ident=1.5), {}),
    (400, -32600, "POST", "/mcp", [PING], {}),
    (400, -32600, "POST", "/mcp", [], {}),
    (400, -32600, "POST", "/mcp", request("initialize",
        {"protocolVersion": "2025-11-25"}), {}),
    (400, -32600, "POST", "/mcp", PING, {"Mcp-Session-Id": None}),
    (400, -32600, "POST", "/mcp", note("notifications/initialized"),
        {"Mcp-Session-Id": None}),
    (404, -32600, "POST", "/mcp", PING, UNKNOWN_SESSION),
    (404, -32600, "POST", "/mcp", PING, {"Mcp-Session-Id": "x"}),
    (200, None, "POST", "/mcp", PING, {"MCP-Protocol-Version": None}),
    (200, None, "POST", "/mcp", PING,
        {"MCP-Protocol-Version": "2025-03-26"}),
    (400, -32600, "POST", "/mcp", PING,
        {"MCP-Protocol-Version": "2025-01-01"}),
    (400, -32600, "POST", "/mcp", PING, {"MCP-Protocol-Version": "1"}),
    (400, -32602, "POST", "/mcp", PING,
        {"MCP-Protocol-Version": "2099-01-01"}),
    (200, None, "POST", "/mcp", PING, {"Accept": None}),
    (200, None, "POST", "/mcp", PING, {"Accept": "*/*"}),
    (200, None, "POST", "/mcp", PING, {"Accept": "application/*;q=0.5"}),
    (406, -32600, "POST", "/mcp", PING, {"Accept": "text/html"}),
    (415, -32600, "POST", "/mcp", PING, {"Content-Type": "text/plain"}),
    (415, -32600, "POST", "/mcp", PING, {"Content-Type": None}),
    (200, None, "POST", "/mcp", PING,
        {"Content-Type": "application/json; charset=utf-8"}),
    (405, -32600, "GET", "/mcp", None, {"Mcp-Session-Id": None}),
    (405, -32600, "GET", "/mcp", None, {"MCP-Protocol-Version": MODERN}),
    (404, -32600, "GET", "/mcp", None, UNKNOWN_SESSION),
    (400, -32600, "GET", "/mcp", None,
        {"MCP-Protocol-Version": "2025-01-01"}),
    (406, -32600, "GET", "/mcp", None, {"Accept": "application/json"}),
    (405, -32600, "GET", "/mcp", None, {"Last-Event-ID": "77-0"}),
    (405, -32600, "GET", "/mcp", None, {"Last-Event-ID": "x"}),
    (405, -32600, "GET", "/mcp", None, {"Last-Event-ID": ""}),
    (405, None, "PUT", "/mcp", "x", {}),
    (405, None, "PATCH", "/mcp", "x", {}),
    (405, None, "OPTIONS", "/mcp", None, {}),
    (405, None, "HEAD", "/mcp", None, {}),
    (404, -32600, "DELETE", "/mcp", None, UNKNOWN_SESSION),
    (400, -32600, "DELETE", "/mcp", None, {"Mcp-Session-Id": None}),
    (404, None, "GET", "/", None, {}),
    (404, None, "POST", "/mcp/", PING, {}),
    (404, None, "GET", "/.well-known/oauth-protected-resource", None, {}),
    (404, None, "GET", "/.well-known/oauth-authorization-server", None, {}),
    (404, None, "POST", "/register", "{}", {}),
    (403, None, "POST", "/mcp", PING, {"Host": "evil.example.com"}),
    (403, None, "POST", "/mcp", PING, {"Host": "localhost.evil.com"}),
    (403, None, "GET", "/", None, {"Host": "evil.example.com"}),
    (200, None, "POST", "/mcp", PING, {"Host": "LocalHost:1"}),
    (200, None, "POST", "/mcp", PING, {"Host": "[::1]:8080"}),
    (403, None, "POST", "/mcp", PING, {"Host": "localhost:x"}),
    (403, None, "POST", "/mcp", PING,
        {"Origin": "http://evil.example.com"}),
    (403, None, "POST", "/mcp", PING, {"Origin": "null"}),
    (403, None, "POST", "/mcp", PING,
        {"Origin": "http://localhost.evil.com"}),
    (200, None, "POST", "/mcp", PING, {"Origin": "http://localhost:3000"}),
    (200, None, "POST", "/mcp", PING, {"Origin": "https://127.0.0.1"}),
])
def test_status(session, status, code, method, path, body, headers):
    reply = session.ask(method, path, body, headers)
    assert reply.status == status, reply.body
    if code is not None:
        assert reply.json["error"]["code"] == code
        assert reply.json.get("id", 0) is not None
    if status == 405:
        assert reply.headers["Allow"] == "GET, POST, DELETE"
    if status == 202:
        assert reply.body == b""
    assert session.post(PING).json["result"] == {}


def test_batch_of_its_version(daemon):
    with Http(daemon) as web:
        web.initialize("2025-03-26")
        reply = web.post([request("ping", ident="a"), note("notifications/x"),
            run("print(1)", "b")])
        assert reply.status == 200
        assert {m["id"] for m in reply.json} == {"a", "b"}
        assert web.post([note("notifications/x")]).status == 202


def test_progress_comes_as_events(session):
    code = ("import time\nfor i in range(4):\n    print(i, flush=True)\n"
        "    time.sleep(0.3)\n")
    reply = session.post(run(code, meta={"progressToken": "p"}))
    assert reply.status == 200
    assert "no-cache" in reply.headers["Cache-Control"]
    *progress, answer = reply.events
    assert harness.Answer(answer).stdout == "0\n1\n2\n3\n"
    seen = [m["params"]["progress"] for m in progress
        if m["method"] == "notifications/progress"]
    assert len(seen) >= 2 and seen == sorted(set(seen))
    # Who takes no events gets the same answer without them.
    reply = session.post(run("print(1)", meta={"progressToken": "p"}),
        Accept="application/json")
    assert harness.Answer(reply.json).stdout == "1\n"


def test_events_only(session):
    reply = session.post(PING, Accept="text/event-stream")
    assert reply.events == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
    reply = session.post(run("print(1)"), Accept="text/event-stream")
    assert harness.Answer(reply.events[-1]).stdout == "1\n"


def test_log_comes_as_events(session):
    assert session.post(request("logging/setLevel",
        {"level": "info"})).json["result"] == {}
    events = session.post(run("print('seen')")).events
    assert [m for m in events if m.get("method") == "notifications/message"]
    assert harness.Answer(events[-1]).stdout == "seen\n"


def start_marked(daemon, web, name, message, headers=None):
    message["params"]["arguments"].update(timeout=60,
        code=harness.mark(name) + HANG)
    web.send("POST", body=message, headers={k.replace("_", "-"): v
        for k, v in (headers or {}).items()})
    harness.eventually(lambda: daemon.marked(name), "job %s runs" % name)


def gone(daemon, name):
    harness.eventually(lambda: not daemon.marked(name), "%s ended" % name, 5)


@pytest.mark.parametrize("meta", [None, {"progressToken": 1}],
    ids=["json", "events"])
def test_cancel(daemon, session, meta):
    start_marked(daemon, session, "http-cancel", run("", "c", meta))
    with Http(daemon) as other:
        other.session, other.version = session.session, session.version
        assert other.post(note("notifications/cancelled",
            {"requestId": "x"})).status == 202
        assert daemon.marked("http-cancel")
        # The id is in use in the whole session.
        assert other.post(request("ping", ident="c")).status == 200
        assert other.post(run("1", "c")).json["error"]["code"] == -32600
        assert other.post(note("notifications/cancelled",
            {"requestId": "c"})).status == 202
    gone(daemon, "http-cancel")
    reply = Reply(session.connection.getresponse())
    if meta is None:
        assert (reply.status, reply.body) == (202, b"")
    else:
        assert all("method" in m for m in reply.events)


def test_legacy_disconnect_is_no_cancel(daemon, session):
    start_marked(daemon, session, "http-left", run("", 9))
    session.connection.close()
    with Http(daemon) as other:
        other.session, other.version = session.session, session.version
        assert other.post(PING).json["result"] == {}
        assert harness.Answer(other.post(run("print(1)")).json)
        assert daemon.marked("http-left")
        assert other.ask("DELETE").status == 200
    gone(daemon, "http-left")


def test_delete_ends_calls(daemon, session):
    start_marked(daemon, session, "http-delete", run("", 9))
    with Http(daemon) as other:
        other.session, other.version = session.session, session.version
        assert other.ask("DELETE").status == 200
    gone(daemon, "http-delete")
    assert Reply(session.connection.getresponse()).status == 202


def test_idle_session_ends(daemon):
    options = dict(OPTIONS, **{"http.session_idle": "1s",
        "http.sessions": "2"})
    with harness.Daemon(options) as own, Http(own) as web:
        web.initialize()
        first = web.session
        for _ in range(2):
            web.session = None
            web.initialize()
        # Two are kept, so the first had to go.
        assert web.post(PING, Mcp_Session_Id=first).status == 404
        assert web.post(PING).status == 200
        # Asking keeps a session, so this asks only once in a while.
        time.sleep(2.5)
        assert web.post(PING).status == 404


# --- the modern era -----------------------------------------------------------

@pytest.mark.parametrize("status, code, message, change, headers", [
    (200, None, request("server/discover"), {}, {}),
    (200, None, request("tools/list"), {}, {}),
    (200, None, request("prompts/list"), {}, {}),
    (200, None, request("resources/list"), {}, {}),
    (200, None, request("resources/templates/list"), {}, {}),
    (200, None, run("print(1)"), {}, {}),
    (200, None, request("tools/list"), {}, UNKNOWN_SESSION),
    (200, -32602, request("resources/read", {"uri": "adder://no"}), {}, {}),
    (200, -32602, request("tools/call", {"name": "x"}), {}, {}),
    (404, -32601, request("no/such"), {}, {}),
    (404, -32601, request("ping"), {}, {}),
    (404, -32601, request("initialize"), {}, {}),
    (404, -32601, request("logging/setLevel", {"level": "info"}), {}, {}),
    (404, -32601, request("resources/subscribe", {"uri": "x:y"}), {}, {}),
    (404, -32601, request("tasks/list"), {}, {}),
    (400, -32602, request("tools/list"), {"drop": ["protocolVersion"]}, {}),
    (400, -32602, request("tools/list"), {"drop": ["clientCapabilities"]},
        {}),
    (200, None, request("tools/list"), {"drop": ["clientInfo"]}, {}),
    (400, -32022, request("tools/list"), {"version": "2099-01-01"}, {}),
    (400, -32022, request("tools/list"), {"version": "2025-11-25"}, {}),
    (400, -32020, request("tools/list"), {},
        {"MCP-Protocol-Version": "2025-11-25"}),
    (400, -32020, request("tools/list"), {},
        {"MCP-Protocol-Version": None}),
    (400, -32020, request("tools/list"), {}, {"Mcp-Method": None}),
    (400, -32020, request("tools/list"), {}, {"Mcp-Method": "tools/call"}),
    (400, -32020, run("print(1)"), {}, {"Mcp-Name": None}),
    (400, -32020, run("print(1)"), {}, {"Mcp-Name": "other"}),
    (200, None, run("print(1)"), {},
        {"Mcp-Name": "=?base64?cnVuX3B5dGhvbg==?="}),
    (200, None, run("print(1)"), {}, {"mcp-name": "  run_python  ",
        "Mcp-Name": None}),
    (200, None, request("tools/list"), {}, {"Accept": "application/json"}),
])
def test_modern_status(web, status, code, message, change, headers):
    message, own = modern(message, **change)
    own = {k.replace("_", "-"): v for k, v in own.items()}
    reply = web.ask("POST", body=message, headers=dict(own, **headers))
    assert reply.status == status, reply.body
    assert "Mcp-Session-Id" not in reply.headers
    if code is not None:
        assert reply.json["error"]["code"] == code
        return
    result = reply.json["result"]
    assert result["resultType"] == "complete"
    assert result["_meta"][META + "serverInfo"]["name"] == "adder"
    if message["method"] != "tools/call":
        assert result["ttlMs"] >= 0 and result["cacheScope"] == "private"


def test_modern_discover(web):
    message, headers = modern(request("server/discover"))
    result = web.post(message, **headers).json["result"]
    assert result["supportedVersions"][0] == MODERN
    assert "2025-11-25" in result["supportedVersions"]
    assert "tools" in result["capabilities"] and result["instructions"]


def test_modern_notification(web):
    assert web.post(note("notifications/x"),
        MCP_Protocol_Version=MODERN).status == 202


def test_modern_disconnect_cancels(daemon, web):
    message, headers = modern(run("", 5))
    start_marked(daemon, web, "http-modern", message, headers)
    # The same id of another client is another request.
    with Http(daemon) as other:
        message, headers = modern(run("print(1)", 5))
        assert harness.Answer(other.post(message, **headers).json)
    assert daemon.marked("http-modern")
    web.close()
    gone(daemon, "http-modern")


def test_modern_disconnect_of_a_stream_cancels(daemon, web):
    message, headers = modern(run("", 5, {"progressToken": 1}))
    start_marked(daemon, web, "http-stream", message, headers)
    response = web.connection.getresponse()
    assert response.status == 200
    response.readline()
    response.close()
    web.close()
    gone(daemon, "http-stream")


def test_modern_log_only_if_asked(web):
    message, headers = modern(run("print('x')"))
    assert web.post(message, **headers).json
    message, headers = modern(run("print('x')",
        meta={META + "logLevel": "info"}))
    events = web.post(message, **headers).events
    assert events[0]["method"] == "notifications/message"


@pytest.mark.parametrize("carrier", ["stdio", "unix", "tcp"])
def test_modern_on_streams(daemon, carrier):
    """Both eras in turn on one connection that had no handshake."""
    client = daemon.connect(carrier, version=None)
    message, _ = modern(run("print(1)", "m"))
    client.send(message)
    assert client.answer("m")["result"]["resultType"] == "complete"
    client.send(modern(request("ping", ident="p"))[0])
    assert client.answer("p")["error"]["code"] == -32601
    client.send(modern(request("tools/list", ident="v"), "2025-11-25")[0])
    assert client.answer("v")["error"]["code"] == -32022
    client.initialize()
    client.send(modern(request("server/discover", ident="d"))[0])
    assert client.answer("d")["result"]["ttlMs"] >= 0
    assert "resultType" not in client.rpc("tools/list")["result"]
    # Nothing comes for what was cancelled.
    client.send(modern(run(HANG, "c", {"progressToken": 1}))[0])
    client.notification("notifications/progress")
    client.cancel("c")
    client.ping()
    client.inbox.clear()
    client.ping()
    assert client.inbox == []
    if carrier != "stdio":
        client.close()


# --- the two paths of 2024-11-05 -------------------------------------------

def test_sse_pair(daemon):
    with Http(daemon) as web:
        assert web.ask("GET", "/sse").status == 404
        assert web.ask("POST", "/messages", PING).status == 404
    with harness.Daemon(dict(OPTIONS, **{"http.legacy_sse": "on"})) as own, \
            Http(own) as stream, Http(own) as web:
        stream.send("GET", "/sse")
        response = stream.connection.getresponse()
        assert response.status == 200

        def event():
            block = {}
            while (line := response.readline().decode().strip()) or not block:
                if line and line[0] != ":":
                    block[line.split(": ", 1)[0]] = line.split(": ", 1)[1]
            return block

        first = event()
        assert first["event"] == "endpoint"
        path = first["data"]
        reply = web.ask("POST", path, request("initialize",
            {"protocolVersion": "2024-11-05"}, 0))
        assert (reply.status, reply.body) == (202, b"")
        answer = json.loads(event()["data"])
        assert answer["result"]["protocolVersion"] == "2024-11-05"
        assert web.ask("POST", path, run("print(6 * 7)", 1)).status == 202
        assert harness.Answer(json.loads(event()["data"])).stdout == "42\n"
        assert web.ask("POST", path + "0", PING).status == 404
        assert web.ask("POST", path, PING,
            {"Content-Type": "text/plain"}).status == 415
        # Who closes the stream is gone, with what runs.
        web.ask("POST", path, run(harness.mark("http-pair") + HANG, 2,
            timeout=60))
        harness.eventually(lambda: own.marked("http-pair"), "it runs")
        response.close()
        stream.close()
        gone(own, "http-pair")
        assert web.ask("POST", path, PING).status == 404


# --- who may ask ----------------------------------------------------------------

def test_tokens():
    with tokens() as path, harness.Daemon(dict(OPTIONS, **{
            "http.token_file": str(path)})) as own:
        for headers, error in [({}, ""), ({"Authorization": "Bearer x"},
                "invalid_token"), ({"Authorization": "Basic " + ANNA},
                "invalid_token"), ({"Authorization": "Bearer " + ANNA + "x"},
                "invalid_token"), ({"Authorization": "Bearer " + ANNA[:-1]},
                "invalid_token"), ({"Authorization": "Bearer "},
                "invalid_token")]:
            for method in ("POST", "GET", "DELETE", "PUT"):
                with Http(own) as web:
                    reply = web.ask(method, body=None if method in
                        ("GET", "DELETE") else PING, headers=headers)
                assert reply.status == 401, (method, headers)
                challenge = reply.headers["WWW-Authenticate"]
                assert challenge.startswith('Bearer realm="adder"')
                assert (error in challenge) and ("error" in challenge) == \
                    bool(error)
        with Http(own) as web:
            assert web.ask("GET", "/.well-known/x").status == 404
            assert web.ask("POST", "/mcp?token=" + ANNA, PING).status == 401
        with Http(own, ANNA) as anna, Http(own, BERT) as bert:
            anna.initialize()
            bert.initialize()
            assert anna.post(PING).status == 200
            assert bert.post(PING, Mcp_Session_Id=anna.session).status == 404
            assert bert.ask("DELETE", headers={
                "Mcp-Session-Id": anna.session}).status == 404
            assert anna.post(PING).status == 200
        assert ANNA not in "\n".join(own.lines)


def test_tokens_are_read_again():
    with tokens("anna %s\n" % ANNA) as path, harness.Daemon(dict(OPTIONS,
            **{"http.token_file": str(path)})) as own:
        with Http(own, BERT) as web:
            assert web.ask("GET").status == 401
        path.write_text("# now\nbert %s\n" % BERT)
        own.send_signal(signal.SIGHUP)
        own.wait_log("reloaded")
        with Http(own, BERT) as web:
            assert web.ask("GET").status == 405
        path.write_text("bert short\n")
        own.send_signal(signal.SIGHUP)
        own.wait_log("tokens stay as they were.*shorter than 16")
        own.wait_log("reloaded", count=2)
        with Http(own, BERT) as web:
            assert web.ask("GET").status == 405


@pytest.mark.parametrize("options, text, words", [
    (["listen.http=0.0.0.0:0"], None, "http.token_file"),
    (["listen.http=[::]:0"], None, "http.token_file"),
    (["listen.http=127.0.0.1:0,192.0.2.1:80"], None, "http.token_file"),
    (["listen.http=0"], "", "holds no token"),
    (["listen.http=0"], "anna\n", ":1: it must be a name"),
    (["listen.http=0"], "# x\nanna a b\n", ":2: it must be a name"),
    (["listen.http=0"], "anna short\n", "shorter than 16"),
    (["listen.http=0", "http.token_file=/nonexistent/x"], None,
        "cannot read"),
    (["listen.http=nonsense:x"], None, "port must be a number"),
])
@pytest.mark.parametrize("check", [["-n"], []], ids=["check", "start"])
def test_refused_at_start(options, text, words, check):
    with contextlib.ExitStack() as stack:
        if text is not None:
            options = options + ["http.token_file=%s" %
                stack.enter_context(tokens(text))]
        argv = [str(harness.build_dir() / "adderd"), "-f", "/dev/null"]
        for option in options:
            argv += ["-o", option]
        result = subprocess.run(argv + check, capture_output=True, text=True,
            timeout=harness.WAIT)
    assert result.returncode == 2, result.stderr
    line, = result.stderr.splitlines()
    assert line.startswith("adderd: ") and words in line


def test_lists_can_be_set():
    options = dict(OPTIONS, **{"http.hosts": "adder.example,10.0.0.1",
        "http.origins": "https://app.example,good.example"})
    with harness.Daemon(options) as own, Http(own) as web:
        for headers, status in [({}, 403), ({"Host": "adder.example"}, 405),
                ({"Host": "10.0.0.1:80"}, 405),
                ({"Host": "x.adder.example"}, 403)]:
            assert web.ask("GET", headers=headers).status == status
        for origin, status in [("https://app.example", 405),
                ("http://app.example", 403), ("http://good.example:1", 405),
                ("http://localhost", 403)]:
            assert web.ask("GET", headers={"Host": "adder.example",
                "Origin": origin}).status == status


# --- rude and slow clients ----------------------------------------------------

def raw(daemon, *pieces):
    """Send bytes and return everything until the server closes."""
    with Http(daemon) as web, socket.create_connection(web.address,
            harness.WAIT) as sock:
        for piece in pieces:
            with contextlib.suppress(ConnectionError):
                sock.sendall(piece)
        data = b""
        with contextlib.suppress(ConnectionError):
            while chunk := sock.recv(65536):
                data += chunk
        return data


HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize("data", [
    HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\n\r\nGET /secret HTTP/1.1\r\nHost: localhost\r\n\r\n",
    HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
    HEAD + b"Content-Length: +2\r\n\r\n{}",
    HEAD + b"Content-Length: -2\r\n\r\n{}",
    HEAD + b"Content-Length: 0x2\r\n\r\n{}",
    HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    HEAD + b"Host: evil\r\nContent-Length: 2\r\n\r\n{}",
    HEAD + b"X: a\rContent-Length: 5\r\nContent-Length: 2\r\n\r\n{}",
    HEAD + b"Content-Length : 2\r\n\r\n{}",
    b"POST /mcp HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}",
    b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 36\r\n\r\n"
        b"GET /secret HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"y" * 40000 +
        b"\r\n\r\n",
    b"G" * 40000,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n",
    b"nonsense\r\n\r\n",
], ids=["both-lengths", "two-lengths", "plus", "minus", "hex", "encodings",
    "two-hosts", "bare-cr", "blank", "no-host", "get-body", "huge-header",
    "huge-line", "tls", "nonsense"])
def test_what_can_be_read_in_two_ways(daemon, data, other):
    """At most one answer, which is a refusal, and the end."""
    reply = raw(daemon, data)
    assert len(re.findall(rb"^HTTP/1", reply, re.MULTILINE)) <= 1
    assert not reply or reply.split()[1] in (b"400", b"403", b"413",
        b"431", b"501"), reply
    other.ping()


def test_requests_in_one_packet(daemon):
    """Pipelined ones are answered in their order."""
    body = json.dumps(modern(run("print('first')", 1))[0]).encode()
    one = (HEAD + b"Content-Type: application/json\r\nAccept: %s\r\n"
        b"MCP-Protocol-Version: %s\r\nMcp-Method: tools/call\r\n"
        b"Mcp-Name: run_python\r\nContent-Length: %d\r\n\r\n" %
        (BOTH.encode(), MODERN.encode(), len(body))) + body
    two = (b"GET /second HTTP/1.1\r\nHost: localhost\r\n"
        b"Connection: close\r\n\r\n")
    reply = raw(daemon, one + two)
    assert reply.index(b"first") < reply.index(b"404 Not Found")
    assert reply.count(b"HTTP/1.1 ") == 2


@pytest.fixture(scope="module")
def small():
    with harness.Daemon(dict(OPTIONS, **{"message.max": "64k"})) as daemon:
        yield daemon


def test_too_large():
    options = dict(OPTIONS, **{"message.max": "64k", "http.timeout": "2s"})
    with harness.Daemon(options) as own:
        with Http(own) as web:
            web.send("POST", body=b'"' + b"x" * 200000 + b'"')
            assert web.connection.getresponse().status == 413
        # evhttp looks for no end of what it skips in chunks, so that ends
        # by the clock; it must not be kept.
        before = harness.proc_status_kib(own.pid, "VmRSS")
        piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        reply = raw(own, HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
            *[piece] * 800)
        assert not reply or reply.split()[1] == b"413"
        assert harness.proc_status_kib(own.pid, "VmRSS") < before + 8192
        with Http(own) as web:
            web.initialize()


@pytest.mark.parametrize("data, status, part", [
    (HEAD + b"Content-Length: 200000\r\n\r\n" + b"x" * 200000, 413,
        "65536 bytes"),
    (HEAD + b"Transfer-Encoding: chunked\r\n\r\n" +
        b"ffff\r\n" + b"x" * 65535 + b"\r\nffff\r\n", 413, "message.max"),
    (b"BREW /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 501, "method"),
    (b"POST\r\n\r\n", 400, "no HTTP request"),
    (HEAD + b"Content-Length: -3\r\n\r\n", 400, "no HTTP request"),
    (HEAD + b"x: y\r\n" * 9000 + b"\r\n", 400, "32 KiB"),
    (HEAD + b"Expect: a cake\r\nContent-Length: 1\r\n\r\nx", 417, "Expect"),
], ids=["long", "long chunks", "method", "line", "length", "headers", "expect"])
def test_what_evhttp_refuses_is_json_too(small, data, status, part):
    reply = raw(small, data)
    head, body = reply.split(b"\r\n\r\n", 1)
    assert int(head.split()[1]) == status
    assert b"\r\nContent-Type: application/json\r\n" in head
    assert b"\r\nContent-Length: %d\r\n" % len(body) in head
    assert part in json.loads(body)["error"]
    with Http(small) as web:
        web.initialize()


def test_slow_senders_are_closed():
    with harness.Daemon(dict(OPTIONS, **{"http.timeout": "500ms"})) as own:
        for data in (b"", b"POST /mcp HT", HEAD, HEAD +
                b"Content-Length: 100\r\n\r\n{"):
            assert raw(own, data) == b""
        # A call may take longer.
        with Http(own) as web:
            message, headers = modern(run("import time\ntime.sleep(1.2)"))
            assert web.post(message, **headers).status == 200


def test_half_open_connections_make_room():
    with harness.Daemon(dict(OPTIONS, **{"clients.max": "8"})) as own:
        with contextlib.ExitStack() as stack:
            web = stack.enter_context(Http(own))
            for i in range(100):
                sock = stack.enter_context(socket.create_connection(
                    web.address, harness.WAIT))
                if i % 2:
                    sock.sendall(HEAD)
            web.initialize()
            assert harness.Answer(web.post(run("print(1)")).json)


def test_reader_that_stops(daemon, other):
    """Its large answer waits for it, and nobody else does."""
    with Http(daemon) as web, socket.create_connection(web.address) as sock:
        code = "print('x' * 400000)\nimport sys\nsys.stderr.write('y' * 9)"
        message, headers = modern(run(code))
        body = json.dumps(message).encode()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        head = HEAD + b"Content-Type: application/json\r\n"
        for key, value in headers.items():
            head += b"%s: %s\r\n" % (key.replace("_", "-").encode(),
                value.encode())
        sock.sendall(head + b"Connection: close\r\nContent-Length: %d\r\n"
            b"\r\n" % len(body) + body)
        for _ in range(3):
            assert other.run("print(1)").stdout == "1\n"
        data = b""
        while chunk := sock.recv(65536):
            data += chunk
        answer = json.loads(data.split(b"\r\n\r\n", 1)[1])
        assert len(answer["result"]["content"][0]["text"]) > 15000


def test_stop_answers_calls():
    with harness.Daemon(OPTIONS) as own, Http(own) as web, Http(own) as idle:
        web.initialize()
        idle.initialize()
        start_marked(own, web, "http-stop", run("", 3))
        own.send_signal(signal.SIGTERM)
        reply = Reply(web.connection.getresponse())
        assert reply.json["error"]["code"] == -32603
        assert own.wait_exit() == 0
