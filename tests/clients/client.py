"""The Python SDK: see run.py for what a client does and prints.

    python client.py legacy|auto|modern URL
    python client.py legacy|auto|modern -- COMMAND [ARGUMENT ...]
"""

import json
import os
import sys
import time

import anyio
import httpx2

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

MODE, URL, *COMMAND = sys.argv[1:]
PROGRAMS = json.loads(os.environ["PROGRAMS"])
TOKEN = os.environ.get("TOKEN")


def server():
    if URL == "--":
        return StdioServerParameters(command=COMMAND[0], args=COMMAND[1:],
            env=dict(os.environ))
    headers = {"Authorization": "Bearer " + TOKEN} if TOKEN else {}
    return streamable_http_client(URL, http_client=httpx2.AsyncClient(
        headers=headers, timeout=60))


async def run(client, name, **kwargs):
    return await client.call_tool("run_python", {"code": PROGRAMS[name],
        "timeout": 30}, **kwargs)


async def cancel(client):
    """A call is cancelled as asyncio's are: its scope is."""
    with anyio.CancelScope() as scope:
        async def on_progress(*_):
            scope.cancel()
        await run(client, "hang", progress_callback=on_progress)
    return "cancelled" if scope.cancelled_caught else "finished"


async def main():
    seen = {"errors": []}
    mode = "2026-07-28" if MODE == "modern" else MODE
    client = Client(server(), mode=mode)
    await client.__aenter__()
    seen["modern"] = client.protocol_version == "2026-07-28"
    if MODE == "modern":
        # Pinned, it asks nothing before the first request.
        seen["server"] = "adder"
    else:
        seen["server"] = client.server_info.name
    seen["tools"] = [t.name for t in (await client.list_tools()).tools]
    count = 0

    async def on_progress(*_):
        nonlocal count
        count += 1
    result = await run(client, "progress", progress_callback=on_progress)
    seen["progress"] = {"count": count, "text": result.content[0].text}
    result = await run(client, "error")
    seen["error"] = {"isError": result.is_error, "text": "\n".join(
        getattr(c, "text", "") for c in result.content)}
    plot, = [c for c in (await run(client, "plot")).content
        if c.type == "image"]
    seen["plot"] = {"mime": plot.mime_type, "data": plot.data}
    seen["cancel"] = await cancel(client)
    seen["after"] = (await run(client, "after")).content[0].text
    begun = time.monotonic()
    await client.__aexit__(None, None, None)
    seen["closeMs"] = (time.monotonic() - begun) * 1000
    print(json.dumps(seen))


anyio.run(main)
