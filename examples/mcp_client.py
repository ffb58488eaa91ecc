"""Runs one Python program through an MCP server on its standard streams.

usage: mcp_client.py ADDERD PROGRAM.py [OPTION of adderd ...]

The whole exchange of a client is here: initialize, the notification that it
is done, one tools/call.  Needs nothing but the standard library.
"""

import json
import subprocess
import sys


class Client:
    """An MCP session with a server that is started for it."""

    def __init__(self, command):
        self.server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            encoding="utf-8")
        self.last_id = 0

    def send(self, message):
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}))
        self.server.stdin.write("\n")
        self.server.stdin.flush()

    def request(self, method, params):
        """Sends a request and returns its result; notifications that come
        in between are passed over."""
        self.last_id += 1
        self.send({"id": self.last_id, "method": method, "params": params})
        for line in self.server.stdout:
            message = json.loads(line)
            if message.get("id") != self.last_id:
                continue
            if "error" in message:
                sys.exit(f"{method}: {message['error']['message']}")
            return message["result"]
        sys.exit(f"{method}: the server ended with status "
                 f"{self.server.wait()} and gave no answer")

    def initialize(self):
        result = self.request("initialize", {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "example", "version": "1"},
        })
        self.send({"method": "notifications/initialized"})
        return result

    def close(self):
        self.server.stdin.close()
        return self.server.wait(timeout=10)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    adderd, program, *options = sys.argv[1:]
    with open(program, encoding="utf-8") as file:
        code = file.read()

    client = Client([adderd, "--stdio", *options])
    server = client.initialize()["serverInfo"]
    result = client.request("tools/call", {
        "name": "run_python",
        "arguments": {"code": code, "timeout": 30},
    })
    client.close()

    print(f"\n{server['name']} {server['version']} ran\n\n{code}")
    print("and answered\n")
    for block in result["content"]:
        if block["type"] == "text":
            print(block["text"].rstrip("\n"))
    sys.exit(1 if result.get("isError") else 0)


if __name__ == "__main__":
    main()
