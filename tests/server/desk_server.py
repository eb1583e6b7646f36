"""A real MCP server over stdio, with a file that says whether it runs: `python desk_server.py LIFE_FILE GREETING`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

life = Path(sys.argv[1])
greeting = sys.argv[2]
server = MCPServer("desk")


@server.tool()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"{greeting} {name}"


if __name__ == "__main__":
    mine = life / str(os.getpid())
    mine.write_text(greeting)
    try:
        server.run("stdio")
    finally:
        mine.unlink()
