"""Somebody's own web site with the chat on it: another origin, another site, with a strict policy of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pytest
import sqlalchemy as sa
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route
from tests.patience import PATIENCE
from tests.server.console.building import ConsoleHouse, Guard, eventually
from tests.server.house import Running

from circumspect.server import console
from circumspect.server.app import create_app
from circumspect.server.console.widget import visits
from circumspect.server.stores import tenants
from circumspect.stores import SqlStore
from circumspect.values import TenantId

PAGE = """<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><title>Somebody's shop</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><h1>Somebody's shop</h1><p>Text of the page.</p><input aria-label="search" id="search">
<script src="{script}" data-key="{key}" data-lang="{lang}" data-user-token="{user}" async></script></body></html>"""


class WidgetHouse(ConsoleHouse):
    """Keeps every byte that goes to an end user, headers included."""

    def __enter__(self) -> Self:
        self.stored(self._furnish)
        self.app = create_app(self.settings)
        console.install(self.app)
        self.sent: list[bytes] = []
        app: Any = self.app

        async def overheard(scope: Any, receive: Any, send: Any) -> None:
            async def tell(message: Any) -> None:
                if scope["type"] == "http" and scope["path"].startswith("/widget"):
                    self.sent.append(repr(message.get("headers", "")).encode() + message.get("body", b""))
                await send(message)

            await app(scope, receive, tell)

        self.running = Running(overheard, drain=3).__enter__()
        return self

    @property
    def heard(self) -> str:
        return b"".join(self.sent).decode()


@contextmanager
def without_limits(folder: Path) -> Iterator[WidgetHouse]:
    """All tests come from one address, so that they may do more than one visitor may."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(visits, "MESSAGES_PER_MINUTE", 10_000)
        patch.setattr(visits, "READS_PER_MINUTE", 10_000)
        with WidgetHouse(f"sqlite:///{folder}/widget.db") as made:
            yield made


class Site:
    """`localhost` for the browser, while our server is `127.0.0.1`: two sites, as on the web."""

    def __init__(self, house: WidgetHouse, name: str = "localhost") -> None:
        self.house, self.name = house, name

    def __enter__(self) -> Site:
        self.running = Running(Starlette(routes=[Route("/{path:path}", self._answer)]), drain=1).__enter__()
        self.url = self.running.url.replace("127.0.0.1", self.name)
        return self

    def __exit__(self, *error: object) -> None:
        self.running.__exit__()

    async def _answer(self, request: Request) -> HTMLResponse:
        asked, host = request.query_params, self.house.url
        shown = {"key": asked.get("key", ""), "lang": asked.get("lang", "en"), "user": asked.get("user", "")}
        text = PAGE.format(script=f"{host}/widget.js", **shown)
        policy = f"default-src 'none'; script-src {host}; frame-src {host}; base-uri 'none'"
        return HTMLResponse(text, headers={"Content-Security-Policy": policy})

    def page(self, tenant: str = "shop", language: str = "en", key: str | None = None) -> str:
        return f"{self.url}/?lang={language}&key={self.house.token(tenant, 'widget') if key is None else key}"

    def allow(self, *origins: str, tenant: str = "shop") -> None:
        """What the tenant's file would say."""

        def change(connection: sa.Connection) -> None:
            row = tenants.get(connection, TenantId(tenant))
            assert row is not None
            tenants.put(connection, row.tenant, {**(row.settings or {}), "widget": {"origins": list(origins)}})

        async def write(store: SqlStore) -> None:
            await store.tx(change)

        self.house.stored(write)


class Strict(Guard):
    """Also knows the site around the frame."""

    def __init__(self, *urls: str) -> None:
        super().__init__(urls[0])
        self.urls = urls

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((*self.urls, "data:")):
            self.problems.append(f"request: {request.url}")


@contextmanager
def visiting(
    browser: Any,
    site: Site,
    *,
    width: int = 1280,
    height: int = 800,
    theme: str = "light",
    expected: tuple[str, ...] = (),
) -> Iterator[Any]:
    """A page of a browser that has never been here; everything that our server sends it is in `site.house.sent`."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme, locale="en")
    guard, page = Strict(site.house.url, site.url), context.new_page()
    guard.expected = expected
    guard.watch(page)
    page.set_default_timeout(PATIENCE * 1000)
    site.house.sent.clear()
    try:
        yield page
    finally:
        context.close()
    assert not guard.problems, guard.problems


def opened(page: Any, address: str, rtl: bool = False) -> Any:
    """The chat, opened with the button; the shadow root is closed, so the pointer has to find it."""
    page.goto(address)
    page.wait_for_selector("[data-circumspect=widget]", state="attached")
    size = page.viewport_size
    page.mouse.click(48 if rtl else size["width"] - 48, size["height"] - 48)
    return framed(page)


def framed(page: Any) -> Any:
    page.wait_for_function("() => true")
    frames: list[Any] = []

    def came() -> bool:
        frames[:] = [one for one in page.frames if "/widget?" in one.url]
        return bool(frames)

    eventually(page, came)
    frames[0].wait_for_selector(".said")
    return frames[0]


def said(frame: Any) -> list[str]:
    return [text.strip() for text in frame.locator(".said p").all_inner_texts()]


def write(frame: Any, text: str) -> None:
    frame.fill("#words", text)
    frame.press("#words", "Enter")


def hears(frame: Any, words: str) -> None:
    frame.wait_for_function("words => document.querySelector('#log').innerText.includes(words)", arg=words)


def quiet(frame: Any) -> None:
    """All that was said is answered."""
    frame.wait_for_function(
        "() => document.body.dataset.outbox === '0' && !document.querySelector('.waits, #status:not(:empty)')"
    )


def kept(frame: Any) -> dict[str, Any]:
    """What the tab keeps: in the frame's own storage, or, where it has none, in that of the page around."""
    read = "() => Object.entries(sessionStorage).find(([name]) => name.startsWith('circumspect:'))[1]"
    try:
        text = frame.evaluate(read)
    except Exception:
        text = frame.parent_frame.evaluate(read)
    return dict(json.loads(text))
