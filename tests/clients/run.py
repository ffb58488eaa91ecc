"""All official clients against adderd: a table of client, era and carrier.

    run.py [WORD ...]     only clients whose name has a word

A client is a program that is given a mode and a server: a URL, or "--" and a
command to start.  It connects, lists the tools, makes a call with progress,
one that fails, one that plots, one that it cancels while it runs and one after
that, and closes.  Then it prints what it saw as one JSON object:

    server modern tools[] progress{count,text} error{isError,text}
    plot{mime,data} cancel after closeMs errors[]

The programs to run are in $PROGRAMS, a bearer token in $TOKEN.  Exits 1 if a
cell failed, 77 if nothing could be tried.  What cannot be installed here is
skipped with the reason.
"""

import argparse
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "it"), str(HERE.parent / "sdk")]

import harness
import npm_clients
from npm_clients import Missing

BUILD = npm_clients.BUILD
WORK = BUILD / "clients"
WAIT = 120
TOKEN = "clients-0123456789abcdef"
OPTIONS = {"python.modules": "math,matplotlib.pyplot", "pool.warm": "2"}
PROGRAMS = {
    "progress": "import time\nfor i in range(4):\n    print(i, flush=True)\n"
        "    time.sleep(0.3)\n",
    "error": "1 / 0",
    "plot": "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\n",
    "hang": "import time\nfor i in range(100):\n    print(i, flush=True)\n"
        "    time.sleep(0.3)\n",
    "after": "print(6 * 7)",
}


def run(argv, timeout=WAIT, **kwargs):
    return subprocess.run(argv, capture_output=True, text=True,
        timeout=timeout, stdin=subprocess.DEVNULL, **kwargs)


def last_line(text):
    return (text.strip().splitlines() or ["no message"])[-1][:200]


# --- the clients ------------------------------------------------------------

class Node:
    """@modelcontextprotocol/sdk, or @modelcontextprotocol/client."""

    def __init__(self, package, modes):
        self.name = "%s %s" % (package, json.loads((HERE.parent /
            "sdk/package.json").read_text())["dependencies"][package])
        self.modes = modes

    def prepare(self):
        npm_clients.install()
        self.script = npm_clients.CLIENTS / "table.mjs"
        shutil.copyfile(HERE / "client.mjs", self.script)

    def argv(self, mode, target):
        return ["node", str(self.script), mode, *target]


class Python:
    modes = {"legacy": False, "auto": True, "modern": True}

    def __init__(self):
        self.requirements = HERE / "requirements.txt"
        self.name = "mcp (Python) " + re.search(r"^mcp==(\S+)",
            self.requirements.read_text(), re.MULTILINE)[1]

    def prepare(self):
        self.python = WORK / "python/bin/python"
        stamp = WORK / "python/stamp"
        if stamp.exists() and stamp.read_text() == \
                self.requirements.read_text():
            return
        shutil.rmtree(WORK / "python", ignore_errors=True)
        for argv in ([sys.executable, "-m", "venv", str(WORK / "python")],
                [str(self.python), "-m", "pip", "-q",
                    "--disable-pip-version-check", "install", "--retries", "1",
                    "-r", str(self.requirements)]):
            result = run(argv, 600)
            if result.returncode != 0:
                raise Missing(last_line(result.stderr))
        stamp.write_text(self.requirements.read_text())

    def argv(self, mode, target):
        return [str(self.python), str(HERE / "client.py"), mode, *target]


class Compiled:
    """Sources are copied, so that what is made is not beside them."""

    def prepare(self):
        if not shutil.which(self.tool):
            raise Missing("%s is not installed" % self.tool)
        top = WORK / self.directory
        shutil.copytree(HERE / self.directory, top, dirs_exist_ok=True)
        for argv in self.fetch:
            result = run(argv, 600, cwd=top, env=self.env())
            if result.returncode != 0:
                raise Missing(last_line(result.stderr))
        result = run(self.build, 900, cwd=top, env=self.env())
        if result.returncode != 0:
            raise RuntimeError(result.stderr[-3000:])
        self.program = str(top / self.made)

    def env(self):
        return dict(os.environ)

    def argv(self, mode, target):
        return [self.program, mode, *target]


class Go(Compiled):
    tool, directory, made = "go", "go", "client"
    modes = {"legacy": False, "auto": True}
    fetch = [["go", "mod", "download"]]
    build = ["go", "build", "-o", "client", "."]

    def __init__(self):
        self.name = "go-sdk " + re.search(r"go-sdk v(\S+)", (HERE /
            "go/go.mod").read_text())[1]

    def env(self):
        # A toolchain that is too old is a reason, not to get another.
        return dict(os.environ, GOTOOLCHAIN="local", GOFLAGS="-mod=readonly")


