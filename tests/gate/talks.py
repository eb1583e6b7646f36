"""A conversation of somebody else's agent, message by message."""

from __future__ import annotations

import json
from typing import Any


class Talk:
    def __init__(self, *words: str) -> None:
        self.messages: list[dict[str, Any]] = []
        self.calls = 0
        for one in words:
            self.user(one)

    def user(self, text: str) -> Talk:
        self.messages.append({"role": "user", "content": text})
        return self

    def agent(self, text: str) -> Talk:
        self.messages.append({"role": "assistant", "content": text})
        return self

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What the model proposes: ruled on before it stands in the messages."""
        self.calls += 1
        function = {"name": tool, "arguments": json.dumps(arguments)}
        return {"id": f"call_{self.calls}", "type": "function", "function": function}

    def add(self, call: dict[str, Any], result: Any) -> Talk:
        content = result if isinstance(result, str) else json.dumps(result)
        self.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
        return self

    def looked_up(self, order: str, status: str = "open") -> Talk:
        return self.add(self.call("get_order", order_id=order), {"order_id": order, "status": status})
