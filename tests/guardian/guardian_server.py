"""A guardian's server on loopback: Llama Guard behind chat completions, and OpenAI's moderation, bad days included.

Each request takes the next act; when there is none the message is safe. Acts: a dict is the JSON body of a 200, bytes are
the body as they stand, a number is an error status, "hang" says nothing, "cut" closes the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from typing import Any, Self

Act = dict[str, Any] | bytes | int | str


def guard(said: str, *, usage: bool = True) -> dict[str, Any]:
    """What a chat endpoint answers when the model says this."""
    choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "g",
        "choices": [choice],
    }
    return body | ({"usage": {"prompt_tokens": 211, "completion_tokens": 5, "total_tokens": 216}} if usage else {})


NAMES = (
    "harassment", "harassment/threatening", "hate", "hate/threatening", "illicit", "illicit/violent", "self-harm",
    "self-harm/intent", "self-harm/instructions", "sexual", "sexual/minors", "violence", "violence/graphic",
)  # fmt: skip


def moderated(**scores: float) -> dict[str, Any]:
    """What the moderation endpoint answers; names with `__` for a slash and `_` for a dash."""
    said = {name.replace("__", "/").replace("_", "-"): score for name, score in scores.items()}
    all_scores = dict.fromkeys(NAMES, 0.001) | said
    categories = {name: score >= 0.5 for name, score in all_scores.items()}
    result = {"flagged": any(categories.values()), "categories": categories, "category_scores": all_scores}
    return {"id": "modr-1", "model": "omni-moderation-latest", "results": [result]}


class GuardianServer:
    def __init__(self) -> None:
        self.acts: deque[Act] = deque()
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.retry_after: str | None = None
        self._serving: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving.add(asyncio.current_task())  # type: ignore[arg-type]
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
            body = json.loads(await reader.readexactly(int(headers["content-length"])))
            path = head[0].split()[1]
            self.requests.append((path, headers, body))
            safe = guard("safe") if path.endswith("/chat/completions") else moderated()
            act = self.acts.popleft() if self.acts else safe
            if act == "hang":
                await asyncio.sleep(20)
            elif act != "cut":
                status = act if isinstance(act, int) else 200
                error = {"error": {"message": f"we will not process: {body}", "type": "server_error"}}
                content = act if isinstance(act, bytes) else json.dumps(error if status != 200 else act).encode()
                extra = f"retry-after: {self.retry_after}\r\n" if self.retry_after else ""
                writer.write(
                    f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{extra}connection: close\r\n"
                    f"content-length: {len(content)}\r\n\r\n".encode()
                    + content
                )
                await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
