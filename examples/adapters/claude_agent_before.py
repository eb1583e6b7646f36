"""An agent of the Claude Agent SDK as it is: a shipped order is cancelled, because the model said so."""

import asyncio
from tempfile import TemporaryDirectory

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query
from claude_shop import offline, open_server
from provider import serve_script
from scripted import SHIPPED
from shop import Shop


async def main(url: str, folder: str) -> None:
    shop = Shop()
    options = ClaudeAgentOptions(
        mcp_servers={"shop": open_server(shop)},
        allowed_tools=["mcp__shop__get_order", "mcp__shop__cancel_order"],
        env=offline(url, folder),
        setting_sources=[],
    )
    async for message in query(prompt="Cancel order 1002", options=options):
        if isinstance(message, ResultMessage):
            print(f"agent: {message.result}\nthe shop: {shop.done}")


with serve_script(SHIPPED) as url, TemporaryDirectory() as folder:
    asyncio.run(main(url, folder))
