"""The shop as tools of a Claude agent, and an environment in which Claude Code finds the scripted provider only."""

from __future__ import annotations

import json
from typing import Any

from claude_agent_sdk import create_sdk_mcp_server, tool
from shop import Shop


def open_server(shop: Shop) -> Any:
    @tool("get_order", "Look an order up.", {"order_id": str})
    async def get_order(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": json.dumps(shop.get_order(**given))}]}

    @tool("cancel_order", "Cancel an order.", {"order_id": str})
    async def cancel_order(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": shop.cancel_order(**given)}]}

    return create_sdk_mcp_server("shop", tools=[get_order, cancel_order])


def offline(url: str, folder: str) -> dict[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CONFIG_DIR": folder,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ENABLE_TOOL_SEARCH": "false",
    }
