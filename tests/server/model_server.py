"""A language model on loopback that takes its time: OpenAI's wire format, whole and streamed, answers when it is let."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

ASSESSED = (
    '\n<assessment>{"confidence": 9, "tool_call": null, "tool_params": {}, "missing_params": [], '
    '"is_destructive": false, "needs_confirmation": false, "needs_more_context": []}</assessment>'
)


class SlowModel:
    """`opened` lets answers out; `seconds` is how long each takes after that."""

    def __init__(self, seconds: float = 0, words: str = "We are open from nine to five.") -> None:
        self.seconds, self.words = seconds, words
        self.asked = 0
        self.closed = False

    def close(self) -> None:
        self.closed = True

    def open(self) -> None:
        self.closed = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        request = Request(scope, receive)
        body = await request.json()
        self.asked += 1
        await asyncio.sleep(self.seconds)
        while self.closed:
            await asyncio.sleep(0.01)
        response: Response
        if body.get("stream"):
            response = StreamingResponse(self._streamed(), media_type="text/event-stream")
        else:
            response = JSONResponse(
                {
                    "id": "c",
                    "object": "chat.completion",
                    "created": 1,
                    "model": "slow",
                    "choices": [
                        {
                            "index": 0,
                            "finish_reason": "stop",
                            "message": {"role": "assistant", "content": self.words + ASSESSED},
                        }
                    ],
                    "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
                }
            )
        await response(scope, receive, send)

    async def _streamed(self) -> AsyncIterator[bytes]:
        for piece in [f"{word} " for word in self.words.split()] + [ASSESSED]:
            yield _chunk({"index": 0, "delta": {"role": "assistant", "content": piece}, "finish_reason": None})
        yield _chunk({"index": 0, "delta": {}, "finish_reason": "stop"})
        yield b"data: [DONE]\n\n"


def _chunk(choice: dict[str, Any]) -> bytes:
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "slow", "choices": [choice]}
    return f"data: {json.dumps(body)}\n\n".encode()


async def _lifespan(receive: Any, send: Any) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
