from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.business import radicale_server
from tests.patience import PATIENCE

from circumspect.business import BusinessConfig, CalDav, business_tools
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
