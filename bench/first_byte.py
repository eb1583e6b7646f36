"""`python -m bench.first_byte`: how much later a reply's first sentence leaves us than it came from the model.

A provider that streams, a word at a time, and one client at a time, both in this process and on one clock; the server
in a process of its own. Until the model speaks a turn is opened and a request sent, which is counted on its
own. In standard mode: where an assessment comes with the reply, nobody hears a word before that is in.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import quantiles

from bench.load import TENANT, Connection, free_port, served
from bench.report import Section, Table, duration, facts, show, show_facts

WORDS = ["We are open. ", "Come ", "between ", "nine ", "and ", "five."]
"""A whole sentence first: less is not said, since it might have to be taken back. It ends where the next begins."""
PAUSE = 0.03
"""Between two words of the model: a turn that waits for all of them is seen to do so."""


def _chunk(delta: dict[str, str], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    event = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    if reason:
        event["usage"] = {"prompt_tokens": 300, "completion_tokens": 60, "total_tokens": 360}
    return b"data: " + json.dumps(event).encode() + b"\n\n"


class Provider:
    """OpenAI's chat protocol as a stream; `asked` and `spoke` are when a request came and the first sentence went."""

    asked = spoke = 0.0
    url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _read_head(reader):
            await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]))
            self.asked = time.perf_counter()
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            for number, word in enumerate(WORDS):
                if number == 1:
                    self.spoke = time.perf_counter()
                _write(writer, _chunk({"content": word}))
                await asyncio.sleep(PAUSE)
            _write(writer, _chunk({}, "stop") + b"data: [DONE]\n\n")
            writer.write(b"0\r\n\r\n")
        writer.close()


async def _read_head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.CancelledError):  # the server is closing
        return b""


def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))


@asynccontextmanager
async def providing(port: int) -> AsyncIterator[Provider]:
    provider = Provider()
    listening = await asyncio.start_server(provider.serve, "127.0.0.1", port)
    try:
        yield provider
    finally:
        listening.close()  # and not waited for: the server keeps its connection


async def _first_word(connection: Connection, path: str, body: dict[str, object]) -> float:
    """When the first word of the reply arrived; the answer is read to its end."""
    data = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {connection.key}\r\nconnection: close\r\n"
        f"accept: text/event-stream\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
    )
    connection.writer.write(head.encode() + data)
    seen, came = b"", 0.0
    while piece := await connection.reader.read(65_536):
        seen += piece
        came = came or (time.perf_counter() if b"We" in seen else 0.0)
    assert came, seen[-500:]
    assert b"five." in seen, seen[-500:]
    return came


async def _measure(port: int, key: str, provider_port: int, times: int) -> dict[str, list[tuple[float, float]]]:
    """By endpoint: seconds until the model was asked, and from its first sentence to ours."""
    found: dict[str, list[tuple[float, float]]] = {"/v1/conversations/…/messages": [], "/v1/chat/completions": []}
    async with providing(provider_port) as provider:
        for number in range(times + 5):
            for name, rows in found.items():
                talk = f"f-{secrets.token_hex(6)}"
                async with Connection(port, key) as connection:
                    await connection.post("/v1/conversations", {"id": talk})
                body: dict[str, object] = {"content": "when are you open?"}
                if name.endswith("completions"):
                    said = [{"role": "user", "content": f"when are you open, {talk}?"}]
                    body = {"model": "m", "messages": said, "stream": True}
                async with Connection(port, key) as connection:
                    began = time.perf_counter()
                    came = await _first_word(connection, name.replace("…", talk), body)
                if number >= 5:
                    rows.append((provider.asked - began, came - provider.spoke))
    return found


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.first_byte", description=__doc__)
    parser.add_argument("--times", type=int, default=60)
    options = parser.parse_args()
    show_facts(facts())
    provider_port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        url = f"http://127.0.0.1:{provider_port}"
        tenant = f"{TENANT}adaptive_share: 0\n"
        with served(url, f"sqlite:///{folder}/f.db", 1, Path(folder), warm=False, tenant=tenant) as server:
            found = asyncio.run(_measure(server.port, server.key, provider_port, options.times))
    rows = []
    for name, pairs in found.items():
        for what, seconds in (
            ("until the model is asked", [one for one, _ in pairs]),
            ("from its first sentence to ours", [one for _, one in pairs]),
        ):
            cuts = quantiles(seconds, n=20)
            rows.append((name, what, duration(cuts[1]), duration(cuts[9]), duration(cuts[18])))
    about = "One client at a time. On a busy machine the tenth percentile says most: the rest waits for a core."
    header = ("", "", "p10", "p50", "p95")
    show(Section("first-byte", "The first words of a stream", about, (Table(header, tuple(rows)),)))


if __name__ == "__main__":
    main()
