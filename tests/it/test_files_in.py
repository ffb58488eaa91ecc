"""The files that come with a call: where they go, and what is refused."""

import base64
import json
import urllib.parse

import pytest

from harness import Daemon, LIGHT

LIST = """import os
for d, dirs, names in sorted(os.walk('.')):
    for n in sorted(names):
        p = os.path.join(d, n)
        print(os.path.relpath(p), open(p, 'rb').read())
"""

OPTIONS = dict(LIGHT, **{"limits.input_bytes": "1m", "limits.inputs": "300"})


def came_back(answer):
    """The embedded files of an answer: {path: bytes}."""
    found = {}
    for block in answer.files:
        r = block["resource"]
        path = urllib.parse.unquote(r["uri"].split("/", 4)[4])
        found[path] = (r["text"].encode() if "text" in r else
            base64.b64decode(r["blob"]))
    return found


def listed(answer):
    return [line for line in answer.stdout.splitlines()
        if not line.startswith("main.py ")]


def test_text_and_base64(client):
    answer = client.run(LIST, files=[{"path": "a.txt", "text": "hé\n"},
        {"path": "b/c/d.bin", "base64":
            base64.b64encode(bytes(range(256))).decode()},
        {"path": "empty", "text": ""}])
    assert answer.verdict == "ok"
    assert listed(answer) == ["a.txt %r" % "hé\n".encode(), "empty b''",
        "b/c/d.bin %r" % bytes(range(256))]


def test_they_do_not_come_back_unless_changed(client):
    files = [{"path": "same.txt", "text": "12345"},
        {"path": "in_place.txt", "text": "12345"},
        {"path": "longer.txt", "text": "12345"},
        {"path": "renamed.txt", "text": "12345"},
        {"path": "deleted.txt", "text": "12345"},
        {"path": "touched/same", "text": "x"}]
    answer = client.run("""import os
open('same.txt').read()
# As many bytes, in the clock's same step as they were placed.
with open('in_place.txt', 'r+') as f: f.write('54321')
with open('longer.txt', 'a') as f: f.write('6')
os.rename('renamed.txt', 'new.txt')
os.remove('deleted.txt')
""", files=files)
    assert came_back(answer) == {
        "in_place.txt": b"54321", "longer.txt": b"123456",
        "new.txt": b"12345"}


def test_replaced_by_one_of_the_same_bytes_comes_back(client):
    """A file that was written anew is the run's own, whatever is in it."""
    answer = client.run("import os\nopen('t', 'w').write('12345')\n"
        "os.replace('t', 'a.txt')", files=[{"path": "a.txt",
        "text": "12345"}])
    assert came_back(answer) == {"a.txt": b"12345"}


@pytest.mark.parametrize("name", ["日本語.csv", "naïve café.txt", "nai\u0308ve",
    "a b", "-rf", "💾.bin", "\u202egnp.exe", "%2e%2e", "a\\b", "'\"$(x)`",
    "x" * 255, "/".join(["d"] * 16), "...", ".hidden"])
def test_unusual_names(client, name):
    answer = client.run("import os\n"
        "print(open(%r).read(), end='')" % name,
        files=[{"path": name, "text": "yes"}])
    assert answer.stdout == "yes"


def test_composed_and_decomposed_are_two_names(client):
    answer = client.run(LIST, files=[{"path": "\u00e9", "text": "1"},
        {"path": "e\u0301", "text": "2"}])
    assert sorted(line[-4:] for line in listed(answer)) == ["b'1'", "b'2'"]


@pytest.mark.parametrize("path, word", [
    ("/etc/passwd", "relative"), ("../x", ".."), ("a/../b", ".."),
    ("a/..", ".."), ("./a", '"." or ".."'), ("", "empty"), ("a//b", "slash"),
    ("a/", "slash"), ("x" * 256, "255"), ("d/" * 16 + "x", "16"),
    ("d/" * 600 + "x", "1000"), ("a\nb", "control"), ("a\0b", "control"),
    ("a\x7f", "control"), ("main.py", "program itself"),
    ("main.py/x", "program itself"), ("..", "..")])
