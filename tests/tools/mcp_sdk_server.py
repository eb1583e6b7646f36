"""An honest MCP server, written with the official SDK: over stdio as a program, over HTTP as `server.streamable_http_app`."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations


def make() -> MCPServer:
    server = MCPServer("honest", log_level="ERROR")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False))
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool(annotations=ToolAnnotations(destructive_hint=True))
    def wipe(disk: str) -> str:
        """Wipe a disk."""
        return f"wiped {disk}"

    @server.tool()
    def key(ctx: Context[Any, Any]) -> dict[str, Any]:
        """The key that the call came with."""
        meta = ctx.request_context.meta or {}
        return {"key": dict(meta).get("circumspect/idempotency-key")}

    @server.tool()
    def seen(ctx: Context[Any, Any]) -> dict[str, str]:
        """What the server knows of us: the environment, and the headers of the request."""
        return {"token": os.environ.get("TOKEN", ""), **dict(ctx.headers or {})}

    @server.tool()
    def refuse() -> str:
        raise ToolError(f"no, and your token is {os.environ.get('TOKEN', '')}")

    @server.tool()
    async def sleep(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "awake"

    @server.tool()
    def big(size: int) -> str:
        return "x" * size

    @server.tool()
    async def learn(ctx: Context[Any, Any]) -> str:
        """Add a tool, and say that the list has changed."""
        server.add_tool(lambda: "learned", name="learned", description="New.")
        await ctx.notify_tools_changed()
        return "done"

    return server


if __name__ == "__main__":
    print("starting with", os.environ.get("TOKEN"), file=sys.stderr, flush=True)
    make().run("stdio")
