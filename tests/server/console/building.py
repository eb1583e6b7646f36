"""A server with the console on loopback, a real browser in front of it, and everything that must never happen there."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import httpx
from tests.patience import PATIENCE
from tests.server.house import PASSWORD, House, Running

from circumspect.server import console
from circumspect.server.app import create_app
from circumspect.server.session_cookies import COOKIE
from circumspect.stores import SqlStore
from circumspect.web.browser.chromium import PROGRAMS

T = TypeVar("T")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
SAME = {"Sec-Fetch-Site": "same-origin"}


def chromium() -> str | None:
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)


class ConsoleHouse(House):
    def __enter__(self) -> Self:
        self.stored(self._furnish)
        self.app = create_app(self.settings)
        console.install(self.app)
        self.running = Running(self.app, drain=3).__enter__()
        return self

    def stored(self, body: Callable[[SqlStore], Awaitable[T]]) -> T:
        """In a thread of its own: the browser's driver keeps a loop in this one."""
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(super().stored, body).result()

    @contextmanager
    def visitor(self, name: str = "noa") -> Iterator[httpx.Client]:
        """A browser without a screen: keeps cookies, follows nothing by itself. With no name, nobody in particular."""
        with httpx.Client(base_url=self.url, trust_env=False, verify=False, timeout=PATIENCE) as client:
            if name:
                client.cookies.set(COOKIE, self.signed_in(name))
            yield client

    def signed_in(self, name: str) -> str:
        """The token of a sign-in through the form; one for each name, since tries are limited."""
        if name not in self.sessions:
            with httpx.Client(base_url=self.url, trust_env=False, verify=False, timeout=PATIENCE) as client:
                answer = client.post("/login", data={"name": name, "password": PASSWORD}, headers=SAME)
                assert answer.status_code == 303, answer.text
                self.sessions[name] = client.cookies[COOKIE]
        return self.sessions[name]


class Guard:
    """Fails a test on anything that a page must never do."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.problems: list[str] = []
        self.expected: tuple[str, ...] = ()

    def watch(self, page: Any) -> None:
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("request", self._asked)
        page.on("dialog", lambda dialog: (self.problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))

    def _said(self, message: Any) -> None:
        if message.type == "error" and not any(part in message.text for part in self.expected):
            self.problems.append(f"console: {message.text}")

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.url, "data:")):
            self.problems.append(f"request: {request.url}")


class Browsing:
    """`with browsing.as_("noa", language="he", theme="dark", width=360) as page:`"""

    def __init__(self, browser: Any, house: ConsoleHouse) -> None:
        self.browser, self.house = browser, house

    @contextmanager
    def as_(
        self,
        name: str = "noa",
        *,
        language: str = "en",
        theme: str = "light",
        width: int = 1280,
        expected: tuple[str, ...] = (),
    ) -> Iterator[Any]:
        url = self.house.url
        context = self.browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, locale="en", base_url=url
        )
        cookies = [{"name": "circumspect_language", "value": language, "url": url}]
        if name:
            cookies.append({"name": COOKIE, "value": self.house.signed_in(name), "url": url})
        context.add_cookies(cookies)
        guard, page = Guard(url), context.new_page()
        guard.expected = expected
        guard.watch(page)
        page.set_default_timeout(PATIENCE * 1000)
        try:
            yield page
        finally:
            context.close()
        assert not guard.problems, guard.problems


def eventually(page: Any, holds: Callable[[], bool]) -> None:
    """Waits for it. Not with the driver's own function, which evaluates text in the page: the page forbids that."""
    until = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < until, "it did not come about"
        page.wait_for_timeout(50)


def overflow(page: Any) -> int:
    """By how many pixels the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def serious(page: Any) -> list[str]:
    """What axe-core finds that keeps people out."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['help']}: {[node['html'][:160] for node in one['nodes'][:3]]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