def test_paths_that_are_refused(client, path, word):
    answer = client.run("print('ran')", files=[{"path": "fine", "text": ""},
        {"path": path, "text": "x"}])
    assert answer.is_error and answer.verdict is None
    assert word in answer.text and "files[1]" in answer.text
    assert "ran" not in answer.text


@pytest.mark.parametrize("files, word", [
    ([{"path": "a", "text": "1"}, {"path": "b", "text": "2"},
        {"path": "a", "text": "3"}], "\"a\" twice"),
    ([{"path": "a", "text": "1"}, {"path": "a.b", "text": "2"},
        {"path": "a/b", "text": "3"}], "both as a file and"),
    ([{"path": "a"}], "neither"), ([{"text": "a"}], "no path"),
    ([{"path": "a", "text": "1", "base64": "MQ=="}], "both text and base64"),
    ([{"path": "a", "base64": "M"}], "cannot be decoded"),
    ([{"path": "a", "base64": "MQ=\0="}], "cannot be decoded"),
    ([{"path": "a", "base64": "_-=="}], "cannot be decoded"),
    ([{"path": "a", "content": "MQ=="}], "member \"content\""),
    ([{"path": "a", "text": 1}], "must be a string"),
    ([{"path": 1, "text": ""}], "no path"),
    ("a.txt", "an array of objects"), (["a.txt"], "an array of objects"),
    ({"path": "a", "text": ""}, "an array of objects"),
    ([{"path": "f%d" % i, "text": ""} for i in range(301)], "limit of 300"),
    ([{"path": "a", "text": "x" * (1 << 19)}, {"path": "b",
        "text": "x" * (1 << 19) + "y"}], "1048577 bytes"),
])
def test_lists_that_are_refused(client, files, word):
    answer = client.run("print('ran')", files=files)
    assert answer.is_error and word in answer.text
    assert "ran" not in answer.text
    assert client.run("print(1)").stdout == "1\n"


def test_as_the_text_of_a_list_and_broken_lines(client):
    text = base64.encodebytes(b"x" * 100).decode()
    assert "\n" in text
    answer = client.run(LIST, files=json.dumps([{"path": "a",
        "base64": text}]))
    assert listed(answer) == ["a %r" % (b"x" * 100)]


def test_the_most_there_may_be(client):
    half = "x" * (1 << 19)
    answer = client.run("import os\nprint(os.path.getsize('a') + "
        "os.path.getsize('b'))", files=[{"path": "a", "text": half},
        {"path": "b", "text": half}])
    assert answer.stdout == "1048576\n" and not answer.files
    answer = client.run("import os\nprint(len(os.listdir('d')))",
        files=[{"path": "d/%d" % i, "text": str(i)} for i in range(300)])
    assert answer.stdout == "300\n" and not answer.files


def test_no_room_for_them():
    with Daemon(dict(LIGHT, **{"limits.files": "20"})) as d:
        client = d.connect()
        answer = client.run("print('ran')", files=[{"path": "d/%d" % i,
            "text": "x"} for i in range(50)])
        assert answer.verdict in ("files", "exception")
        assert "argument files" in answer.text
        assert "ran" not in answer.stdout
        assert client.run("print(1)").stdout == "1\n"


def test_nothing_of_one_call_reaches_the_next(client):
    client.run("pass", files=[{"path": "left/behind", "text": "x"}])
    for _ in range(8):
        assert listed(client.run(LIST)) == []


def test_modules_and_data_for_the_program(client):
    answer = client.run("import helper\nprint(helper.f())", files=[
        {"path": "helper.py", "text": "def f(): return open('d.csv').read()"},
        {"path": "d.csv", "text": "1,2"}])
    assert answer.stdout == "1,2\n"
    assert answer.files == []
