"""The Chromium client on pages of loopback: it acts, waits for the page, and turns every trouble into a sentence (R16)."""

from __future__ import annotations

import shutil
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from examples.clinic import Served, serve

from circumspect.errors import ConfigError
from circumspect.values import ToolCall
from circumspect.web.browser import settling
from circumspect.web.browser.chromium import Chromium, ChromiumAttempt, PageUnreachable, find_chromium
from circumspect.web.page import Element, Page


def _nobody() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


NOBODY = _nobody()
"""An address of loopback at which nothing listens."""
pytestmark = pytest.mark.asyncio(loop_scope="module")


def _chromium() -> str | None:
    try:
        return find_chromium()
    except ConfigError:
        return None


@pytest.fixture(scope="module")
def site() -> Any:
    with serve() as served:
        yield served


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def browser() -> AsyncIterator[Chromium]:
    if _chromium() is None:
        pytest.skip("NO BROWSER: install Chromium (or set CHROMIUM=/path/to/it) to test the client")
    with pytest.MonkeyPatch.context() as quicker:
        # These pages are still at once.
        quicker.setattr(settling, "QUIET", 0.05)
        async with Chromium.open() as opened:
            yield opened


async def on(browser: Chromium, site: Served, body: str) -> Page:
    """A page of our own, in the site's place."""

    async def answer(route: Any) -> None:
        if route.request.url.endswith("/file"):
            await route.fulfill(body="a,b", headers={"Content-Disposition": "attachment; filename=patients.csv"})
        else:
            await route.fulfill(
                body=f"<!doctype html><title>Own</title>{body}", content_type="text/html; charset=utf-8"
            )

    context = browser.tab.context
    await context.unroute_all()
    await context.route("**/own/**", answer)
    return await browser.goto(f"{site.url}/own/page")


def named(page: Page, name: str) -> Element:
    return next(one for one in page.elements if one.name == name)


async def do(browser: Chromium, page: Page, tool: str, name: str = "", **arguments: Any) -> ChromiumAttempt:
    element = {"element": named(page, name).id} if name else {}
    return await browser.perform(ToolCall(tool, {**arguments, **element}), page)


async def test_a_form_is_filled_and_read_back(browser: Chromium, site: Served) -> None:
    page = await browser.goto(f"{site.url}/patients/new")
    assert page.status == 200
    for tool, name, arguments in (
        ("type", "First name", {"text": "אנה"}),
        ("select", "Provider", {"option": "dr. lior katz"}),
        ("select", "Sex", {"option": "Female"}),
        ("click", "Send reminders", {}),
    ):
        assert await do(browser, page, tool, name, **arguments) == ChromiumAttempt()
        page = await browser.snapshot()
    assert named(page, "First name").value == "אנה"
    assert named(page, "Provider").value == "Dr. Lior Katz"
    assert named(page, "Sex").value == "Female"
    assert named(page, "Send reminders").checked


async def test_a_slow_page_is_waited_for(browser: Chromium, site: Served) -> None:
    page = await browser.goto(f"{site.url}/slow")
    assert not page.busy
    assert "Cholesterol" in page.text


async def test_a_page_that_never_comes_to_rest_is_busy(
    browser: Chromium, site: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser, "patience", 0.5)
    assert (await on(browser, site, "<p aria-busy=true>Working</p>")).busy
    assert not await browser.settle()


async def test_a_page_that_is_always_written_into_is_read_all_the_same(
    browser: Chromium, site: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser, "patience", 0.5)
    clock = "<p id=now></p><script>setInterval(() => { now.textContent = Date.now(); }, 30)</script>"
    assert (await on(browser, site, clock)).title == "Own"
    assert not await browser.settle()


async def test_a_new_tab_comes_to_the_front_and_the_old_one_comes_back(browser: Chromium, site: Served) -> None:
    page = await browser.goto(f"{site.url}/dashboard")
    assert await do(browser, page, "click", "Help (opens in a new tab)") == ChromiumAttempt()
    assert (await browser.snapshot()).url == f"{site.url}/help"
    await browser.tab.close()
    assert (await browser.snapshot()).url == f"{site.url}/dashboard"


