"""POST /run and /eval, /metrics and the health of the server, over HTTP."""

import base64
import contextlib
import http.client
import json
import re
import socket
import time

import pytest

from harness import Daemon, LIGHT, WAIT, eventually, mark

HTTP = dict(LIGHT, **{"listen.http": "127.0.0.1:0"})


class Web:
    """Requests to one daemon, each on a connection of its own."""

    def __init__(self, daemon):
        hit = daemon.wait_log(r"listening on http ([0-9.]+):([0-9]+)")
        self.daemon = daemon
        self.address = hit[1], int(hit[2])

    def open(self, method, path, body=None, **headers):
        conn = http.client.HTTPConnection(*self.address, timeout=WAIT)
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        conn.request(method, path, body, headers)
        return conn

    def ask(self, method, path, body=None, **headers):
        with contextlib.closing(self.open(method, path, body,
                **headers)) as conn:
            response = conn.getresponse()
            return response, response.read()

    def post(self, path, body, **headers):
        """(status, JSON)"""
        headers.setdefault("Content_Type", "application/json")
        if not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        response, data = self.ask("POST", path, body, **headers)
        return response.status, json.loads(data)

    def run(self, code, **members):
        status, answer = self.post("/run", dict(members, code=code))
        assert status == 200, answer
        return answer

    def events(self, code, **members):
        """Events of a run as they come: (name, data, when)."""
        conn = self.open("POST", "/run", json.dumps(dict(members,
            code=code)), Content_Type="application/json",
            Accept="text/event-stream")
        with contextlib.closing(conn):
            response = conn.getresponse()
            assert response.status == 200
            assert response.getheader("Content-Type") == "text/event-stream"
            name = None
            for line in response:
                line = line.decode("ascii").rstrip("\n")
                if line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: "):
                    yield name, json.loads(line[6:]), time.time()


@pytest.fixture(scope="module")
def web():
    with Daemon(HTTP) as daemon:
        daemon.wait_log("ready: Python")
        yield Web(daemon)


# --- /run -------------------------------------------------------------------

def test_run_answers_with_everything(web):
    answer = web.run("import sys\nprint('out é')\n"
        "print('err', file=sys.stderr)\n"
        "open('a b.txt', 'w').write('hello')\n6 * 7\n")
    assert answer["stdout"] == "out é\n" and answer["stderr"] == "err\n"
    assert answer["value"] == "42" and answer["error"] is None
    assert answer["images"] == []
    assert answer["files"] == [{"name": "a b.txt", "mime": "text/plain",
        "size": 5, "data": base64.b64encode(b"hello").decode()}]
    receipt = answer["receipt"]
    assert receipt["verdict"] == "ok" and receipt["exit_code"] == 0
    assert receipt["stdout_bytes"] == 7


def test_run_takes_a_program_as_it_is(web):
    status, answer = web.post("/run", "print(input())".encode(),
        Content_Type="text/x-python; charset=utf-8")
    assert status == 200
    assert answer["error"]["type"] == "EOFError"
    status, answer = web.post("/run?timeout=0.3", "while True: pass",
        Content_Type="text/x-python")
    assert status == 200
    assert answer["error"]["verdict"] == "timeout"
    assert "0.3 s" in answer["error"]["reason"]


def test_run_tells_of_a_failure(web):
    answer = web.run("x = 1\nx / 0\n", stdin="abc")
    error = answer["error"]
    assert error["verdict"] == "exception"
    assert error["type"] == "ZeroDivisionError"
    assert "line 2" in error["traceback"] and "line 2" in error["reason"]
    assert web.run("print(input())", stdin="abc")["stdout"] == "abc\n"
    assert web.run("import sys; sys.exit(3)")["receipt"]["exit_code"] == 3


@pytest.mark.parametrize("body, kind, status, part", [
    ('{"code": "1"', "application/json", 400, "no JSON"),
    ('[]', "application/json", 400, "an array"),
    ('{}', "application/json", 400, "code is missing"),
    ('{"code": 7}', "application/json", 400, "must be a string"),
    ('{"code": ""}', "application/json", 400, "is empty"),
    ('{"code": "1", "timeout": -1}', "application/json", 400, "above 0"),
    ('{"code": "1", "cod": 1}', "application/json", 400, "no argument"),
    ('{"code": "1", "code": "2"}', "application/json", 400, "no JSON"),
    (b"\xff", "text/x-python", 400, "not UTF-8"),
    ("", "text/x-python", 400, "is empty"),
    ("print(1)", "application/x-www-form-urlencoded", 415, "text/x-python"),
])
def test_run_refuses_what_it_cannot_take(web, body, kind, status, part):
    got, answer = web.post("/run", body, Content_Type=kind)
    assert got == status and part in answer["error"]


