"""From nothing to a chat that answers on a page of one's own: `circumspect serve` on an empty database, then a browser."""

from __future__ import annotations

import re
import time
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route
from tests.patience import PATIENCE
from tests.server.console.building import SAME, ConsoleHouse, Guard, eventually, overflow, serious
from tests.server.console.hand import Hand
from tests.server.console.hosting import hears, opened, write
from tests.server.house import PASSWORD, Running
from tests.server.test_serve import serving

from circumspect.clock import SystemClock
from circumspect.server.first_owner import GOOD_FOR, is_first_code, seal_first_code
from circumspect.server.vault import open_vault

FIVE_MINUTES = 300.0


class OwnPage:
    """A page on another origin; what stands in it is what was copied."""

    def __init__(self) -> None:
        self.line = ""

    def __enter__(self) -> OwnPage:
        self.running = Running(Starlette(routes=[Route("/", self._answer)]), drain=1).__enter__()
        self.url = self.running.url.replace("127.0.0.1", "localhost")
        return self

    def __exit__(self, *error: object) -> None:
        self.running.__exit__()

    async def _answer(self, _: Request) -> HTMLResponse:
        return HTMLResponse(f'<!doctype html><html lang="en"><title>Shop</title><h1>Shop</h1>{self.line}</html>')


def printed_link(printed: str) -> str:
    found = re.search(r"(http://\S+/begin\?code=\S+)", printed)
    assert found, printed
    return found[1]


def test_from_nothing_to_a_chat_on_ones_own_page(browser: Any, tmp_path: Path) -> None:
    with serving(tmp_path) as (_, url, printed), OwnPage() as own:
        context = browser.new_context(base_url=url, locale="en", viewport={"width": 1280, "height": 900})
        page, visited = context.new_page(), context.new_page()
        guard = Guard(url)
        guard.watch(page)
        for one in (page, visited):
            one.set_default_timeout(PATIENCE * 1000)
        began, hand = time.monotonic(), Hand(page)
        page.goto(printed_link(printed))
        hand.write("input[name=name]", "dana")
        hand.write("input[name=password]", PASSWORD)
        hand.go("main button.primary")
        assert page.inner_text("#first-steps [aria-current=step] a") == "Make a tenant"
        hand.go("#first-steps a.primary")
        hand.write("input[name=name]", "The corner shop")
        hand.write("input[name=id]", "corner")
        hand.click("input[name=sample][value=shop]")
        hand.go("main form button.primary")
        assert page.inner_text("#first-steps [aria-current=step] a") == "Put the chat on a page"
        hand.go("#first-steps a.primary")
        hand.write("textarea[name=origins]", own.url)
        hand.go("main form.form > .row button")
        hand.go("form[action$='/widget/key'] button")
        own.line = page.inner_text("#snippet")
        hand.clicks += 1  # the button that copies it: no clipboard is read here
        page.goto("/")
        assert page.locator("#first-steps .badge.good").count() == 3
        frame = opened(visited, own.url)
        write(frame, "hello")
        eventually(page, lambda: page.locator("#first-steps .badge.good").count() == 4)
        write(frame, "cancel order 12345")
        hears(frame, "12345")
        took = time.monotonic() - began
        page.wait_for_selector("#first-steps", state="detached")
        page.reload()
        assert page.locator("#first-steps").count() == 0
        assert page.request.get(printed_link(printed)).url == f"{url}/"
        context.close()
    print(f"set up: {hand}, {took:.0f} s")
    assert not guard.problems, guard.problems
    assert hand.clicks <= 8
    assert hand.fields <= 5
    assert took < FIVE_MINUTES


# --- the link ------------------------------------------------------------------------------------------------------


class EmptyHouse(ConsoleHouse):
    async def _furnish(self, store: Any) -> None:
        """With nobody in it."""


@pytest.fixture
def empty(tmp_path: Path) -> Any:
    with EmptyHouse(f"sqlite:///{tmp_path}/empty.db") as made:
        yield made


def begin(house: ConsoleHouse, code: str, name: str = "dana", password: str = PASSWORD) -> httpx.Response:
    with house.visitor("") as visitor:
        return visitor.post("/begin", data={"code": code, "name": name, "password": password}, headers=SAME)


def test_the_link_makes_one_administrator_and_then_nothing(empty: ConsoleHouse) -> None:
    vault, now = open_vault(empty.settings), SystemClock().now()
    code = seal_first_code(vault, now)
    assert not is_first_code(vault, code, now + GOOD_FOR)
    for wrong in ("", "x", seal_first_code(vault, now - GOOD_FOR), vault.seal("held form"), code[:-3] + "AAA"):
        assert begin(empty, wrong).headers["location"] == "/login", wrong
        with empty.visitor("") as visitor:
            assert visitor.get("/begin", params={"code": wrong}).headers["location"] == "/login"
    assert begin(empty, code, password="short").status_code == 422
    assert begin(empty, code, name="\x07").status_code == 422
    with empty.visitor("") as visitor:
        foreign = visitor.post("/begin", data={"code": code}, headers={"Sec-Fetch-Site": "cross-site"})
        assert foreign.status_code == 403
    made = begin(empty, code)
    assert made.headers["location"] == "/"
    again = begin(empty, code, name="eve")
    assert again.headers["location"] == "/login"
    assert "circumspect_session" not in str(again.headers.get_list("set-cookie"))
    with empty.visitor("dana") as visitor:
        assert "first-steps" in visitor.get("/").text
        assert ">eve<" not in visitor.get("/colleagues").text
        for path in ("/policies", "/tenants", "/playground"):
            shown = visitor.get(path).text.partition("<main")[2]
            assert 'class="button primary" href="/new-tenant"' in shown, path
            assert 'class="empty"' in shown, "without a tenant a page says what one is"
            assert '<select name="tenant"' not in shown


@pytest.mark.parametrize(
    ("language", "theme", "width"), [("en", "light", 1440), ("he", "dark", 390), ("ru", "light", 360)]
)
def test_the_first_pages_can_be_used_by_everyone(
    browser: Any, empty: ConsoleHouse, language: str, theme: str, width: int
) -> None:
    code = seal_first_code(open_vault(empty.settings), SystemClock().now())
    context = browser.new_context(
        base_url=empty.url, viewport={"width": width, "height": 900}, color_scheme=theme, locale=language
    )
    page = context.new_page()
    page.set_default_timeout(PATIENCE * 1000)
    page.goto(f"/begin?code={code}")
    assert unescape(page.content()).count("begin-") == page.content().count('begin-rule"')
    for _ in range(2):
        assert serious(page) == []
        assert overflow(page) <= 0
        if page.url.endswith("/"):
            break
        page.fill("input[name=name]", "dana")
        page.fill("input[name=password]", PASSWORD)
        page.click("main button.primary")
        page.wait_for_selector("#first-steps")
    context.close()