async def test_windows_of_the_browser_are_answered_with_no_and_shown(browser: Chromium, site: Served) -> None:
    page = await on(
        browser, site,
        "<button onclick=\"alert('Hello'); if (confirm('Delete all?')) document.title = 'Gone'\">Empty</button>",
    )  # fmt: skip
    assert await do(browser, page, "click", "Empty") == ChromiumAttempt()
    page = await browser.snapshot()
    assert page.title == "Own"
    alerts = [one.name for one in page.elements if one.role == "alert"]
    assert alerts == ["Hello", 'The page asked "Delete all?" and was answered with no.']
    await do(browser, page, "wait", seconds=0)
    assert not [one for one in (await browser.snapshot()).elements if one.role == "alert"]


async def test_a_page_that_will_not_be_left_stays(browser: Chromium, site: Served) -> None:
    page = await on(
        browser, site,
        "<a href=/own/next>Next</a><input aria-label=Name>"
        "<script>window.onbeforeunload = (event) => event.preventDefault()</script>",
    )  # fmt: skip
    await do(browser, page, "type", "Name", text="x")
    page = await browser.snapshot()
    await do(browser, page, "click", "Next")
    page = await browser.snapshot()
    assert page.url.endswith("/own/page")
    assert any("answered with no" in one.name for one in page.elements)
    await browser.tab.evaluate("() => { window.onbeforeunload = null; }")


async def test_a_download_is_refused(browser: Chromium, site: Served) -> None:
    page = await on(browser, site, "<a href=/own/file>Export</a>")
    await do(browser, page, "click", "Export")
    page = await browser.snapshot()
    assert any("patients.csv" in one.name for one in page.elements if one.role == "alert")
    assert page.url.endswith("/own/page")


async def test_what_stands_in_the_place_of_what_was_shown_is_not_touched(browser: Chromium, site: Served) -> None:
    page = await on(browser, site, "<button id=go onclick=\"document.title = 'Clicked'\">Pay 20</button>")
    await browser.tab.evaluate("() => { document.getElementById('go').textContent = 'Pay 200'; }")
    performed = await do(browser, page, "submit", "Pay 20")
    assert 'is now the button "Pay 200"' in performed.error
    await browser.tab.evaluate("() => { document.getElementById('go').textContent = 'Delete'; }")
    assert "has changed" in (await do(browser, page, "click", "Pay 20")).error
    await browser.tab.evaluate("() => document.getElementById('go').remove()")
    assert "not on the page any more" in (await do(browser, page, "click", "Pay 20")).error
    assert (await browser.snapshot()).title == "Own"


@pytest.mark.parametrize(
    ("body", "tool", "name", "arguments", "sentence"),
    [
        ("<button disabled>Restore</button>", "click", "Restore", {}, 'The button "Restore" is disabled.'),
        ("<button>Save</button>", "type", "Save", {"text": "secret"}, "not a field that can be typed into"),
        ("<input aria-label=Name readonly>", "type", "Name", {"text": "secret"}, "can only be read"),
        ("<input type=number aria-label=Age>", "type", "Age", {"text": "secret"}, "it wants a number"),
        (
            "<select aria-label=City><option>Haifa</select>",
            "select",
            "City",
            {"option": "Rome"},
            'does not offer "Rome"',
        ),
        ("<p>Short.</p>", "scroll", "", {"direction": "down"}, "cannot be scrolled"),
        ("<p>Short.</p>", "press", "", {"key": "Hyper"}, "no key of that name"),
        ("<p>Short.</p>", "navigate", "", {"url": "file:///etc/passwd"}, "file: are not opened"),
        ("<p>Short.</p>", "navigate", "", {"url": "javascript:alert(1)"}, "javascript: are not opened"),
        ("<p>Short.</p>", "navigate", "", {"url": "chrome://settings"}, "chrome: are not opened"),
        ("<p>Short.</p>", "navigate", "", {"url": "/visits"}, "not a whole address"),
        ("<p>Short.</p>", "navigate", "", {"url": f"{NOBODY}/x?token=1"}, "Nothing answers at http://127.0.0.1:"),
        ("<a href='file:///etc/passwd'>Open</a>", "click", "Open", {}, "file: are not opened"),
        ("<p>Short.</p>", "click", "", {}, "needs an element"),
        ("<p>Short.</p>", "hover", "", {}, "not an action"),
    ],
)
async def test_every_trouble_is_a_sentence(
    browser: Chromium, site: Served, body: str, tool: str, name: str, arguments: dict[str, str], sentence: str
) -> None:
    performed = await do(browser, await on(browser, site, body), tool, name, **arguments)
    assert sentence in performed.error
    assert "\n" not in performed.error
    assert "secret" not in performed.error


