"""What README.md tells people to type, against a real adderd."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

SOURCE = os.environ["ADDER_SOURCE"]
BUILD = os.environ["ADDER_BUILD"]
ADDERD = os.path.join(BUILD, "adderd")
ADDERCTL = os.path.join(BUILD, "adderctl")
QUAD = os.path.join(SOURCE, "examples", "quad.py")
# Imported by the program itself, which is slower but starts adderd at once.
LIGHT = ["-f", os.devnull, "-o", "python.modules=math"]
# The last digits are a matter of the processor.
ANSWER = re.compile(r"result=3\.1043790178555\d*\nerror=2\.02558\d*e-10\n")
WAIT = 60


@contextlib.contextmanager
def daemon(*options):
    """Starts adderd and gives the addresses that it says it listens on."""
    server = subprocess.Popen([ADDERD, *LIGHT, *options], text=True,
                              stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE)
    try:
        found = []
        for line in server.stderr:
            match = re.search(r"listening on \w+ (\S+)", line)
            if match:
                found.append(match.group(1))
            if len(found) == sum("listen." in o for o in options):
                break
        else:
            pytest.fail("adderd did not start")
        yield found
    finally:
        server.terminate()
        rest = server.communicate(timeout=WAIT)[1]
    assert server.returncode == 0, rest


def run(*command, stdin="", **kwargs):
    return subprocess.run(command, input=stdin, capture_output=True,
                          text=True, timeout=WAIT, **kwargs)


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    sock = tmp_path_factory.mktemp("readme") / "adder.sock"
    with daemon("-o", f"listen.unix={sock}", "-o",
                "listen.tcp=127.0.0.1:0") as found:
        yield found


def test_adderctl_runs_the_example(addresses):
    result = run(ADDERCTL, "-s", addresses[0], "run", "-t", "50", QUAD)
    assert result.returncode == 0, result.stderr
    assert ANSWER.fullmatch(result.stdout), result.stdout
    assert result.stderr == ""


@pytest.mark.parametrize("code, status, out, err", [
    ("print('a', end='')", 0, "a", ""),
    ("1 + 1", 0, "", "value: 2\n"),
    ("import sys; print(1); sys.exit(7)", 7, "1\n", None),
    ("1 / 0", 1, "", None),
    ("import os; os.abort()", 128 + 6, "", None),
])
def test_adderctl_keeps_what_the_program_did(addresses, code, status, out,
                                             err):
    result = run(ADDERCTL, "-s", addresses[0], "run", "-", stdin=code)
    assert (result.returncode, result.stdout) == (status, out), result.stderr
    assert err is None or result.stderr == err


def test_adderctl_timeout_and_input(addresses, tmp_path):
    program = tmp_path / "p.py"
    program.write_text("print(input(), flush=True)\nwhile True: pass\n")
    result = run(ADDERCTL, "-s", addresses[0], "run", "-i", "-t", "1",
                 str(program), stdin="hello\n")
    assert (result.returncode, result.stdout) == (124, "hello\n")
    assert "limit of 1 s" in result.stderr


def test_adderctl_saves_a_file(addresses, tmp_path):
    result = run(ADDERCTL, "-s", addresses[0], "run", "-o", str(tmp_path),
                 "-", stdin="open('a b.txt', 'w').write('x' * 10)")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "a b.txt").read_text() == "x" * 10


def test_adderctl_status(addresses):
    status = json.loads(run(ADDERCTL, "-s", addresses[0], "status",
                            "--json").stdout)
    table = run(ADDERCTL, "-s", addresses[0], "status").stdout
    assert status["workers"]["busy"] == 0
    assert re.search(r"^workers\.busy +0$", table, re.M)
    assert re.search(rf"^version +{status['version']}$", table, re.M)


needs_socat = pytest.mark.skipif(not shutil.which("socat"),
                                 reason="socat is not installed")


@needs_socat
@pytest.mark.parametrize("kind", [0, 1], ids=["unix", "tcp"])
def test_socat_as_the_client(addresses, kind):
    address = ["UNIX-CONNECT:", "TCP:"][kind] + addresses[kind]
    result = run("socat", "-", address,
                 stdin='{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert json.loads(result.stdout) == {
        "jsonrpc": "2.0", "id": 1, "result": {}}


@needs_socat
@pytest.mark.parametrize("kind", [0, 1], ids=["unix", "tcp"])
def test_socat_as_the_command_of_a_client(addresses, kind, tmp_path):
    # The example client puts --stdio after its command, so a script it is.
    address = ["UNIX-CONNECT:", "TCP:"][kind] + addresses[kind]
    bridge = tmp_path / "bridge"
    bridge.write_text(f"#!/bin/sh\nexec socat STDIO {address}\n")
    bridge.chmod(0o755)
    program = tmp_path / "p.py"
    program.write_text("print(6 * 7)\n")
    result = run(sys.executable, os.path.join(SOURCE, "examples",
                 "mcp_client.py"), str(bridge), str(program))
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("and answered\n\n42\n")


def test_the_example_client_starts_a_server(tmp_path):
    # With no configuration file of its own, as a desktop client starts it.
    server = tmp_path / "adderd"
    server.write_text(f"#!/bin/sh\nexec {ADDERD} {' '.join(LIGHT)} \"$@\"\n")
    server.chmod(0o755)
    result = run(sys.executable, os.path.join(SOURCE, "examples",
                 "mcp_client.py"), str(server), QUAD)
    assert result.returncode == 0, result.stderr
    assert ANSWER.search(result.stdout)
    with open(QUAD, encoding="utf-8") as program:
        assert program.read() in result.stdout
