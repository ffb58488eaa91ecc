"""adderctl against a server of this file's own: what it sends, prints and
exits with.  No adderd is needed."""

import base64
import json
import os
import re
import socket
import subprocess
import threading

import pytest

ADDERCTL = os.path.join(os.environ["ADDER_BUILD"], "adderctl")


class FakeServer:
    """Answers each request with what its method has in answers; a value that
    is bytes is sent as it is, None closes the connection."""

    def __init__(self, path, answers):
        self.answers = {"initialize": {"capabilities": {}}, **answers}
        self.received = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        self.listener.settimeout(20)
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        conn, _ = self.listener.accept()
        conn.settimeout(20)
        with conn, conn.makefile("rw", encoding="utf-8") as stream:
            for line in stream:
                message = json.loads(line)
                self.received.append(message)
                if "id" not in message:
                    continue
                answer = self.answers[message["method"]]
                if answer is None:
                    return
                if isinstance(answer, bytes):
                    conn.sendall(answer)
                    continue
                # A notification in between must not be taken for the answer.
                for reply in ({"method": "notifications/message"},
                              {"id": message["id"], **answer}
                              if "error" in answer else
                              {"id": message["id"], "result": answer}):
                    stream.write(json.dumps({"jsonrpc": "2.0", **reply}))
                    stream.write("\n")
                stream.flush()

    def close(self):
        self.listener.close()
        self.thread.join(20)


@pytest.fixture
def server(tmp_path):
    started = []

    def start(**answers):
        answers = {name.replace("__", "/"): value
                   for name, value in answers.items()}
        started.append(FakeServer(str(tmp_path / "s"), answers))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def ctl(tmp_path):
    def run(*args, stdin=b"", env=None):
        return subprocess.run(
            [ADDERCTL, *args], input=stdin, cwd=tmp_path, timeout=20,
            capture_output=True,
            env={**os.environ, "ADDER_SOCKET": str(tmp_path / "s"),
                 **(env or {})})
    return run


def call_result(verdict="ok", content=(), **receipt):
    return {
        "content": list(content),
        "isError": verdict != "ok",
        "_meta": {"adder/receipt": {"verdict": verdict, **receipt}},
    }


def text(value):
    return {"type": "text", "text": value}


def test_run_sends_the_program_and_prints_stdout_as_it_is(server, ctl):
    fake = server(tools__call=call_result(
        content=[text("é no newline\0"), text("stderr:\nwarned")],
        stdout_bytes=14))
    result = ctl("run", "-t", "2.5", "-", stdin="print('é')\n".encode())
    assert result.stdout == "é no newline\0".encode()
    assert result.stderr == b"stderr:\nwarned\n"
    assert result.returncode == 0
    assert [m["method"] for m in fake.received] == [
        "initialize", "notifications/initialized", "tools/call"]
    assert fake.received[2]["params"] == {
        "name": "run_python",
        "_meta": {"adder/whole": True},
        "arguments": {"code": "print('é')\n", "timeout": 2.5}}


def test_run_passes_standard_input_on_request(server, ctl, tmp_path):
    (tmp_path / "p.py").write_text("print(input())")
    fake = server(tools__call=call_result())
    assert ctl("run", "-i", "p.py", stdin=b"line\n").returncode == 0
    assert fake.received[2]["params"]["arguments"] == {
        "code": "print(input())", "stdin": "line\n"}


