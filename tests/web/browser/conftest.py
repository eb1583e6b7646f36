"""The clinic on loopback, and one Chromium for all tests that look at its pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
from examples.clinic import Served, serve
from tests.patience import PATIENCE

from circumspect.web.browser.chromium import PROGRAMS
from circumspect.web.browser.live_page import locate, snapshot
from circumspect.web.page import Element, Page

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
PAGES = (
    "/login", "/dashboard", "/visits", "/patients", "/patients?search=nobody", "/patients/new", "/patients/4", "/billing",
    "/reports/daily", "/slow", "/messages", "/embedded/contact", "/settings", "/help", "/error", "/nothing-here",
)  # fmt: skip
"""Those whose elements are all in the markup that the server sends."""


class Visitor:
    """Somebody in front of a browser, who looks through our eyes."""

    def __init__(self, tab: Any, url: str) -> None:
        self.tab = tab
        self.url = url

    async def opens(self, path: str) -> Page:
        await self.tab.goto(self.url + path)
        return await self.looks()

    async def is_shown(self, body: str) -> Page:
        """A page of the test's own, under the clinic's address."""
        await self.tab.unroute_all()
        html = f"<!doctype html><title>Own</title>{body}"
        await self.tab.route("**/own", lambda route: route.fulfill(body=html, content_type="text/html; charset=utf-8"))
        return await self.opens("/own")

    async def looks(self) -> Page:
        return await snapshot(self.tab)

    async def clicks(self, element: Element) -> Page:
        handle = await locate(self.tab, element.id)
        assert handle is not None, f"{element.line} is not on the page"
        await handle.click(timeout=PATIENCE * 1000)
        await self.tab.wait_for_load_state()
        return await self.looks()

    async def types(self, element: Element, text: str) -> Page:
        handle = await locate(self.tab, element.id)
        assert handle is not None, f"{element.line} is not on the page"
        await handle.fill(text, timeout=PATIENCE * 1000)
        return await self.looks()


def the(page: Page, role: str, name: str = "") -> Element:
    """The one element of this role and name."""
    found = [one for one in page.elements if one.role == role and name in ("", one.name)]
    assert len(found) == 1, f"{len(found)} elements are {role} {name!r} in\n{page.listing}"
    return found[0]


def names(page: Page, role: str) -> list[str]:
    return [one.name for one in page.elements if one.role == role]


@pytest.fixture(scope="session")
def clinic() -> Iterator[Served]:
    with serve() as served:
        yield served


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> AsyncIterator[Any]:
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)
    if path is None:
        pytest.skip("NO BROWSER: install Chromium (or set CHROMIUM=/path/to/it) to test snapshots of pages")
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield launched
        await launched.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def visitor(chromium: Any, clinic: Served) -> Visitor:
    """One for all tests: a page is opened anew by each, and a window of its own for each takes longer than the test."""
    return Visitor(await chromium.new_page(), clinic.url)
