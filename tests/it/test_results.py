"""What a client is given of a run: output while it runs, and its results."""

import base64
import re
import time

import pytest

from harness import Answer, Daemon, LIGHT, eventually


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


# --- budgets ----------------------------------------------------------------

KEEP = dict(LIGHT, **{"result.max_text": "20k", "result.keep": "8m",
    "result.max_images": "700k"})


@pytest.fixture(scope="module")
def keeping():
    with Daemon(KEEP) as d:
        yield d


@pytest.fixture
def reader(keeping):
    return keeping.connect()


def tool(client, name, **arguments):
    return Answer(client.rpc("tools/call", {"name": name,
        "arguments": arguments}))


def read_all(client, uri, offset=0, **arguments):
    """As a model would: on from where the last answer says."""
    text = ""
    while True:
        answer = tool(client, "read_file", uri=uri, offset=offset,
            **arguments)
        assert not answer.is_error, answer
        text += answer.texts[0]
        more = re.search(r"to go on: offset (\d+)\]", answer.texts[1])
        if not more:
            return text
        offset = int(more[1])


def test_long_output_is_cut_and_can_be_read(reader):
    answer = reader.run("for i in range(20000): print(i)")
    whole = "".join("%d\n" % i for i in range(20000))
    assert answer.receipt["truncated"]
    head, marker, tail = re.fullmatch(r"(.*)\n(\[\.\.\. .*? \.\.\.\])\n(.*)",
        answer.stdout, re.DOTALL).groups()
    assert whole.startswith(head) and whole.endswith(tail)
    assert len(head) + len(tail) == 20 * 1024
    missing, uri, offset = re.search(r"(\d+) bytes of stdout left out.*"
        r'"uri": "(.*?)", "offset": (\d+)', marker).groups()
    assert int(missing) == len(whole) - 20 * 1024
    assert uri == "adder://run/%s/stdout" % answer.receipt["run_id"]
    assert head + read_all(reader, uri, int(offset)) == whole
    assert read_all(reader, uri, limit=50000) == whole
    got = reader.rpc("resources/read", {"uri": uri})["result"]["contents"]
    assert got == [{"uri": uri, "mimeType": "text/plain", "text": whole}]


def test_short_output_is_not_kept(reader):
    answer = reader.run("print(1)")
    error = reader.rpc("resources/read", {"uri": "adder://run/%s/stdout" %
        answer.receipt["run_id"]})["error"]
    assert error["code"] == -32002


def test_files_are_links(reader, keeping):
    answer = reader.run("for n in range(60): pass\n"
        "open('a b.csv', 'w').write('1,2\\n' * 2000)\n"
        "open('x.bin', 'wb').write(bytes(range(256)))\n")
    assert [f["type"] for f in answer.files] == ["resource_link"] * 2
    by_name = {f["name"]: f for f in answer.files}
    link = by_name["a b.csv"]
    assert link["uri"].endswith("/a%20b.csv") and link["size"] == 8000
    assert link["mimeType"] == "text/csv"
    assert tool(reader, "read_file", uri=link["uri"],
        limit=8).texts[0] == "1,2\n" * 2
    binary = by_name["x.bin"]["uri"]
    content = reader.rpc("resources/read",
        {"uri": binary})["result"]["contents"]
    assert base64.b64decode(content[0]["blob"]) == bytes(range(256))
    part = tool(reader, "read_file", uri=binary, offset=10, limit=4)
    assert base64.b64decode(part.files[0]["resource"]["blob"]) == \
        bytes(range(10, 14))
    # Another connection may read what it knows the name of, but finds it in
    # no list.
    other = keeping.connect()
    assert tool(other, "read_file", uri=link["uri"],
        limit=4).texts[0] == "1,2\n"
    assert other.rpc("resources/list")["result"]["resources"] == []


def test_resources_are_listed_by_pages(keeping):
    client = keeping.connect()
    for run in range(4):
        client.run("for n in range(30): open('%02d.txt' % n, 'w')"
            ".write('x')")
    seen, cursor, pages = [], None, 0
    while True:
        result = client.rpc("resources/list",
            {"cursor": cursor} if cursor else {})["result"]
        seen += result["resources"]
        pages += 1
        cursor = result.get("nextCursor")
        if cursor is None:
            break
    assert pages == 3 and len(seen) == len({r["uri"] for r in seen}) == 120
    assert all(r["size"] == 1 for r in seen)


def test_old_peers_get_files_inside(keeping):
    answer = keeping.connect(version="2025-03-26").run(
        "open('a.txt', 'w').write('hello')")
    assert [f["resource"]["text"] for f in answer.files] == ["hello"]


def test_what_is_kept_is_bounded():
    with Daemon(dict(KEEP, **{"result.keep": "100k"})) as daemon:
        client = daemon.connect()
        code = "open('f', 'w').write('x' * 40000)"
        uris = [client.run(code).files[0]["uri"] for i in range(4)]
        assert tool(client, "read_file", uri=uris[0]).is_error
        assert "result.keep" in tool(client, "read_file", uri=uris[1]).text
        assert not tool(client, "read_file", uri=uris[2]).is_error
        assert not tool(client, "read_file", uri=uris[3]).is_error


def test_what_is_kept_goes_after_its_time():
    with Daemon(dict(KEEP, **{"result.keep_age": "1s"})) as daemon:
        client = daemon.connect()
        uri = client.run("open('f', 'w').write('x' * 5000)").files[0][
            "uri"]
        eventually(lambda: tool(client, "read_file", uri=uri).is_error,
            "the file is gone", 10)


def test_names_of_other_servers():
    with Daemon(dict(LIGHT, **{"compat.tools": "on",
            "result.structured": "on"})) as daemon:
        client = daemon.connect()
        names = [t["name"] for t in
            client.rpc("tools/list")["result"]["tools"]]
        assert {"run_python_ephemeral", "execute_python_code"} < set(names)
        answer = tool(client, "execute_python_code", python_code="print(6*7)")
        assert answer.stdout == "42\n"
        assert answer.result["structuredContent"]["text"] == "42\n"
        answer = tool(client, "run_python_ephemeral", code="print(6*7)",
            dependencies=[], image="python:3.11-slim")
        assert answer.stdout == "42\n"


def test_a_container_is_a_session():
    with Daemon(dict(LIGHT, **{"compat.tools": "on"})) as daemon:
        client = daemon.connect()
        answer = tool(client, "sandbox_initialize", image="python:3.11-slim")
        own = answer.result["structuredContent"]["session_id"]
        for code, stdout in (("x = 6", ""), ("print(x * 7)", "42\n")):
            answer = tool(client, "run_python", container_id=own, code=code,
                dependencies=[])
            assert answer.stdout == stdout, answer
        assert not tool(client, "sandbox_stop", container_id=own).is_error
        answer = tool(client, "run_python", container_id=own, code="x")
        assert answer.is_error
        # Two names at once are one too many.
        answer = tool(client, "run_python", container_id=own, session_id=own,
            code="x")
        assert answer.is_error and "container_id" in answer.text


def test_a_container_is_unknown_without_compat(client):
    answer = tool(client, "run_python", container_id="x", code="1")
    assert answer.is_error and "container_id" in answer.text
