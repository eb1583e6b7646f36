"""A language model on loopback that can be told to fail: OpenAI's wire format when it is well, anything when it is not."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

TROUBLES = (
    "hangs",
    "garbage",
    "half a body",
    "not its format",
    "a tool nobody has",
    "arguments that are no object",
    "a deed nobody did",
    "a giant",
    "too many requests",
    "internal error",
)
GIANT = 5_000_000


class Model:
    """An ASGI application. `trouble` is what is wrong with it at the moment; empty when nothing is."""

    def __init__(self) -> None:
        self.trouble = ""
        self.asked = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while True:
                message = await receive()
                await send({"type": f"{message['type']}.complete"})
                if message["type"] == "lifespan.shutdown":
                    return
        body = await Request(scope, receive).json()
        self.asked += 1
        await (await self._answered(json.dumps(body)))(scope, receive, send)

    async def _answered(self, asked: str) -> Response:
        while self.trouble == "hangs":
            await asyncio.sleep(0.02)
        match self.trouble:
            case "garbage":
                return Response(b"\x00\xff\xfe<html>\x1b[2J busy", media_type="application/json")
            case "half a body":
                return Response(b'{"id": "c", "choices": [{"index": 0, "mess', media_type="application/json")
            case "not its format":
                return JSONResponse({"choices": [{"message": 7}], "usage": []})
            case "a tool nobody has":
                return _said("Done.", _assessed("drop_all_tables", {"order_id": "12345"}))
            case "arguments that are no object":
                return _said("Done.", _assessed("cancel_order", "order_id=12345; DROP TABLE orders"))
            case "a deed nobody did":
                return _said("I have cancelled order 12345 for you.", _assessed(None, {}))
            case "a giant":
                return _said("x" * GIANT, _assessed(None, {}))
            case "too many requests":
                return JSONResponse({"error": {"message": "slow down"}}, 429, headers={"Retry-After": "1"})
            case "internal error":
                return JSONResponse({"error": {"message": "oops"}}, 500)
        if "PROCEED" in asked:
            return _said('{"decision": "PROCEED", "reasoning": "", "message": ""}')
        named = re.findall(r"order (\d{5})", asked)
        if named and "assessment" in asked:
            return _said("", _assessed("cancel_order", {"order_id": named[-1]}))
        return _said("It is cancelled.")


def _assessed(tool: str | None, params: Any) -> str:
    block = {
        "confidence": 10,
        "tool_call": tool,
        "tool_params": params,
        "missing_params": [],
        "is_destructive": False,
        "needs_confirmation": False,
        "needs_more_context": [],
    }
    return f"\n<assessment>{json.dumps(block)}</assessment>"


def _said(words: str, block: str = "") -> Response:
    message = {"role": "assistant", "content": words + block}
    return JSONResponse(
        {
            "id": "c",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }
    )
