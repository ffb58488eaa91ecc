"""The same transcripts over every carrier."""

import json
import re

import pytest

import harness

FILES = sorted((harness.source_dir() / "tests/transcripts").glob("*.jsonl"))


def mismatch(pattern, value, where="message"):
    """None if value fits the pattern, else a sentence that says why not."""
    if isinstance(pattern, dict) and "<some>" in pattern:
        if not isinstance(value, list):
            return "%s: %r is no array" % (where, value)
        whys = [mismatch(pattern["<some>"], item, where + "[]")
            for item in value]
        return None if None in whys else "%s has no such item: %s" % (where,
            "; ".join(whys))
    if isinstance(pattern, dict):
        if not isinstance(value, dict):
            return "%s: %r is no object" % (where, value)
        for key, part in pattern.items():
            if part == "<absent>":
                if key in value:
                    return "%s has %s: %r" % (where, key, value[key])
            elif key not in value:
                return "%s lacks %s: %r" % (where, key, value)
            else:
                why = mismatch(part, value[key], where + "." + key)
                if why:
                    return why
        return None
    if isinstance(pattern, list):
        if not isinstance(value, list) or len(value) != len(pattern):
            return "%s: %r is no array of %d" % (where, value, len(pattern))
        whys = (mismatch(part, item, "%s[%d]" % (where, i))
            for i, (part, item) in enumerate(zip(pattern, value)))
        return next((why for why in whys if why), None)
    kinds = {"<any>": object, "<string>": str, "<object>": dict,
        "<int>": int, "<number>": (int, float)}
    if isinstance(pattern, str) and pattern in kinds:
        ok = (isinstance(value, kinds[pattern]) and
            not (isinstance(value, bool) and pattern in ("<int>",
            "<number>")))
    elif isinstance(pattern, str) and pattern.startswith("<re:"):
        ok = (isinstance(value, str) and
            re.search(pattern[4:-1], value) is not None)
    else:
        ok = type(value) is type(pattern) and value == pattern
    return None if ok else "%s: %r, not %r" % (where, value, pattern)


def _lines(path):
    return path.read_text("utf-8").strip().split("\n")


def play(client, path):
    for number, line in enumerate(_lines(path), 1):
        step = json.loads(line)
        where = "%s line %d" % (path.name, number)
        if "->" in step:
            client.send(step["->"])
        elif "->raw" in step:
            client.send_bytes(step["->raw"].encode() + b"\n")
        elif "<-" in step:
            why = mismatch(step["<-"], client.receive())
            assert why is None, "%s: %s" % (where, why)
        else:
            assert set(step) == {"#"}, where
    client.send({"jsonrpc": "2.0", "id": "last", "method": "ping"})
    assert client.receive() == {"jsonrpc": "2.0", "id": "last", "result": {}}


@pytest.mark.parametrize("carrier", ["stdio", "unix", "tcp"])
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_transcript(daemon, carrier, path):
    client = daemon.connect(carrier, version=None)
    play(client, path)
    if carrier != "stdio":
        client.close()


def test_matcher_finds_differences():
    """The matcher itself can fail."""
    cases = [
        ({"a": 1}, {"a": 2}), ({"a": 1}, {}), ({"a": "<absent>"}, {"a": 0}),
        ([1], [1, 2]), ({"id": 1}, {"id": "1"}), ({"id": 1}, {"id": True}),
        ("<int>", True), ("<re:^x>", "yx"), ({"<some>": 1}, [2]),
        ({"<some>": 1}, []), ({"a": {}}, {"a": None}),
    ]
    for pattern, value in cases:
        assert mismatch(pattern, value), (pattern, value)
    assert mismatch({"a": [1, "<any>"]}, {"a": [1, None], "b": 2}) is None
