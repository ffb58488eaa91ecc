"""The official conformance suite, in the version that is out and in the one to
come, against adderd --conformance-fixtures."""

import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "it")]

import harness
import npm_clients
from test_sdk import CLIENTS

KNOWN = HERE / "conformance-known.yml"
NOW, NEXT = "@modelcontextprotocol/conformance", "conformance-next"


@pytest.fixture(scope="module")
def url():
    with harness.Daemon(dict(harness.LIGHT,
            **{"listen.http": "127.0.0.1:0"}),
            arguments=["--conformance-fixtures"]) as daemon:
        port = daemon.wait_log(r"listening on http [0-9.]+:([0-9]+)")[1]
        # The suite waits half a second for some answers.
        daemon.wait_log(r" ready: Python")
        yield "http://127.0.0.1:%s/mcp" % port


def known():
    """{scenario: why it fails}"""
    return dict(re.findall(r"^ *- ([a-z0-9-]+) # (.+)$", KNOWN.read_text(),
        re.MULTILINE))


def test_what_is_known_has_a_reason():
    entries = re.findall(r"^ *- ", KNOWN.read_text(), re.MULTILINE)
    assert len(entries) == len(known()) > 0


# The suite waits half a second for some of its answers, which a machine that
# has other things to do may not keep to.
TIMED = {"server-stateless": "2026-07-28"}


def conformance(url, tmp_path, package, *arguments):
    """{scenario: passed}, and what the suite said."""
    passed, text = run_suite(url, tmp_path, package, *arguments)
    for name in TIMED:
        for _ in range(3):
            if passed.get(name, True):
                break
            alone = run_suite(url, tmp_path, package, "--scenario", name,
                "--spec-version", TIMED[name])[1]
            passed[name] = re.search(r"Passed: (\d+)/\1, 0 failed",
                alone) is not None
    return passed, text


def run_suite(url, tmp_path, package, *arguments):
    node = npm_clients.new_node()
    if node is None:
        pytest.skip("no Node.js of version 22 or newer")
    program = CLIENTS / "node_modules" / package / "dist/index.js"
    result = subprocess.run([node, str(program), "server", "--url", url,
        "-o", str(tmp_path), *arguments], capture_output=True, text=True,
        timeout=180, cwd=CLIENTS, stdin=subprocess.DEVNULL)
    lines = re.findall(r"^(\S) ([a-z0-9-]+): \d+ passed", result.stdout,
        re.MULTILINE)
    text = result.stdout[-5000:] + result.stderr
    assert lines or "Passed: " in text, text
    return {name: mark == "\u2713" for mark, name in lines}, text


def test_all_of_today(url, tmp_path):
    passed, text = conformance(url, tmp_path, NOW, "--suite", "all")
    assert all(passed.values()) and len(passed) == 32, text


@pytest.mark.parametrize("revision, at_least",
    [("2025-11-25", 30), ("2026-07-28", 37)])
def test_what_a_revision_requires(url, tmp_path, revision, at_least):
    passed, text = conformance(url, tmp_path, NEXT, "--requirements",
        revision)
    required = text_of_requirements(revision)
    assert len(required) >= at_least
    assert required <= {name for name, good in passed.items() if good}, text
    assert {name for name, good in passed.items() if not good} <= set(known())


def text_of_requirements(revision):
    """The scenarios that the suite's own list has for servers."""
    path = CLIENTS / "node_modules" / NEXT / "requirements" / (
        revision + ".yaml")
    part = path.read_text().split("\nserver:\n")[1]
    return set(re.match(r"(?:  - [a-z0-9-]+\n)+", part)[0].replace("  - ",
        "").split())


def test_all_of_tomorrow(url, tmp_path):
    """What fails is known, and nothing that is known to fail passes."""
    passed, text = conformance(url, tmp_path, NEXT, "--suite", "all")
    assert len(passed) == 65, text
    assert {name for name, good in passed.items() if not good} == set(
        known()), text


def test_fixtures_are_out_of_reach():
    """No other way in has them, and no ordinary server."""
    with harness.Daemon(harness.LIGHT) as daemon:
        client = daemon.connect()
        names = [t["name"] for t in client.rpc("tools/list")["result"][
            "tools"]]
        assert not [n for n in names if n.startswith("test_")]
        assert client.rpc("tools/call", {"name": "test_simple_text"})[
            "error"]["code"] == -32602
        assert client.rpc("resources/read", {"uri": "test://static-text"})[
            "error"]["code"] == -32002
        assert client.rpc("prompts/get", {"name": "test_simple_prompt"})[
            "error"]["code"] == -32602
