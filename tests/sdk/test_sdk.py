"""Official clients: the TypeScript SDK over stdio, and the Inspector."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import npm_clients
from npm_clients import BUILD, CLIENTS, WAIT

ADDERD = [str(BUILD / "adderd"), "-f", os.devnull, "-o",
    "python.modules=math", "--stdio"]


try:
    npm_clients.install()
except npm_clients.Missing as why:
    pytest.skip(str(why), allow_module_level=True)


@pytest.fixture(scope="module")
def seen():
    """What the SDK's client saw in one session."""
    script = CLIENTS / "client.mjs"	# beside node_modules, for its imports
    shutil.copyfile(HERE / "client.mjs", script)
    result = subprocess.run(["node", str(script)] + ADDERD, cwd=CLIENTS,
        capture_output=True, text=True, timeout=WAIT,
        stdin=subprocess.DEVNULL)
    assert result.returncode == 0, result.stderr + result.stdout
    return json.loads(result.stdout)


def receipt(result):
    return result["_meta"]["adder/receipt"]


def test_no_protocol_error(seen):
    assert seen["errors"] == []
    assert "rror" not in seen["stderr"], seen["stderr"]


def test_handshake(seen):
    assert seen["server"]["name"] == "adder" and seen["server"]["version"]
    assert {"tools", "resources", "prompts", "logging"} <= set(
        seen["capabilities"])
    assert 0 < len(seen["instructions"].encode()) < 2048
    assert seen["ping"] == seen["pingAfter"] == seen["level"] == {}
    assert seen["resources"] == seen["prompts"] == []


def test_tools(seen):
    tool, = [t for t in seen["tools"] if t["name"] == "run_python"]
    assert tool["inputSchema"]["type"] == "object"
    assert "code" in tool["inputSchema"]["required"]
    assert len(tool["description"].encode()) < 2048
    assert "outputSchema" not in tool
    assert set(tool["annotations"]) >= {"readOnlyHint", "destructiveHint",
        "idempotentHint", "openWorldHint"}


def test_schema_is_what_every_client_takes(seen):
    """No keyword that a known client refuses; names are short and plain."""
    def walk(schema):
        assert not set(schema) & {"anyOf", "oneOf", "allOf", "$ref",
            "$schema", "exclusiveMinimum", "exclusiveMaximum", "format"}
        assert isinstance(schema["type"], str)
        if schema["type"] == "array":
            walk(schema["items"])
        for name, part in schema.get("properties", {}).items():
            assert name.replace("_", "").isalnum() and len(name) <= 30
            walk(part)
    for tool in seen["tools"]:
        walk(tool["inputSchema"])
        assert len(tool["name"]) <= 30


def test_calls(seen):
    assert seen["hello"]["content"] == [{"type": "text",
        "text": "hello from the SDK\n"}]
    assert receipt(seen["hello"])["verdict"] == "ok"
    assert seen["failed"]["isError"] is True
    assert receipt(seen["failed"])["exception"] == "ZeroDivisionError"
    assert seen["image"]["content"][0]["text"] == "typed\n"
    assert seen["unknown"]["code"] == -32602
    assert seen["parallel"] == ["1\n", "4\n", "9\n", "16\n"]


def test_progress_and_cancellation(seen):
    assert seen["progress"] == sorted(set(seen["progress"]))
    assert len(seen["progress"]) >= 2
    assert "seen enough" in seen["progressCall"]["cancelled"]


def test_close_is_prompt(seen):
    assert seen["closeMs"] < 1000, "close took %d ms" % seen["closeMs"]


def inspect(*arguments):
    try:
        program = npm_clients.inspector()
    except npm_clients.Missing as why:
        pytest.skip(str(why))
    return subprocess.run([*program, "--cli", *arguments,
        "--format", "json", "-q", "--", *ADDERD],
        capture_output=True, text=True, timeout=WAIT, cwd=CLIENTS,
        stdin=subprocess.DEVNULL, env=dict(os.environ, HOME=str(CLIENTS)))


def test_inspector_lists_tools():
    """Strictly: no schema that some client would refuse."""
    result = inspect("--method", "tools/list", "--strict")
    assert result.returncode == 0, (result.stdout, result.stderr)
    tools = json.loads(result.stdout)["result"]["tools"]
    assert "run_python" in [t["name"] for t in tools]


def test_inspector_calls_a_tool():
    result = inspect("--method", "tools/call", "--tool-name", "run_python",
        "--tool-args-json", json.dumps({"code": "print(6 * 7)"}))
    assert result.returncode == 0, (result.stdout, result.stderr)
    assert json.loads(result.stdout)["result"]["content"][0]["text"] == "42\n"


def test_inspector_sees_a_tool_error():
    result = inspect("--method", "tools/call", "--tool-name", "run_python",
        "--tool-args-json", json.dumps({"code": "1 / 0"}))
    assert result.returncode == 5, (result.stdout, result.stderr)
