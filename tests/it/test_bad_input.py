"""Bad input: a clear error, the connection lives, others see nothing."""

import json

import pytest

import harness

MIB = 1 << 20


def request(arguments, ident=1, method="tools/call", name="run_python"):
    return json.dumps({"jsonrpc": "2.0", "id": ident, "method": method,
        "params": {"name": name, "arguments": arguments}}).encode()


def call(text, ident=1):
    """A call whose arguments are given as text, well-formed or not."""
    return (b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":'
        b'{"name":"run_python","arguments":%s}}' % (ident, text))


# name, line, codes that the answer may have, ids that it may carry
# (None: no member id).  A request that is well-formed but for one value that
# the JSON library cannot hold keeps its id, or the client would wait for ever.
PROTOCOL = [
    ("half a message", b'{"jsonrpc":"2.0","id":1,"meth', {-32700}, {None, 1}),
    ("two values", b'{"jsonrpc":"2.0","id":1,"method":"ping"} {}', {-32700},
        {None, 1}),
    ("single quotes", b"{'jsonrpc':'2.0'}", {-32700}, {None}),
    ("a NUL byte", b'{"jsonrpc":"2.0",\0"id":1}', {-32700}, {None, 1}),
    ("bad UTF-8", b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', {-32700},
        {None, 1}),
    ("UTF-8 cut short", b'{"jsonrpc":"2.0","id":1,"method":"\xe2\x82"}',
        {-32700}, {None, 1}),
    ("overlong UTF-8", b'{"jsonrpc":"2.0","id":1,"method":"\xc0\xaf"}',
        {-32700}, {None, 1}),
    ("a surrogate in UTF-8", b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0'
        b'\x80"}', {-32700}, {None, 1}),
    ("UTF-16", "{}".encode("utf-16"), {-32700}, {None}),
    ("a lone surrogate in a method", b'{"jsonrpc":"2.0","id":1,"method":'
        b'"\\ud800"}', {-32700, -32601}, {1}),
    ("an id beyond 64 bits", b'{"jsonrpc":"2.0","id":99999999999999999999,'
        b'"method":"ping"}', {-32700, -32600}, {None}),
    ("NaN", call(b'{"code":"1","timeout":NaN}'), {-32700}, {None, 1}),
    ("3000 arrays", b"[" * 3000 + b"]" * 3000, {-32700, -32600}, {None}),
    ("3000 levels in params", b'{"jsonrpc":"2.0","id":1,"method":"ping",'
        b'"params":{"a":' + b"[" * 3000 + b"]" * 3000 + b"}}",
        {-32700, -32600}, {None, 1}),
    ("3000 objects never closed", b'{"a":' * 3000, {-32700, -32600},
        {None}),
    ("a line beyond the limit", b'{"jsonrpc":"2.0","id":1,"method":"' +
        b"x" * (17 * MIB) + b'"}', {-32600}, {1}),
    ("arguments are an array", call(b"[1]"), {-32602}, {1}),
    ("arguments are a string", call(b'"code"'), {-32602}, {1}),
    ("arguments are a number", call(b"5"), {-32602}, {1}),
    ("an unknown tool", request({}, name="rm_rf"), {-32602}, {1}),
    ("an empty tool name", request({}, name=""), {-32602}, {1}),
    ("a very long tool name", request({}, name="x" * 100000), {-32602}, {1}),
    ("no tool name", request({}, name=None), {-32602}, {1}),
]


@pytest.mark.parametrize("line,codes,ids", [row[1:] for row in PROTOCOL],
    ids=[row[0].replace(" ", "-") for row in PROTOCOL])
def test_protocol_error(client, other, line, codes, ids):
    client.send_bytes(line + b"\n")
    message = client.receive()
    assert message["error"]["code"] in codes, message
    assert message.get("id") in ids, message
    assert message.get("id", 0) is not None, "id is null"
    text = message["error"]["message"]
    assert 8 <= len(text) <= 1000 and "\n" not in text, text
    client.ping()
    assert client.inbox == []
    other.ping()


@pytest.mark.parametrize("carrier", ["stdio", "tcp"])
def test_over_long_line_elsewhere(daemon, carrier, other):
    client = daemon.connect(carrier)
    client.send_bytes(b"x" * (17 * MIB) + b"\n")
    message = client.receive()
    assert message["error"]["code"] == -32600 and "id" not in message
    assert "16" in message["error"]["message"], "the limit is not named"
    client.ping()
    other.ping()
    if carrier != "stdio":
        client.close()


def test_over_long_line_is_not_stored(daemon, client):
    """Far more than the limit goes through without being kept."""
    before = harness.proc_status_kib(daemon.pid, "VmHWM")
    client.send_bytes(b"y" * (80 * MIB) + b"\n")
    assert client.receive()["error"]["code"] == -32600
    client.ping()
    after = harness.proc_status_kib(daemon.pid, "VmHWM")
    assert after - before < 48 * 1024 or harness.sanitized()


