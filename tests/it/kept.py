"""files.dir read from outside, and its files through a client."""

import base64
import pathlib
import urllib.parse


def parse_about(path):
    """{name: (size, type)} and the other lines of a run's about file."""
    first, *lines = path.read_text().splitlines()
    assert first == "adder run 1"
    files, rest = {}, {}
    for line in lines:
        key, _, value = line.partition(" ")
        if key == "file":
            size, kind, name = value.split(" ")
            files[urllib.parse.unquote(name)] = (int(size), kind)
        else:
            rest[key] = value
    return files, rest


def runs_on_disk(top, session=None):
    """{run id: {name: path}} of what lies there, checked to be whole: each
    file is in its run's list with its size, and the other way round."""
    found = {}
    where = (pathlib.Path(top) / "runs" if session is None else
        pathlib.Path(top) / "sessions" / session)
    for run in where.iterdir():
        if run.name.startswith("."):
            continue
        assert sorted(p.name for p in run.iterdir()) == ["about", "files"]
        listed, _ = parse_about(run / "about")
        there = {str(p.relative_to(run / "files")): p
            for p in (run / "files").rglob("*") if p.is_file()}
        assert {n: p.stat().st_size for n, p in there.items()} == {
            n: size for n, (size, _) in listed.items()}
        found[run.name] = there
    return found


def resources(client):
    """All that resources/list has, page after page."""
    found, params = [], {}
    while True:
        result = client.rpc("resources/list", params)["result"]
        found += result["resources"]
        assert len(result["resources"]) <= 50
        if "nextCursor" not in result:
            return found
        params = {"cursor": result["nextCursor"]}


def split_uri(uri):
    """(run id, name) of adder://run/ID/NAME."""
    scheme, _, host, run, name = uri.split("/", 4)
    assert (scheme, host) == ("adder:", "run")
    return run, urllib.parse.unquote(name)


def read_resource(client, uri):
    reply = client.rpc("resources/read", {"uri": uri})
    if "error" in reply:
        return None
    (contents,) = reply["result"]["contents"]
    return (contents["text"].encode() if "text" in contents else
        base64.b64decode(contents["blob"]))


def read_file(client, uri, **arguments):
    """One call of read_file: (bytes, what it says of where it is)."""
    reply = client.rpc("tools/call", {"name": "read_file",
        "arguments": dict(arguments, uri=uri)})["result"]
    if reply["isError"]:
        return None, reply["content"][0]["text"]
    part, where = reply["content"]
    data = (part["text"].encode() if part["type"] == "text" else
        base64.b64decode(part["data"] if part["type"] == "image" else
            part["resource"]["blob"]))
    return data, where["text"]