class Rust(Compiled):
    tool, directory, made = "cargo", "rust", "target/debug/adder-client"
    modes = {"legacy": False, "auto": True, "modern": True}
    fetch = [["cargo", "fetch", "-q"]]
    build = ["cargo", "build", "-q"]

    def __init__(self):
        self.name = "rmcp (Rust) " + re.search(r'version = "=(\S+?)"', (HERE /
            "rust/Cargo.toml").read_text())[1]

    def prepare(self):
        # What the SDK asks for; an older one fails with many words.
        version = re.search(r"(\d+)\.(\d+)", run(["cargo",
            "--version"]).stdout) if shutil.which("cargo") else None
        if version and tuple(map(int, version.groups())) < (1, 88):
            raise Missing("cargo %s is older than 1.88" % version[0])
        super().prepare()

    def env(self):
        env = dict(os.environ)
        env.pop("CARGO_TARGET_DIR", None)
        return env


class Inspector:
    """A program for the shell, so each step is a connection of its own; it
    shows no progress and cannot cancel."""

    modes = {"legacy": False, "modern": True}

    def __init__(self):
        package = "@modelcontextprotocol/inspector"
        self.name = "%s %s" % (package, json.loads((HERE.parent /
            "sdk/package.json").read_text())["dependencies"][package])

    def prepare(self):
        npm_clients.install()
        self.program = npm_clients.inspector()

    def step(self, mode, target, token, *arguments, status=0):
        server = (["--", *target[1:]] if target[0] == "--" else
            [])
        argv = [*self.program, "--cli"]
        if target[0] != "--":
            argv += [target[0], "--transport", "http"]
        argv += [*arguments, "--format", "json", "-q", "--protocol-era", mode]
        if token:
            argv += ["--header", "Authorization: Bearer " + token]
        result = run(argv + server, cwd=npm_clients.CLIENTS,
            env=dict(os.environ, HOME=str(npm_clients.CLIENTS)))
        assert result.returncode == status, (arguments, result.returncode,
            result.stdout[-500:], result.stderr[-1000:])
        return json.loads(result.stdout)["result"] if status == 0 else None

    def call(self, mode, target, token, name, status=0):
        return self.step(mode, target, token, "--method", "tools/call",
            "--tool-name", "run_python", "--tool-args-json", json.dumps(
                {"code": PROGRAMS[name], "timeout": 30}), status=status)

    def judge(self, mode, target, token):
        if mode == "legacy":
            self.step(mode, target, token, "--method", "initialize")
        tools = self.step(mode, target, token, "--method", "tools/list",
            "--strict")
        assert "run_python" in [t["name"] for t in tools["tools"]]
        result = self.call(mode, target, token, "after")
        assert result["content"][0]["text"] == "42\n"
        self.call(mode, target, token, "error", status=5)
        check_plot(*((c["mimeType"], c["data"]) for c in self.call(mode,
            target, token, "plot")["content"] if c["type"] == "image"))

    def refused(self, mode, target):
        result = run([*self.program, "--cli", target[0], "--transport",
            "http", "--method", "tools/list", "-q", "--protocol-era", mode,
            "--header", "Authorization: Bearer wrong"],
            cwd=npm_clients.CLIENTS, env=dict(os.environ,
                HOME=str(npm_clients.CLIENTS)))
        assert result.returncode not in (0, 1) and "run_python" not in \
            result.stdout, (result.returncode, result.stdout)


CLIENTS = [
    Node("@modelcontextprotocol/sdk", {"v1": False}),
    Node("@modelcontextprotocol/client",
        {"legacy": False, "auto": True, "modern": True}),
    Inspector(), Python(), Go(), Rust(),
]


# --- what is expected of them -----------------------------------------------

def check_plot(*plots):
    (mime, data), = plots
    assert mime == "image/png", mime
    assert base64.b64decode(data, validate=True).startswith(b"\x89PNG\r\n")


def check(seen, modern, carrier):
    assert seen["errors"] == [], seen["errors"]
    assert seen["server"] == "adder", seen["server"]
    assert seen["modern"] is modern, "not in the era that was wanted"
    assert "run_python" in seen["tools"]
    assert seen["progress"]["text"] == "0\n1\n2\n3\n", seen["progress"]
    assert seen["progress"]["count"] >= 2, seen["progress"]
    assert seen["error"]["isError"] is True
    assert "ZeroDivisionError" in seen["error"]["text"], seen["error"]
    check_plot((seen["plot"]["mime"], seen["plot"]["data"]))
    assert seen["cancel"].startswith("cancelled"), seen["cancel"]
    assert seen["after"] == "42\n", seen["after"]
    assert carrier != "stdio" or seen["closeMs"] < 1900, \
        "closing took %d ms, as if it had to be killed" % seen["closeMs"]