@pytest.mark.parametrize("query, kind, part", [
    ("tmeout=5", "text/x-python", 'is "tmeout=5"'),
    ("x=1&timeout=5", "text/x-python", "only timeout=SECONDS"),
    ("timeout=5&x=1", "text/x-python", "must be a number"),
    ("timeout=5", "application/json", "JSON body"),
])
def test_run_refuses_a_query_it_would_not_heed(web, query, kind, part):
    body = '{"code": "1"}' if "json" in kind else "1"
    got, answer = web.post(f"/run?{query}", body, Content_Type=kind)
    assert got == 400 and part in answer["error"]


def test_run_is_for_post_alone(web):
    for method in ("GET", "DELETE"):
        response, _ = web.ask(method, "/run")
        assert response.status == 405 and response.getheader("Allow")


def test_events_come_as_they_happen(web):
    code = ("import sys, time\nfor i in range(3):\n"
        "    print(i, time.time(), flush=True)\n    time.sleep(0.4)\n"
        "print('bad', file=sys.stderr)\n"
        "open('f.bin', 'wb').write(b'\\0\\1')\n'value'\n")
    seen = []
    for name, data, when in web.events(code, timeout=30):
        if name == "stdout":
            printed = float(data["text"].split()[1])
            assert when - printed < 0.35
        seen.append((name, data))
    names = [name for name, _ in seen]
    assert names == ["stdout"] * 3 + ["stderr", "file", "result"]
    assert seen[4][1]["name"] == "f.bin" and seen[4][1]["data"] == "AAE="
    result = seen[-1][1]
    assert result["value"] == "'value'" and result["error"] is None
    assert result["receipt"]["verdict"] == "ok"
    assert "stdout" not in result and "files" not in result


def test_a_character_is_not_cut_in_two(web):
    code = ("import os, time\nfor b in 'é'.encode():\n"
        "    os.write(1, bytes([b]))\n    time.sleep(0.2)\n"
        "os.write(1, b'\\xc3')\n")
    texts = [data["text"] for name, data, _ in web.events(code)
        if name == "stdout"]
    assert "".join(texts) == "é\N{REPLACEMENT CHARACTER}"


def test_a_flood_says_what_was_not_sent(web):
    sent, result = 0, None
    for name, data, _ in web.events("print('x' * 3000000)"):
        if name == "stdout":
            sent += len(data["text"])
        result = data
    assert sent == 1024 * 1024
    assert result["stdout_unsent"] == 3000001 - sent


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_a_disconnect_kills_the_program(web, accept):
    name = "gone-" + accept[:4]
    conn = web.open("POST", "/run", json.dumps({"code": mark(name) +
        "while True: pass", "timeout": 60}), Accept=accept,
        Content_Type="application/json")
    eventually(lambda: web.daemon.marked(name), "the program runs")
    conn.close()
    eventually(lambda: not web.daemon.marked(name), "the program is gone")


