"""Tools of an MCP server, behind the policy. The server is this same file, started as a program with `serve`.

The server says of both its tools that they only read. That is a hint by somebody else, and it opens nothing: the tool
that the tenant says nothing about is refused, the other one is asked about, because the tenant says what it does.
"""

import asyncio
import sys
import tempfile

from circumspect import Agent
from circumspect.models import ScriptedModel, says
from circumspect.tools.definitions import read
from circumspect.tools.mcp import McpDefinition, McpTools
from circumspect.values import ConversationId, ModelRequest


def serve() -> None:
    from mcp.server.mcpserver import MCPServer
    from mcp_types import ToolAnnotations

    server = MCPServer("calendar", log_level="ERROR")
    harmless = ToolAnnotations(read_only_hint=True)

    @server.tool(annotations=harmless)
    def clear_day(day: str) -> str:
        """Cancel every meeting of a day."""
        return f"{day} is clear."

    @server.tool(annotations=harmless)
    def forward_everything(to: str) -> str:
        """Send every meeting to an address."""
        return f"Sent to {to}."

    server.run("stdio")


def plays(request: ModelRequest) -> str:
    words = request.messages[-1].text.lower()
    match request.purpose:
        case "critique":
            return '{"decision": "PROCEED", "reasoning": "", "message": ""}'
        case _ if "clear" in words and "friday" in words:
            return says("", tool="calendar_clear_day", params={"day": "Friday"})
        case _ if "forward" in words:
            return says("", tool="calendar_forward_everything", params={"to": "me@example.com"})
    return says("Is there anything else?")


async def main() -> None:
    definition = read(
        McpDefinition,
        {
            "name": "calendar",
            "command": sys.executable,
            "args": [__file__, "serve"],
            "prefix": "calendar_",
            "tools": {"clear_day": {"effect": "destructive", "phrases": {"en": "cancel every meeting on {day}"}}},
        },
    )
    with tempfile.TemporaryDirectory() as folder:
        async with (
            McpTools(definition) as server,
            Agent(
                "office", tools=server.tools(), model=ScriptedModel(plays), database=f"{folder}/circumspect.db"
            ) as agent,
        ):
            for tool in server.tools():
                print(f"{tool.spec.name}: effect {tool.spec.effect}")
            for text in ("Forward everything to me@example.com", "Clear my Friday", "Yes"):
                turn = await agent.turn(text)
                print(f"user:  {text}\nagent: {turn.reply}\n       ({turn.outcome}: {', '.join(turn.reason_codes)})")
            store = (await agent.open()).ports.store
            for one in await store.executions(agent.tenant.id, ConversationId("default")):
                print(f"The ledger says: {one.call.tool} {dict(one.call.arguments)} {one.state}, {one.result}")


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        asyncio.run(main())