async def test_what_lies_under_something_else_is_not_clicked(browser: Chromium, site: Served) -> None:
    page = await on(
        browser, site, "<button>Save</button><div style='position:fixed;inset:0;background:#fff'>Wait</div>"
    )
    assert (
        await do(browser, page, "click", "Save")
    ).error == "Something lies over the element, so it cannot be clicked."


async def test_scrolling_a_part_of_the_page_is_seen_in_the_snapshot(browser: Chromium, site: Served) -> None:
    page = await browser.goto(f"{site.url}/audit")
    assert await do(browser, page, "scroll", "Entries", direction="down") == ChromiumAttempt()
    assert (await browser.snapshot()).scroll[1] > page.scroll[1]


async def test_keys_may_be_written_as_people_write_them(browser: Chromium, site: Served) -> None:
    page = await browser.goto(f"{site.url}/dashboard")
    await do(browser, page, "click", "Patient")
    page = await browser.snapshot()
    assert await browser.perform(ToolCall("press", {"key": "Esc"}), page) == ChromiumAttempt()
    assert named(await browser.snapshot(), "Patient").expanded is False


async def test_an_address_that_cannot_be_opened_first_is_an_error_that_says_why(browser: Chromium) -> None:
    with pytest.raises(PageUnreachable, match="Nothing answers at"):
        await browser.goto(NOBODY)
    with pytest.raises(PageUnreachable, match="are not opened"):
        await browser.goto("file:///etc/hostname")


async def test_a_page_on_the_disk_may_be_opened_when_it_is_the_first(browser: Chromium, tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text("<title>One</title><a href=two.html>Two</a>")
    (tmp_path / "two.html").write_text("<title>Two</title><h1>Two</h1>")
    async with Chromium.open() as local:
        page = await local.goto((tmp_path / "one.html").as_uri())
        assert await do(local, page, "click", "Two") == ChromiumAttempt()
        assert (await local.snapshot()).title == "Two"


async def test_without_a_browser_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ConfigError, match=r"apt-get install chromium.*CHROMIUM="):
        find_chromium()
    with pytest.raises(ConfigError, match="did not start"):
        async with Chromium.open(executable="/bin/false"):
            pass


async def test_a_stored_page_is_performed_on_by_its_ids(browser: Chromium, site: Served) -> None:
    page = Page.from_json((await browser.goto(f"{site.url}/settings")).to_json())
    assert await do(browser, replace(page, title=""), "click", "Notifications") == ChromiumAttempt()
    assert named(await browser.snapshot(), "Notifications").checked


@pytest.mark.parametrize(
    "holder",
    [
        '<form aria-label="Account" style="padding: 50px">{}</form>',
        '<div role="dialog" aria-label="Account" style="padding: 50px; width: 300px; text-align: center">{}</div>',
        '<table><tr tabindex="0" aria-label="Account"><td>{}</td></tr></table>',
    ],
)
async def test_a_click_never_lands_on_another_thing_than_the_one_that_was_named(
    browser: Chromium, site: Served, holder: str
) -> None:
    button = (
        """<button type="button" style="width: 100%" onclick="document.title = 'Deleted'">Delete <b>all</b></button>"""
    )
    page = await on(browser, site, holder.format(button))
    performed = await do(browser, page, "click", "Account")
    assert "Delete all" in performed.error
    assert "Name that instead" in performed.error
    assert (await browser.snapshot()).title == "Own"
    assert not (await do(browser, page, "click", "Delete all")).error
    assert (await browser.snapshot()).title == "Deleted"


async def test_a_row_is_clicked_where_nothing_else_is(browser: Chromium, site: Served) -> None:
    row = """<table style="width: 600px"><tr tabindex="0" aria-label="Ann" onclick="document.title = 'Opened'">
             <td><button>Edit</button><td style="width: 80%">Ann Levi</td></tr></table>"""
    page = await on(browser, site, row)
    assert not (await do(browser, page, "click", "Ann")).error
    assert (await browser.snapshot()).title == "Opened"
