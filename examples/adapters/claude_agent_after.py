"""The same agent with our hooks: the shipped order stays, and the other one waits for a yes."""

import asyncio
from tempfile import TemporaryDirectory

from claude_agent_sdk import ClaudeAgentOptions, ToolResultBlock, UserMessage, query
from claude_shop import offline, open_server
from provider import serve_script
from scripted import PAID, SHIPPED
from shop import POLICY, Shop

from circumspect.adapters.claude_agent import CircumspectHooks


async def main(folder: str) -> None:
    shop = Shop()

    def ask(ruling) -> str:
        print(f"asked: {ruling.ask_user}\nthe shop: {shop.done}")
        return "yes"

    guard = CircumspectHooks(POLICY, server="shop", ask=ask)
    for script, said in ((SHIPPED, "Cancel order 1002"), (PAID, "Cancel order 1001")):
        with serve_script(script) as url:
            options = ClaudeAgentOptions(
                mcp_servers={"shop": open_server(shop)},
                allowed_tools=["mcp__shop__get_order", "mcp__shop__cancel_order"],
                hooks=guard.hooks,
                env=offline(url, folder),
                setting_sources=[],
            )
            told = [
                block.content
                async for message in query(prompt=said, options=options)
                if isinstance(message, UserMessage)
                for block in message.content
                if isinstance(block, ToolResultBlock)
            ]
            print(f"the model was told: {told[-1]}\nthe shop: {shop.done}")


with TemporaryDirectory() as folder:
    asyncio.run(main(folder))
