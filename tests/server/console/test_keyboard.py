"""By the keyboard alone: along the queue, through an item, and anywhere by its name. Times as the reader's clock has
them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.server.console.building import Browsing, ConsoleHouse, eventually, overflow, serious
from tests.server.house import OURS
from tests.server.rows import approval, escalation

TALK = "demo-shop-001"


def state_of(house: ConsoleHouse, approval_id: str) -> str:
    with house.visitor("noa") as visitor:
        return str(visitor.get(f"/v1/approvals/{approval_id}").json()["state"])


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.getAttribute('href')"))


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_j_and_k_go_along_the_list_and_enter_opens(browsing: Browsing) -> None:
    with browsing.as_("noa") as page:
        page.goto("/")
        links = [one.get_attribute("href") for one in page.locator("[data-item] td:not(.mark) > a").all()]
        assert len(links) > 2
        press(page, "k")
        assert focused(page) == links[0]
        press(page, "j", "j", "k")
        assert focused(page) == links[1]
        press(page, "Enter")
        page.wait_for_url(f"**{links[1]}")
        press(page, "j")
        page.wait_for_url(f"**{links[2]}")
        press(page, "k")
        page.wait_for_url(f"**{links[1]}")


def test_escape_closes_the_palette_with_words_in_it(browsing: Browsing) -> None:
    with browsing.as_("noa") as page:
        page.goto("/")
        press(page, "Control+k")
        page.wait_for_selector("#palette[open]")
        page.keyboard.type("refund")
        press(page, "Escape")
        page.wait_for_selector("#palette:not([open])", state="attached")


def test_a_denial_by_key_is_asked_about_before_it_is_done(browsing: Browsing, house: ConsoleHouse) -> None:
    waits = approval(house, OURS, TALK)
    with browsing.as_("noa") as page:
        page.goto(f"/approvals/{waits}")
        press(page, "n")
        page.wait_for_selector("#sure[open]")
        assert "Deny: Cancel order 12345" in page.inner_text("#sure"), "in words, and which one"
        press(page, "Escape")
        assert not page.is_visible("#sure")
        press(page, "n", "n", "y")
        page.wait_for_selector("#sure[open]")
        assert state_of(house, waits) == "pending", "the same key again confirms nothing"
        press(page, "Enter")
        page.wait_for_selector("[role=status]")
    assert state_of(house, waits) == "denied"


def test_letters_that_are_written_do_nothing_else(browsing: Browsing, house: ConsoleHouse) -> None:
    waits = escalation(house, OURS, TALK, "help")
    with browsing.as_("noa") as page:
        page.goto(f"/escalations/{waits}")
        page.focus("textarea[name=note]")
        page.keyboard.type("yes? an easy kayak, joy")
        assert page.input_value("textarea[name=note]") == "yes? an easy kayak, joy"
        assert page.locator("dialog[open]").count() == 0
        page.evaluate("document.activeElement.blur()")
        press(page, "a")
        page.wait_for_selector(".work dd:has-text('noa')")
        press(page, "y")
        page.wait_for_selector("#sure[open]")
        press(page, "Enter")
        page.wait_for_selector("textarea[name=content]")
        press(page, "e")
        assert page.evaluate("document.activeElement.name") == "content"


def test_the_keys_are_found_on_a_keyboard_of_another_alphabet(browsing: Browsing) -> None:
    with browsing.as_("noa", language="he") as page:
        page.goto("/")
        page.evaluate(
            "document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'ח', code: 'KeyJ', bubbles: true}))"
        )
        assert focused(page).startswith("/")
        assert page.evaluate("Boolean(document.activeElement.closest('[data-item]'))")


@pytest.mark.parametrize("language", ["en", "he"])
def test_the_list_of_keys_can_be_used_by_everyone(browsing: Browsing, language: str) -> None:
    with browsing.as_("noa", language=language, width=390) as page:
        page.goto("/")
        press(page, "?")
        page.wait_for_selector("#keys[open]")
        assert serious(page) == []
        assert overflow(page) <= 0
        press(page, "Enter")
        assert not page.is_visible("#keys")


def test_the_palette_goes_anywhere_and_gives_the_focus_back(browsing: Browsing) -> None:
    with browsing.as_("noa") as page:
        page.goto("/overview")
        page.focus("select[name=tenant]")
        press(page, "Control+k")
        page.wait_for_selector("#palette[open]")
        assert serious(page) == []
        press(page, "Escape")
        assert page.evaluate("document.activeElement.name") == "tenant"
        press(page, "Control+k")
        page.keyboard.type("kestrel")
        page.wait_for_selector("#palette-found a[href='/policies/shop']")
        press(page, "ArrowDown")
        assert page.evaluate("Boolean(document.activeElement.closest('#palette-found'))")
        press(page, "ArrowUp")
        assert page.evaluate("document.activeElement.name") == "q"
        page.fill("#palette input", "conversations")
        page.wait_for_selector("#palette-found a[href='/conversations']")
        page.wait_for_selector("#palette-found a[href='/policies/shop']", state="detached")
        press(page, "ArrowDown", "Enter")
        page.wait_for_url("**/conversations")


def test_without_scripts_it_is_a_plain_page_of_what_one_may_see(house: ConsoleHouse) -> None:
    with house.visitor("noa") as visitor:
        assert 'href="/find"' in visitor.get("/").text
        page = visitor.get("/find", params={"q": "Kestrel"}).text
        assert 'href="/policies/shop"' in page
        assert "/tenants/shop" not in page, "for administrators"
        assert f'href="/conversations/shop/{TALK}"' in visitor.get("/find", params={"q": TALK}).text
        nothing = visitor.get("/find", params={"q": "<script>alert(1)</script>"})
        assert "Nothing was found." in nothing.text
        assert "<script>alert" not in nothing.text
    with house.visitor("root") as visitor:
        assert 'href="/tenants/shop"' in visitor.get("/find", params={"q": "kestrel"}).text
    with house.visitor("theirs") as visitor:
        for sought in ("kestrel", TALK, "order", "shop"):
            page = visitor.get("/find", params={"q": sought}).text
            assert "Kestrel" not in page, sought
            assert "/shop/" not in page, sought
            assert 'href="/policies/shop"' not in page, sought


@pytest.mark.parametrize(("zone", "shift"), [("Asia/Jerusalem", "GMT+2"), ("America/New_York", "EST")])
def test_times_are_the_readers_own(house: ConsoleHouse, browser: Any, zone: str, shift: str) -> None:
    from circumspect.server.session_cookies import COOKIE

    context = browser.new_context(timezone_id=zone, locale="en", base_url=house.url)
    context.add_cookies([{"name": COOKIE, "value": house.signed_in("noa"), "url": house.url}])
    page = context.new_page()
    try:
        page.goto("/")
        time = page.locator("[data-item] time[data-ago]").first
        eventually(page, lambda: "ago" in time.inner_text() or "minute" in time.inner_text())
        time.hover()
        page.wait_for_selector("#tip:not([hidden])")
        assert zone in page.inner_text("#tip")
        assert re.search(r"\d{4}, \d\d:\d\d [AP]M", page.inner_text("#tip"))
    finally:
        context.close()


def test_without_scripts_times_are_utc_and_say_so(house: ConsoleHouse) -> None:
    with house.visitor("noa") as visitor:
        assert re.search(r'<time datetime="[^"]+\+00:00" data-ago>[^<]+ UTC</time>', visitor.get("/").text)


def test_every_tab_says_what_is_in_it(house: ConsoleHouse) -> None:
    with house.visitor("noa") as visitor:

        def title(path: str) -> str:
            return re.search(r"<title>(.*?)</title>", visitor.get(path).text, re.S)[1]

        talks = {title(f"/conversations/shop/demo-shop-00{number}") for number in (1, 2, 3)}
        assert len(talks) == 3
        waits = re.findall(r'data-item>.*?<td><a href="([^"]+)"', visitor.get("/").text)
        assert len({title(path) for path in waits[:6]}) == len(waits[:6])
