"""Calls notes-mcp through the official Python client in its modern mode and prints what came, as JSON.

    client.py PROGRAM ROOT
"""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

PROGRAM, ROOT = sys.argv[1:]


async def main():
    server = stdio_client(StdioServerParameters(command=PROGRAM, args=["--root", ROOT]))
    progress = []

    async def watch(done, total, message):
        progress.append([int(done), int(total)])

    async with Client(server, mode="2026-07-28") as client:
        listed = await client.list_tools()
        found = await client.call_tool("log_search", {"text": "ERROR"}, progress_callback=watch)
        refused = await client.call_tool("log_tail", {"lines": 201})
        plan = await client.call_tool("log_rotate_plan", {})
        applied = [
            await client.call_tool("log_rotate_apply", {"plan_id": plan.structured_content["plan_id"]})
            for _ in range(2)
        ]
        try:
            await client.call_tool("run_command", {})
            unknown = None
        except MCPError as error:
            unknown = error.error.code
        print(json.dumps({
            "version": client.protocol_version,
            "tools": [tool.name for tool in listed.tools],
            "found": found.structured_content["scanned_lines"],
            "progress": progress,
            "refused": [refused.is_error, refused.content[0].text],
            "applied": [result.structured_content["status"] for result in applied],
            "unknown": unknown,
        }))


asyncio.run(main())
