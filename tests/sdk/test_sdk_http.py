"""Official clients over HTTP: the TypeScript SDK in both lines and eras."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "it")]

import harness
import npm_clients
from test_sdk import CLIENTS, WAIT


@pytest.fixture(scope="module")
def daemon():
    with harness.Daemon(dict(harness.LIGHT,
            **{"listen.http": "127.0.0.1:0"})) as daemon:
        yield daemon


def url_of(daemon):
    return "http://127.0.0.1:%s/mcp" % daemon.wait_log(
        r"listening on http [0-9.]+:([0-9]+)")[1]


@pytest.mark.parametrize("mode, era", [("v1", "legacy"),
    ("legacy", "legacy"), ("auto", "modern"), ("modern", "modern")])
def test_client(daemon, mode, era):
    script = CLIENTS / "http-client.mjs"	# beside node_modules
    shutil.copyfile(HERE / "http-client.mjs", script)
    result = subprocess.run(["node", str(script), url_of(daemon), mode],
        cwd=CLIENTS, capture_output=True, text=True, timeout=WAIT,
        stdin=subprocess.DEVNULL)
    assert result.returncode == 0, result.stderr + result.stdout
    seen = json.loads(result.stdout)
    assert seen["errors"] == []
    assert seen["era"] == era
    assert (seen["session"] is not None) == (era == "legacy")
    assert seen["server"]["name"] == "adder"
    assert {"run_python", "list_packages"} <= set(seen["tools"])
    assert seen["prompts"] == []
    assert seen["hello"]["content"] == [{"type": "text", "text": "hello\n"}]
    assert seen["failed"]["isError"] is True
    assert seen["unknown"]["code"] == -32602
    assert seen["parallel"] == ["1\n", "4\n", "9\n", "16\n"]
    assert len(seen["progress"]) >= 2
    assert seen["progress"] == sorted(set(seen["progress"]))
    assert "seen enough" in seen["cancelled"]
    assert seen["after"] == "7\n"


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_inspector(daemon, era):
    try:
        program = npm_clients.inspector()
    except npm_clients.Missing as why:
        pytest.skip(str(why))
    result = subprocess.run([*program,
        "--cli", url_of(daemon), "--transport", "http", "--method",
        "tools/list", "--format", "json", "-q", "--strict",
        "--protocol-era", era], capture_output=True, text=True, timeout=WAIT,
        cwd=CLIENTS, stdin=subprocess.DEVNULL,
        env=dict(os.environ, HOME=str(CLIENTS)))
    assert result.returncode == 0, (result.stdout, result.stderr)
    assert "run_python" in result.stdout
