"""A provider in a process of its own that answers at once, and always the same: `python -m bench.instant_provider`.

It prints its port. Only as much HTTP as keeps clients happy: it must cost next to nothing itself.
"""

from __future__ import annotations

import asyncio
import json

TEXT = "Your order is on its way. " * 8
CHAT = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 400, "completion_tokens": 60, "total_tokens": 460},
}
MESSAGE = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "content": [{"type": "text", "text": TEXT}],
    "usage": {"input_tokens": 400, "output_tokens": 60},
}


def _render(value: object) -> bytes:
    body = json.dumps(value).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body


ANSWERS = {True: _render(MESSAGE), False: _render(CHAT)}


class Provider(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.held = transport, b""

    def data_received(self, data: bytes) -> None:
        self.held += data
        while b"\r\n\r\n" in self.held:
            head, _, rest = self.held.partition(b"\r\n\r\n")
            size = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            if len(rest) < size:
                return
            self.held = rest[size:]
            self.transport.write(ANSWERS[b"/messages" in head.split(b"\r\n")[0]])


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Provider, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
