from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from tests.business import radicale_server
from tests.patience import PATIENCE

from circumspect.business import BusinessConfig, CalDav, Smtp, business_tools
from circumspect.tools.toolset import Toolset

MONDAY = datetime(2026, 11, 16, 5, 0, tzinfo=UTC)


@dataclass
class Now:
    at: datetime = MONDAY

    def __call__(self) -> datetime:
        return self.at


@dataclass
class Office:
    """A business with its tools, and what a test needs to look behind them."""

    tools: Toolset
    config: BusinessConfig
    now: Now
    add_by_hand: Callable[..., None] = field(default=lambda **event: None)

    async def call(self, tool: str, key: str = "k1", **arguments: Any) -> Any:
        return await self.tools.call(tool, arguments, key)

    async def book(self, date: str, time: str, key: str = "k1", **more: Any) -> Any:
        return await self.call(
            "book_meeting", key, date=date, time=time, name="Dana Levi", email="dana@example.com", **more
        )

    async def free(self, date: str, **more: Any) -> list[str]:
        return [slot["time"] for slot in (await self.call("find_free_times", date=date, **more))["free"]]


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture(scope="session")
def radicale(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with radicale_server.running(tmp_path_factory.mktemp("radicale")) as url:
        yield url


@pytest.fixture
def calendar_url(radicale: str) -> str:
    """The calendar, emptied."""
    auth = (radicale_server.USER, radicale_server.PASSWORD)
    with httpx2.Client(auth=auth, timeout=PATIENCE) as client:
        client.request("DELETE", radicale).raise_for_status()
        client.request("MKCALENDAR", radicale, content=radicale_server.MAKE_CALENDAR).raise_for_status()
    return radicale


@pytest.fixture
def embedded(tmp_path: Path, now: Now) -> Callable[..., Office]:
    def opened(**settings: Any) -> Office:
        config = BusinessConfig(folder=tmp_path / "business", now=now, **({"zone": "Asia/Jerusalem"} | settings))
        return Office(business_tools(config), config, now)

    return opened


@pytest.fixture
def caldav(calendar_url: str, embedded: Callable[..., Office]) -> Callable[..., Office]:
    def opened(**settings: Any) -> Office:
        server = CalDav(calendar_url, radicale_server.USER, radicale_server.PASSWORD)
        office = embedded(calendar=server, **settings)
        office.add_by_hand = lambda **event: add_event(calendar_url, **event)
        return office

    return opened


def add_event(url: str, uid: str, lines: str) -> None:
    """What a colleague does in a calendar program."""
    body = (
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//someone//EN\r\nBEGIN:VEVENT\r\n"
        f"UID:{uid}\r\nDTSTAMP:20261101T000000Z\r\n{lines.strip().replace(chr(10), chr(13) + chr(10))}\r\n"
        "END:VEVENT\r\nEND:VCALENDAR\r\n"
    )
    auth = (radicale_server.USER, radicale_server.PASSWORD)
    headers = {"content-type": "text/calendar"}
    put = httpx2.put(f"{url}{uid}.ics", content=body, auth=auth, headers=headers, timeout=PATIENCE)
    put.raise_for_status()


@pytest.fixture(params=["embedded", "caldav"])
def office(request: pytest.FixtureRequest) -> Callable[..., Office]:
    """Every test that takes it runs on the SQLite calendar and on Radicale."""
    opened: Callable[..., Office] = request.getfixturevalue(request.param)
    return opened


# --- mail servers -----------------------------------------------------------------------------------------------------


class Inbox:
    """What the server does with mail."""

    def __init__(self) -> None:
        self.received: list[bytes] = []

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if address.startswith("nobody@"):
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if b"virus" in envelope.content:
            return "554 not this"
        self.received.append(envelope.content)
        return "250 taken"


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@pytest.fixture
def smtp(inbox: Inbox) -> Iterator[Smtp]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    controller = Controller(inbox, hostname="127.0.0.1", port=port)
    controller.start()
    yield Smtp("127.0.0.1", port, security="none", timeout=PATIENCE)
    controller.stop()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificate")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"],
        cwd=folder, check=True, capture_output=True,
    )  # fmt: skip
    return folder


@pytest.fixture
def locked(inbox: Inbox, certificate: Path) -> Iterator[Smtp]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")

    def check(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        return AuthResult(success=data.login == b"office" and data.password == b"correct horse", handled=False)

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    controller = Controller(
        inbox, hostname="127.0.0.1", port=port, tls_context=context, require_starttls=True,
        auth_required=True, authenticator=check,
    )  # fmt: skip
    controller.start()
    yield Smtp("127.0.0.1", port, "office", "correct horse", timeout=PATIENCE, ca_file=certificate / "cert.pem")
    controller.stop()


@contextlib.asynccontextmanager
async def breaking(after: bytes, *, silent: bool = False) -> AsyncIterator[Smtp]:
    """A server that speaks SMTP and, once it has read `after`, hangs up or says nothing more."""

    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())  # type: ignore[arg-type]
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.write(b"220 here\r\n")
            text = False
            while line := await reader.readline():
                if line.startswith(after):
                    if silent:
                        await asyncio.sleep(30)
                    break
                if text and line != b".\r\n":
                    continue
                text = line.startswith(b"DATA")
                writer.write(b"354 go on\r\n" if text else b"250 OK\r\n")
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield Smtp("127.0.0.1", server.sockets[0].getsockname()[1], security="none", timeout=2)
    finally:
        server.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


@pytest.fixture
def unused_port() -> int:
    """Where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
