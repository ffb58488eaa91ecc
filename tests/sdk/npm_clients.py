"""The clients that come from npm: installed once, from the lock file beside
this one, into $ADDER_SDK_DIR or the build directory."""

import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("ADDER_BUILD", "build")).resolve()
CLIENTS = pathlib.Path(os.environ.get("ADDER_SDK_DIR") or
    BUILD / "sdk-clients")
WAIT = 60


class Missing(Exception):
    """What cannot be had here, and why."""


def install():
    """Puts the packages into CLIENTS; Missing where npm cannot get them."""
    if not shutil.which("node") or not shutil.which("npm"):
        raise Missing("node and npm are not installed")
    lock = (HERE / "package-lock.json").read_bytes()
    want = hashlib.sha256(lock).hexdigest()
    stamp = CLIENTS / "stamp"
    CLIENTS.mkdir(parents=True, exist_ok=True)
    with open(CLIENTS / "lock", "w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text() == want:
            return
        shutil.rmtree(CLIENTS / "node_modules", ignore_errors=True)
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copyfile(HERE / name, CLIENTS / name)
        result = subprocess.run(["npm", "install", "--no-audit", "--no-fund",
            "--loglevel=error", "--fetch-retries=1"], cwd=CLIENTS,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=600)
        if result.returncode != 0:
            lines = result.stderr.strip().splitlines() or ["no message"]
            raise Missing("npm cannot install the clients: " + lines[0])
        stamp.write_text(want)


def new_node():
    """A Node.js of version 22.19 or newer, which some of them need: the
    system's or the packaged one; None if there is none."""
    for node in (shutil.which("node"),
            str(CLIENTS / "node_modules/.bin/node")):
        try:
            result = subprocess.run([node, "--version"], capture_output=True,
                text=True, timeout=WAIT)
        except (OSError, TypeError):
            continue
        version = tuple(int(n) for n in
            result.stdout.strip().lstrip("v").split(".")[:2] if n.isdigit())
        if version >= (22, 19):
            return node
    return None


def inspector():
    """The program of the Inspector, and the Node.js to run it with."""
    node = new_node()
    if node is None:
        raise Missing("no Node.js of version 22.19 or newer")
    top = CLIENTS / "node_modules/@modelcontextprotocol/inspector"
    package = json.loads((top / "package.json").read_text())
    return [node, str(top / package["bin"]["mcp-inspector"])]