def test_a_client_that_does_not_read_holds_its_program_back(web):
    """Memory does not grow with what it does not read."""
    sock = socket.create_connection(web.address, WAIT)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    body = json.dumps({"code": "while True: print('x' * 1000)",
        "timeout": 3}).encode()
    with sock:
        sock.sendall(b"POST /run HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nAccept: text/event-stream\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        assert sock.recv(12) == b"HTTP/1.1 200"
        assert web.run("print(1)")["stdout"] == "1\n"


def test_busy_is_503():
    with Daemon(dict(HTTP, **{"pool.max": "1", "pool.warm": "1",
            "queue.timeout": "200ms"})) as daemon:
        daemon.wait_log("ready: Python")
        web = Web(daemon)
        busy = web.open("POST", "/run", json.dumps({"code": mark("busy") +
            "while True: pass", "timeout": 60}),
            Content_Type="application/json")
        eventually(lambda: daemon.marked("busy"), "the program runs")
        response, body = web.ask("POST", "/run", '{"code": "1"}',
            Content_Type="application/json")
        assert response.status == 503 and response.getheader("Retry-After")
        assert "busy" in json.loads(body)["error"]
        busy.close()


# --- /eval ------------------------------------------------------------------

def test_eval_answers_as_snekbox(web):
    status, answer = web.post("/eval", {"input": "import sys\n"
        "print(1, flush=True)\nprint(2, file=sys.stderr)\n7\n"})
    assert status == 200
    assert set(answer) == {"stdout", "returncode", "files"}
    assert sorted(answer["stdout"].split()) == ["1", "2"]
    assert answer["returncode"] == 0 and answer["files"] == []
    status, answer = web.post("/eval", {"args": ["-c", "print(3)"]})
    assert (status, answer["stdout"]) == (200, "3\n")
    status, answer = web.post("/eval", {"args": ["-c"], "input": "print(4)"})
    assert (status, answer["stdout"]) == (200, "4\n")


@pytest.mark.parametrize("code, returncode, part", [
    ("import sys; sys.exit(3)", 3, ""),
    ("1 / 0", 1, "ZeroDivisionError: division by zero"),
    ("while True: pass", 137, ""),
    ("import os; os.kill(os.getpid(), 11)", 139, ""),
    ("x = bytearray(1 << 31)", 137, "MemoryError"),
    ("x = []\nwhile True: x.append(bytearray(1 << 20))", 137, ""),
])
def test_eval_returncodes(code, returncode, part, web):
    status, answer = web.post("/eval", {"input": code})
    assert status == 200 and answer["returncode"] == returncode, answer
    assert part in answer["stdout"]


def as_file(path, data):
    return {"path": path, "content": base64.b64encode(data).decode()}


def test_eval_takes_files(web):
    data = bytes(range(256))
    status, answer = web.post("/eval", {"input": "print(len(open('d/x.bin', "
        "'rb').read()), open('y.txt').read())\nopen('out', 'w').write('z')",
        "files": [as_file("d/x.bin", data), as_file("y.txt", b"")]})
    assert (status, answer["stdout"]) == (200, "256 \n")
    assert answer["files"] == [dict(as_file("out", b"z"), size=1)]


@pytest.mark.parametrize("name", ["main.py", "d/run.py"])
def test_eval_runs_a_file(web, name):
    """As the bot that snekbox was made for asks."""
    status, answer = web.post("/eval", {"args": [name], "files": [
        as_file("helper.py", b"def f():\n    return 'helped'\n"),
        as_file(name, "import helper\nprint(helper.f(), 'é')\n1 / 0".encode())
        ]})
    assert status == 200 and answer["returncode"] == 1
    assert answer["stdout"].startswith("helped é\nTraceback")
    assert "line 3" in answer["stdout"] and answer["files"] == []


def test_eval_gives_files(web):
    status, answer = web.post("/eval",
        {"input": "open('a.txt', 'w').write('hi')"})
    assert answer["files"] == [{"path": "a.txt", "size": 2,
        "content": base64.b64encode(b"hi").decode()}]


@pytest.mark.parametrize("body, kind, status", [
    ("{", "application/json", 400),
    ("{}", "application/json", 400),
    ("[]", "application/json", 400),
    ('{"input": 1}', "application/json", 400),
    ('{"args": "x"}', "application/json", 400),
    ('{"args": [1]}', "application/json", 400),
    ('{"args": ["-m", "timeit"]}', "application/json", 400),
    ('{"input": "1", "files": [{"path": "x"}]}', "application/json", 400),
    ('{"input": "1", "files": "x"}', "application/json", 400),
    ('{"input": "1", "files": ["x"]}', "application/json", 400),
    ('{"input": "1", "files": [{"path": "x", "content": "!"}]}',
        "application/json", 400),
    ('{"input": "1", "files": [{"path": "x", "content": 5}]}',
        "application/json", 400),
    ('{"input": "1", "files": [{"path": "../x", "content": "eA=="}]}',
        "application/json", 400),
    ('{"input": "1", "files": [{"path": "/x", "content": "eA=="}]}',
        "application/json", 400),
    ('{"input": "1", "files": [{"path": "a\\u0000", "content": "eA=="}]}',
        "application/json", 400),
    ('{"input": "1", "files": [{"path": "main.py", "content": "eA=="}]}',
        "application/json", 400),
    ('{"args": ["main.py"]}', "application/json", 400),
    ('{"args": ["main.py"], "files": [{"path": "main.py"}]}',
        "application/json", 400),
    ('{"args": ["main.py"], "files": [{"path": "main.py", "content": '
        '"/w=="}]}', "application/json", 400),
    ('{"args": ["x.py"], "files": [{"path": "y.py", "content": "eA=="}]}',
        "application/json", 400),
    ('{"input": "1", "executable_path": "/bin/sh"}', "application/json", 400),
    ('{"input": "1"}', "text/plain", 415),
])
def test_eval_refuses(web, body, kind, status):
    got, answer = web.post("/eval", body, Content_Type=kind)
    assert got == status
    assert answer["title"] and answer["description"]


# --- health -----------------------------------------------------------------

def test_health_and_metrics(web):
    for path in ("/livez", "/readyz"):
        response, body = web.ask("GET", path)
        assert (response.status, body) == (200, b"ok\n")
    def ok_calls():
        response, body = web.ask("GET", "/metrics")
        assert response.status == 200
        assert response.getheader("Content-Type").startswith(
            "text/plain; version=0.0.4")
        return int(re.search(r'^adder_calls_total\{verdict="ok"\} (\d+)$',
            body.decode(), re.M)[1])
    before = ok_calls()
    web.run("1")
    assert ok_calls() == before + 1


def test_not_ready_while_python_starts():
    with Daemon(dict(HTTP, **{"python.modules":
            "numpy,scipy.stats,pandas,matplotlib.pyplot"})) as daemon:
        web = Web(daemon)
        response, body = web.ask("GET", "/readyz")
        if not any(" serves while " in line or "ready: Python" in line
                for line in daemon.lines):
            assert response.status == 503 and b"starting" in body
        assert web.ask("GET", "/livez")[0].status == 200
        daemon.wait_log("ready: Python")
        assert web.ask("GET", "/readyz")[0].status == 200


def test_tokens_are_asked_for_but_for_health(tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("me 0123456789abcdef0123456789abcdef\n")
    tokens.chmod(0o600)
    with Daemon(dict(HTTP, **{"http.token_file": str(tokens),
            "user": ""})) as daemon:
        daemon.wait_log("ready: Python")
        web = Web(daemon)
        assert web.ask("GET", "/livez")[0].status == 200
        for path in ("/metrics", "/run", "/eval"):
            method = "GET" if path == "/metrics" else "POST"
            assert web.ask(method, path)[0].status == 401
        status, answer = web.post("/run", {"code": "print(1)"},
            Authorization="Bearer 0123456789abcdef0123456789abcdef")
        assert status == 200 and answer["stdout"] == "1\n"


def test_the_policy_restricted_refuses_once(client):
    """Each refusal says what and why, once, and its verdict is its own."""
    for code, part in (("import os", "line 1: policy restricted refuses"),
            ("import math\nmath.__class__", "line 2: policy")):
        answer = client.run(code, policy="restricted")
        assert answer.verdict == "denied", answer
        assert answer.text.count(part) == 1 and len(answer.texts) == 1, answer
    answer = client.run("open('x')", policy="restricted")
    assert answer.verdict == "exception"
    assert "has only some of the builtins" in answer.text
    assert "builtins" not in client.run("opne('x')").text
    answer = client.run("class PolicyError(Exception): pass\n"
        "raise PolicyError('line 1: policy restricted refuses')")
    assert answer.verdict == "exception", answer


def test_an_effect_that_the_policy_refuses(client):
    answer = client.run("import statistics\nprint(1)\n"
        "statistics.sys = 1\nnp.load('/etc/hostname')", policy="restricted")
    if "NameError" in answer.text:
        pytest.skip("NumPy is not installed")
    assert answer.verdict == "denied" and answer.stdout == "1\n", answer
    assert "policy restricted refuses what the program did at line 4" in \
        answer.text.lower(), answer


def test_all_of_json_is_taken_over_http(web):
    """Also what our library refuses, as over MCP."""
    def ask(path, body):
        return web.post(path, body.encode(), Content_Type="application/json")
    status, reply = ask("/run", r'{"code": "print(ascii(input()))", '
        r'"stdin": "a\ud800b"}')
    assert (status, reply["stdout"]) == (200, "'a\\ufffdb'\n")
    status, reply = ask("/run", '{"code": "1", "timeout": 1e999}')
    assert status == 400 and "timeout must be" in reply["error"]
    status, reply = ask("/eval", r'{"input": "print(ascii(\"\ud800\"))"}')
    assert status == 200 and "ufffd" in reply["stdout"]
    for body, kind in (("null", "null"), ("5", "a number"), ("[]", "an array")):
        status, reply = ask("/run", body)
        assert status == 400 and "not %s." % kind in reply["error"], reply
    for body in ('{"code": "1", "code": "2"}', "{", ""):
        status, reply = ask("/run", body)
        assert status == 400 and "The body is no JSON" in reply["error"]