def environment(token=None):
    env = dict(os.environ, PROGRAMS=json.dumps(PROGRAMS))
    env.pop("TOKEN", None)
    if token:
        env["TOKEN"] = token
    return env


def judge(client, mode, target, carrier, token):
    if hasattr(client, "judge"):
        client.judge(mode, target, token)
        return
    result = run(client.argv(mode, target), env=environment(token))
    assert result.returncode == 0, (result.stderr or result.stdout)[-1500:]
    check(json.loads(result.stdout.strip().splitlines()[-1]),
        client.modes[mode], carrier)


def refused(client, mode, target):
    """The wrong token gets nothing."""
    if hasattr(client, "refused"):
        client.refused(mode, target)
        return
    result = run(client.argv(mode, target), env=environment("wrong"))
    assert result.returncode != 0 and "run_python" not in result.stdout


class Carriers:
    """The servers of the table, and how each cell reaches its own."""

    names = ("stdio", "http", "token")

    def __init__(self):
        tokens = WORK / "tokens"
        tokens.write_text("clients %s\n" % TOKEN)
        tokens.chmod(0o644)
        options = dict(OPTIONS, **{"listen.http": "127.0.0.1:0"})
        self.daemons = {"http": harness.Daemon(options),
            "token": harness.Daemon(dict(options,
                **{"http.token_file": str(tokens)}))}

    def target(self, carrier):
        if carrier == "stdio":
            words = ["--", str(BUILD / "adderd"), "-f", os.devnull]
            for key, value in {**harness.COMMON, **OPTIONS}.items():
                words += ["-o", "%s=%s" % (key, value)]
            return words + ["--stdio"]
        port = self.daemons[carrier].wait_log(
            r"listening on http [0-9.]+:([0-9]+)")[1]
        return ["http://127.0.0.1:%s/mcp" % port]

    def cancelled(self, carrier):
        """How many calls were, as the server has it; None on pipes."""
        if carrier == "stdio":
            return None
        with self.daemons[carrier].connect(version=None) as client:
            return client.rpc("adder/status")["result"]["calls"]["cancelled"]

    def try_cell(self, client, mode, carrier):
        before = self.cancelled(carrier)
        token = TOKEN if carrier == "token" else None
        target = self.target(carrier)
        judge(client, mode, target, carrier, token)
        if before is not None and not hasattr(client, "judge"):
            harness.eventually(lambda: self.cancelled(carrier) == before + 1,
                "the server ends what its client cancelled")
        if token:
            refused(client, mode, target)

    def stop(self):
        for daemon in self.daemons.values():
            daemon.stop()


# --- the table --------------------------------------------------------------

def rows_of(clients, carriers):
    """(client, mode, {carrier: (state, why)}) as they are done."""
    for client in clients:
        why = None
        try:
            client.prepare()
        except Missing as missing:
            why = "skipped", str(missing)
        except Exception as error:
            why = "FAILED", "cannot be built: %s" % error
        for mode in client.modes:
            cells = {}
            for carrier in carriers.names:
                cells[carrier] = why or try_one(carriers, client, mode,
                    carrier)
            yield client, mode, cells


def try_one(carriers, client, mode, carrier):
    begun = time.monotonic()
    try:
        carriers.try_cell(client, mode, carrier)
    except Exception as error:
        return "FAILED", "%s: %s" % (type(error).__name__, error)
    return "ok %.1fs" % (time.monotonic() - begun), None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*")
    arguments = parser.parse_args()
    clients = [c for c in CLIENTS if not arguments.words or
        any(w in c.name.lower() for w in arguments.words)]
    WORK.mkdir(parents=True, exist_ok=True)
    harness.become_subreaper()
    carriers = Carriers()
    reasons, states = [], []
    print("%-38s %-7s" % ("client", "mode"), *("%-9s" % name
        for name in carriers.names))
    for client, mode, cells in rows_of(clients, carriers):
        print("%-38s %-7s" % (client.name, mode), *("%-9s" % cells[name][0]
            for name in carriers.names), flush=True)
        states += [state for state, _ in cells.values()]
        reasons += ["%s: skipped: %s" % (client.name, why) if state ==
            "skipped" else "%s %s, %s: %s" % (client.name, mode, name, why)
            for name, (state, why) in cells.items() if why]
    carriers.stop()
    print("Inspector makes no call with progress and none that it cancels.")
    for reason in dict.fromkeys(reasons):
        print(reason)
    print("%d ok, %d skipped, %d failed" % (
        sum(s.startswith("ok") for s in states), states.count("skipped"),
        states.count("FAILED")))
    if "FAILED" in states:
        return 1
    return 0 if any(s.startswith("ok") for s in states) else 77


if __name__ == "__main__":
    sys.exit(main())
