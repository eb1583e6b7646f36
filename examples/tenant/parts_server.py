"""A small MCP server over standard input and output, as the tenant file names it: what is in stock."""

from mcp.server.mcpserver import MCPServer

STOCK = {"inner tube": 40, "chain": 12, "brake pad": 0}
server = MCPServer("parts")


@server.tool()
def stock_of(part: str) -> dict[str, int]:
    """How many of a part are in stock: inner tube, chain, brake pad."""
    return {part: STOCK.get(part.lower(), 0)}


if __name__ == "__main__":
    server.run("stdio")
