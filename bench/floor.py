"""The floor: the same program in an interpreter that already runs.

  floor.py SOCKET MODULE[,MODULE...]

Imports the modules, then serves one client after the other on a Unix
socket: what comes is a program, the answer is what it prints.  Nothing is
isolated, limited or cleaned up; it only says how fast one socket round trip
and an exec() can be.
"""

import importlib
import io
import socket
import sys


def serve(client):
    stdout = sys.stdout
    while data := client.recv(65536):
        sys.stdout = io.StringIO()
        exec(compile(data, "<string>", "exec"), {"__name__": "__main__"})
        text, sys.stdout = sys.stdout.getvalue(), stdout
        client.sendall(text.encode())


def main():
    path, modules = sys.argv[1:]
    for name in modules.split(","):
        importlib.import_module(name)
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()
    print("ready", flush=True)
    while True:
        client, _ = server.accept()
        with client:
            serve(client)


main()