# name, arguments, a word that the text must have
TOOL = [
    ("no code", {}, "code"),
    ("code null", {"code": None}, "code"),
    ("code a number", {"code": 5}, "code"),
    ("code an array", {"code": ["print(1)"]}, "code"),
    ("code an object", {"code": {"a": 1}}, "code"),
    ("code empty", {"code": ""}, "code"),
    ("code blank", {"code": " \n\t\n"}, "code"),
    ("timeout negative", {"code": "1", "timeout": -1}, "timeout"),
    ("timeout zero", {"code": "1", "timeout": 0}, "timeout"),
    ("timeout huge", {"code": "1", "timeout": 1e300}, "timeout"),
    ("timeout a huge integer", {"code": "1", "timeout": 1 << 62}, "timeout"),
    ("timeout a word", {"code": "1", "timeout": "soon"}, "timeout"),
    ("timeout NaN", {"code": "1", "timeout": "NaN"}, "timeout"),
    ("timeout negative text", {"code": "1", "timeout": "-2"}, "timeout"),
    ("timeout an array", {"code": "1", "timeout": [5]}, "timeout"),
    ("timeout true", {"code": "1", "timeout": True}, "timeout"),
    ("stdin a number", {"code": "1", "stdin": 5}, "stdin"),
    ("stdin an array", {"code": "1", "stdin": ["a"]}, "stdin"),
    ("an unknown argument", {"code": "1", "cod": "x"}, "cod"),
]


@pytest.mark.parametrize("arguments,word", [row[1:] for row in TOOL],
    ids=[row[0].replace(" ", "-") for row in TOOL])
def test_tool_error(client, other, arguments, word):
    answer = harness.Answer(client.rpc("tools/call", {"name": "run_python",
        "arguments": arguments}))
    assert answer.is_error and word in answer.text, answer
    assert len(answer.text) < 500, answer.text
    client.ping()
    other.ping()


# name, arguments, what is printed
FORGIVEN = [
    ("timeout large", {"code": "print(1)", "timeout": 50000}, "1\n"),
    ("timeout text", {"code": "print(1)", "timeout": "2.5"}, "1\n"),
    ("timeout small", {"code": "print(1)", "timeout": 2}, "1\n"),
    ("all others null", {"code": "print(1)", "timeout": None,
        "stdin": None, "files": None, "dependencies": None,
        "session_id": None}, "1\n"),
    ("a NUL in stdin", {"code": "print(ascii(input()))",
        "stdin": "a\0b\n"}, "'a\\x00b'\n"),
    ("any character", {"code": "print(ascii('\u2028\U0001f600\u00e9'))"},
        "'\\u2028\\U0001f600\\xe9'\n"),
]


@pytest.mark.parametrize("arguments,stdout", [row[1:] for row in FORGIVEN],
    ids=[row[0].replace(" ", "-") for row in FORGIVEN])
def test_forgiven(client, arguments, stdout):
    answer = harness.Answer(client.rpc("tools/call", {"name": "run_python",
        "arguments": arguments}))
    assert not answer.is_error and answer.stdout == stdout, answer


def test_nul_in_code(client):
    """CPython 3.11 stops the line there and later ones refuse it: nothing of
    a program is passed over."""
    answer = client.run("print(1)\n\0print(2)\n")
    assert answer.is_error and answer.verdict is None, answer
    assert "NUL character, at byte 9;" in answer.text
    assert client.run("print(2)").stdout == "2\n"


# What JSON allows and the library does not take: the call is answered.
EXTREMES = [
    ("a number beyond doubles", b'{"code":"1","timeout":1e400}', "timeout"),
    ("a negative one", b'{"code":"1","timeout":-1e400}', "timeout"),
    ("an integer beyond 64 bits", b'{"code":"1","timeout":'
        b'123456789012345678901234567890}', "timeout"),
    ("a huge integer as code", b'{"code":' + b"9" * 5000 + b"}", "code"),
    ("a lone surrogate in code", b'{"code":"print(ascii(\'\\ud83d\'))"}',
        "fffd"),
    ("a lone surrogate in a name", b'{"code":"1","\\udc00":1}', "argument"),
]


@pytest.mark.parametrize("text,word", [row[1:] for row in EXTREMES],
    ids=[row[0].replace(" ", "-") for row in EXTREMES])
def test_extremes_are_answered(client, text, word):
    client.send_bytes(call(text, 77) + b"\n")
    assert word in harness.Answer(client.answer(77)).text
    client.ping()


TEN_MEGABYTES = "#" + "x" * (10 * MIB) + "\nprint('end of it')\n"


def test_ten_megabytes_of_code(client, other):
    """More than limits.code: the tool says so."""
    ident = client.start(TEN_MEGABYTES, timeout=30)
    other.ping()
    answer = client.finish(ident)
    assert answer.is_error and "limits.code" in answer.text, answer
    assert str(len(TEN_MEGABYTES)) in answer.text
    assert client.run("print(1)").stdout == "1\n"


def test_ten_megabytes_of_code_where_they_are_allowed():
    with harness.Daemon(dict(harness.LIGHT, **{"limits.code": "12m"})) as d:
        answer = d.connect().run(TEN_MEGABYTES, timeout=30)
        assert answer.stdout == "end of it\n", answer


def test_ten_megabytes_of_stdin(client):
    answer = client.run("import sys\nprint(len(sys.stdin.read()))\n",
        stdin="z" * (10 * MIB), timeout=30)
    assert answer.stdout == "%d\n" % (10 * MIB)


def test_input_without_end_of_line_is_dropped(daemon, other):
    client = daemon.connect("unix")
    client.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"ping"')
    client.shut_down_writing()
    client.wait_closed()
    client.close()
    other.ping()
