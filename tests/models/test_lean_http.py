"""Connections to a provider: in whatever loop, however many, closed or forgotten, over a real socket."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import aclosing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from circumspect.models.lean_http import BrokenOff, LeanClient, TooSlow, Unreachable
from circumspect.models.provider_settings import ProviderSettings

MANY = 150
FORGOTTEN = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
"""Python itself says so of a socket that nobody closed, to whoever asks for such warnings."""


class Provider(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = MANY

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.together = threading.Barrier(MANY)


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Provider

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        match self.path:
            case "/together":
                self.server.together.wait(60)
            case "/never":
                threading.Event().wait(5)
            case "/half":
                self._answer(b"half", announced=1000)
                self.close_connection = True
                return
            case "/events":
                self._answer(b"data: one\n\nda", b"ta: two\n\n", b"event: end\ndata: three\n")
                return
        self._answer(b"yes")

    def _answer(self, *pieces: bytes, announced: int = 0) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(announced or sum(map(len, pieces))))
        self.end_headers()
        for piece in pieces:
            self.wfile.write(piece)
            self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def _client(url: str) -> LeanClient:
    return LeanClient(url, {"authorization": "Bearer k"}, ProviderSettings())


@FORGOTTEN
def test_a_client_is_used_in_one_event_loop_after_another(provider: Provider) -> None:
    client = _client(provider.url)
    assert [asyncio.run(client.post(b"{}", 30)) for _ in range(3)] == [b"yes"] * 3


@FORGOTTEN
def test_nobody_hears_of_a_client_that_was_not_closed(provider: Provider, caplog: pytest.LogCaptureFixture) -> None:
    async def ask() -> None:
        await _client(provider.url).post(b"{}", 30)

    with caplog.at_level(logging.DEBUG):
        asyncio.run(ask())
        gc.collect()
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING] == []


async def test_no_request_waits_for_another_to_be_answered(provider: Provider) -> None:
    client = _client(f"{provider.url}/together")
    try:
        assert await asyncio.gather(*(client.post(b"{}", 60) for _ in range(MANY))) == [b"yes"] * MANY
    finally:
        await client.close()


async def test_what_went_wrong_is_told_apart(provider: Provider) -> None:
    for path, told in (("/never", TooSlow), ("/half", BrokenOff)):
        client = _client(f"{provider.url}{path}")
        with pytest.raises(told):
            await client.post(b"{}", 0.5)
        await client.close()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    nobody = _client(f"http://127.0.0.1:{port}")
    with pytest.raises(Unreachable):
        await nobody.post(b"{}", 5)
    await nobody.close()


async def test_events_are_read_whole_wherever_they_are_cut(provider: Provider) -> None:
    client = _client(f"{provider.url}/events")
    async with aclosing(client.events(b"{}", 30)) as events:
        assert [data async for data in events] == [b"one", b"two", b"three"]
    await client.close()