def test_run_sends_files_packages_and_session(server, ctl, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("1,é\n")
    (tmp_path / "b.bin").write_bytes(b"\xff\x00")
    (tmp_path / "a:b").write_text("")
    fake = server(tools__call=call_result())
    result = ctl("run", "--file", "./data/a.csv", "-f", "data/a.csv:x/y",
        "--file=%s" % (tmp_path / "b.bin"), "-f", "data/../b.bin", "-f",
        "a:b", "--dep", "one", "-d", "two>=2", "--session", "vm_1", "-",
        stdin=b"1")
    assert result.returncode == 0, result
    assert fake.received[2]["params"]["arguments"] == {"code": "1",
        "dependencies": ["one", "two>=2"], "session_id": "vm_1", "files": [
            {"path": "data/a.csv", "text": "1,é\n"},
            {"path": "x/y", "text": "1,é\n"},
            {"path": "b.bin", "base64": "/wA="},
            {"path": "b.bin", "base64": "/wA="},
            {"path": "a:b", "text": ""}]}


@pytest.mark.parametrize("path", ["nowhere", ".", "..", "a..b", "x:y"])
def test_a_file_that_cannot_be_read(ctl, path):
    result = ctl("run", "-f", path, "-", stdin=b"1")
    assert result.returncode == 66
    assert result.stderr.startswith(b"adderctl: cannot ")
    assert result.stderr.count(b"\n") == 1


def test_sessions(server, ctl):
    fake = server(tools__call={"content": [text("session_id: vm_1\n...")],
        "isError": False, "structuredContent": {"session_id": "vm_1"}})
    result = ctl("session", "start", "--dep", "one", "-d", "two", "-t", "60")
    assert (result.returncode, result.stdout) == (0, b"vm_1\n"), result
    assert fake.received[2]["params"] == {"name": "sandbox_initialize",
        "arguments": {"ttl": 60, "dependencies": ["one", "two"]}}


@pytest.mark.parametrize("command", ["fork", "stop"])
def test_a_refused_session(server, ctl, command):
    fake = server(tools__call={"content": [text("There is none.")],
        "isError": True})
    result = ctl("session", command, "vm_1")
    assert (result.returncode, result.stdout) == (125, b"")
    assert result.stderr == b"adderctl: There is none.\n"
    assert fake.received[2]["params"] == {"name": {"fork": "sandbox_fork",
        "stop": "sandbox_stop"}[command], "arguments": {
        "session_id": "vm_1"}}


@pytest.mark.parametrize("args", [("doctor", "--bogus"), ("run", "--bogus"),
    ("run", "-t", "x", "-"), ("run", "-t", "-1", "-"), ("run",), ("run", "-x"),
    ("status", "--bogus"), ("status", "x"), ("doctor", "x"), ("session",),
    ("session", "x"), ("session", "start", "x"), ("session", "stop"),
    ("session", "start", "-x"), ("session", "start", "-t", "nan"),
    ("session", "fork", "a", "b"), ("bogus",), ("--bogus",)])
def test_a_wrong_command_line_is_reported_by_the_programs_name(ctl, args):
    result = ctl(*args)
    assert (result.returncode, result.stdout) == (64, b"")
    assert re.match(rb"(\S*/)?adderctl: \S", result.stderr), result.stderr


def test_run_without_output_prints_the_hint_to_stderr(server, ctl):
    server(tools__call=call_result(content=[text("(no output)")],
                                   stdout_bytes=0))
    result = ctl("run", "-", stdin=b"1")
    assert (result.stdout, result.stderr) == (b"", b"(no output)\n")


@pytest.mark.parametrize("verdict, receipt, status", [
    ("ok", {"exit_code": 0}, 0),
    ("exit", {"exit_code": 3}, 3),
    ("exception", {"exception": "ValueError"}, 1),
    ("signal", {"signal": 11}, 139),
    ("timeout", {}, 124),
    ("memory", {}, 125),
    ("busy", {}, 125),
    ("internal", {}, 125),
])
def test_exit_status(server, ctl, verdict, receipt, status):
    server(tools__call=call_result(verdict, **receipt))
    assert ctl("run", "-", stdin=b"1").returncode == status


def test_images_and_files_are_saved_once_and_never_outside(
        server, ctl, tmp_path):
    data = bytes(range(256))
    encoded = base64.b64encode(data).decode()
    answer = call_result(content=[
        {"type": "image", "mimeType": "image/png", "data": encoded},
        {"type": "image", "mimeType": "image/png", "data": encoded,
         "_meta": {"adder/name": "out/a.png"}},
        {"type": "image", "mimeType": "image/png", "data": "AAAA",
         "_meta": {"adder/name": "other/a.png"}},
        {"type": "image", "mimeType": "image/png", "data": encoded,
         "_meta": {"adder/name": "figure-1.png"}},
        {"type": "image", "mimeType": "image/png", "data": encoded,
         "_meta": {"adder/name": "../.profile"}},
        {"type": "resource", "resource": {
            "uri": "adder://run/x/a%2F..%2f..%2Fevil%20x.bin",
            "blob": encoded}},
        {"type": "resource", "resource": {
            "uri": "adder://run/x/t.txt", "text": "hello"}},
        {"type": "resource_link", "uri": "adder://run/x/l.csv",
         "name": "l.csv"},
    ])
    server(tools__call=answer)
    out = tmp_path / "out"
    out.mkdir()
    (out / "t.txt").write_text("mine")
    result = ctl("run", "-o", "out", "-", stdin=b"1")
    assert result.returncode == 74
    assert (out / "result-1.png").read_bytes() == data
    assert (out / "evil x.bin").read_bytes() == data
    assert (out / "t.txt").read_text() == "mine"
    assert b"adderctl: cannot save out/t.txt: File exists" in result.stderr
    assert b"l.csv" in result.stderr
    assert (out / "a.png").read_bytes() == data
    assert (out / "3-a.png").read_bytes() == bytes(3)
    assert sorted(p.name for p in out.iterdir()) == [
        "3-a.png", "a.png", "evil x.bin", "figure-1.png", "result-1.png",
        "result-5.png", "t.txt"]


def test_an_image_is_named_when_it_is_not_saved(server, ctl, tmp_path):
    server(tools__call=call_result(content=[
        {"type": "image", "mimeType": "image/png", "data": "AAAA"}]))
    result = ctl("run", "-", stdin=b"1")
    assert result.returncode == 0
    assert result.stderr == (b"adderctl: result-1.png, image/png: not saved,"
                             b" -o dir saves it\n")


STATUS = {"ready": True, "workers": {"idle": 4, "busy": 0},
          "sandbox": "seccomp: on\ncgroup: off\n"}


def test_status_is_a_table(server, ctl):
    fake = server(adder__status=STATUS)
    result = ctl("status")
    assert result.stdout.decode() == (
        "ready         true\n"
        "workers.idle  4\n"
        "workers.busy  0\n"
        "sandbox       seccomp: on\n"
        "              cgroup: off\n")
    assert fake.received[2]["method"] == "adder/status"


def test_status_as_json(server, ctl):
    server(adder__status=STATUS)
    assert json.loads(ctl("status", "--json").stdout) == STATUS


@pytest.mark.parametrize("answer, status, words", [
    (None, 69, b"closed the connection"),
    (b"HTTP/1.1 400\n", 76, b"something else than JSON"),
    ({"error": {"code": -32601, "message": "no such method"}}, 76,
     b"no such method"),
])
def test_a_bad_answer_is_one_sentence(server, ctl, answer, status, words):
    server(adder__status=answer)
    result = ctl("status")
    assert result.returncode == status
    assert words in result.stderr
    assert result.stderr.startswith(b"adderctl: ")
    assert result.stderr.count(b"\n") == 1


@pytest.mark.parametrize("args, status, words", [
    (["status"], 69, b"cannot connect"),
    (["-s", "x" * 200, "status"], 64, b"longer than"),
    (["run", "absent.py"], 66, b"cannot open absent.py"),
    (["run", "-t", "0", "-"], 64, b'not "0"'),
    (["run", "-t", "1s", "-"], 64, b'not "1s"'),
    (["run"], 64, b"name one file"),
    (["run", "-i", "-"], 64, b"cannot be both"),
    (["status", "x"], 64, b'got "x"'),
    (["walk"], 64, b'no command "walk"'),
    ([], 64, b"usage"),
])
def test_a_bad_command_line(ctl, args, status, words):
    result = ctl(*args, stdin=b"1")
    assert result.returncode == status
    assert words in result.stderr


def test_a_program_that_is_no_utf8_is_refused(ctl):
    result = ctl("run", "-", stdin=b"x = '\xff'")
    assert result.returncode == 66
    assert b"no UTF-8" in result.stderr


def test_version(ctl):
    assert ctl("-V").stdout.startswith(b"adder ")


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_is_no_error(ctl, option):
    result = ctl(option)
    assert (result.returncode, result.stderr) == (0, b"")
    for word in b"run", b"status", b"doctor", b"ADDER_SOCKET":
        assert word in result.stdout
