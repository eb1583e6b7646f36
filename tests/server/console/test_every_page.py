"""Every page in every language, both themes and three widths: nothing overflows, nothing keeps people out, nothing is
refused by the browser (the guard of `as_` sees to that)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.console.building import Browsing, ConsoleHouse, overflow, serious

PAGES = {
    "queue": "/",
    "overview": "/overview",
    "find": "/find?q=order",
    "conversations": "/conversations",
    "conversation": "/conversations/shop/demo-shop-001",
    "inside": "/conversations/shop-he/demo-shop-he-002?debug=1",
    "escalations": "/escalations?state=all",
    "escalation": "@/escalations?state=all",
    "approvals": "/approvals?state=all",
    "approval": "@/approvals?state=all",
    "reviews": "/reviews",
    "review": "@/reviews",
    "experiments": "/experiments",
    "experiment": "@/experiments",
    "shadow": "/shadows/demo-beside",
    "difference": "@/shadows/demo-beside",
    "prompt": "@/prompt-versions?tenant=shop",
    "nothing": "/conversations/shop/there-is-none",
}
LOOKS = [("en", "light"), ("he", "dark")]
ONE_LOOK = {"find": 1, "experiments": 0, "shadow": 1, "difference": 0, "prompt": 1}
"""Pages whose pieces are all on others: one of the looks is enough."""
CASES = [
    *((name, *look) for name in PAGES for look in LOOKS if name not in ONE_LOOK or look == LOOKS[ONE_LOOK[name]]),
    ("inside", "en", "dark"),
    ("inside", "ru", "light"),
    ("overview", "ru", "light"),
    ("overview", "he", "light"),
]


def opened(page: Any, path: str) -> None:
    page.goto(path.removeprefix("@"))
    if path.startswith("@"):
        page.click("#found tbody a >> nth=0")
        page.wait_for_selector("main h1")


@pytest.mark.parametrize(("name", "language", "theme"), CASES)
def test_a_page_can_be_used_by_everyone(browsing: Browsing, name: str, language: str, theme: str) -> None:
    expected = ("404",) if name == "nothing" else ()
    with browsing.as_("noa", language=language, theme=theme, expected=expected) as page:
        opened(page, PAGES[name])
        assert page.get_attribute("html", "lang") == language
        assert page.get_attribute("html", "dir") == ("rtl" if language == "he" else "ltr")
        assert serious(page) == []
        for width in (1440, 768, 360):
            page.set_viewport_size({"width": width, "height": 900})
            assert overflow(page) <= 0, width


def test_a_page_is_small_and_asks_for_little(browsing: Browsing) -> None:
    with browsing.as_("noa") as page:
        sizes: list[int] = []
        page.on("response", lambda answer: sizes.append(int(answer.headers.get("content-length", 0))))
        page.goto("/")
        page.wait_for_load_state("load")
        assert sum(sizes) < 200_000, sum(sizes)


@pytest.mark.parametrize("language", ["en", "he", "ru"])
def test_no_page_is_larger_than_sixty_kilobytes(house: ConsoleHouse, language: str) -> None:
    """Without packing: how far a page is from its reader is not ours to choose."""
    paths = [path for path in PAGES.values() if not path.startswith("@")]
    paths += ["/overview?days=90", "/usage", "/experiments/demo-careful", "/policies/shop", "/tenants/shop", "/log"]
    with house.visitor("root") as visitor:
        visitor.cookies.set("circumspect_language", language)
        sizes = {path: len(visitor.get(path).content) for path in paths}
    assert {path: size for path, size in sizes.items() if size > 60_000} == {}


def test_the_sign_in_page_can_be_used_by_everyone(browsing: Browsing) -> None:
    for language, theme in LOOKS:
        with browsing.as_("", language=language, theme=theme, width=360) as page:
            page.goto("/login")
            assert serious(page) == []
            assert overflow(page) <= 0


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/overview",
        "/conversations",
        "/escalations",
        "/approvals",
        "/tenants",
        "/usage",
        "/reviews",
        "/experiments/demo-careful",
    ],
)
def test_everything_on_a_page_is_reached_by_the_tab_key_and_seen_there(browsing: Browsing, path: str) -> None:
    with browsing.as_("root") as page:
        page.goto(path)
        wanted = page.evaluate(_REACHABLE)
        reached: set[str] = set()
        for _ in range(len(wanted) + 60):
            page.keyboard.press("Tab")
            at = page.evaluate(_FOCUSED)
            if at is not None:
                assert at["outlined"], f"nothing shows that {at['mark']} has the focus"
                reached.add(at["mark"])
            if reached >= set(wanted):
                break
        missed = [page.evaluate(_NAMED, mark) for mark in sorted(set(wanted) - reached)[:5]]
        assert not missed, missed


_REACHABLE = """() => [...document.querySelectorAll("main a[href], main button, main input, main select, main textarea")]
  .filter((one) => one.checkVisibility() && !one.disabled && one.tabIndex >= 0 && one.type !== "radio")
  .slice(0, 25)
  .map((one, index) => (one.dataset.mark = String(index)))"""
_NAMED = "mark => document.querySelector(`[data-mark='${mark}']`)?.outerHTML.slice(0, 120)"
_FOCUSED = """() => {
  const one = document.activeElement;
  if (!one || !one.dataset.mark) return null;
  const style = getComputedStyle(one);
  return { mark: one.dataset.mark, outlined: style.outlineStyle !== "none" || style.boxShadow !== "none" };
}"""


def test_by_the_keyboard_alone_one_gets_to_a_conversation(browsing: Browsing) -> None:
    with browsing.as_("noa") as page:
        page.goto("/conversations")
        page.focus("#found tbody a >> nth=0")
        page.keyboard.press("Enter")
        page.wait_for_url("**/conversations/*/*")
        page.focus("input[name=debug]")
        page.keyboard.press("Space")
        page.wait_for_url("**debug=1*")
        assert page.is_visible(".legend")


def test_the_menu_of_a_phone_opens(browsing: Browsing) -> None:
    with browsing.as_("noa", width=360) as page:
        page.goto("/")
        assert not page.is_visible("nav a >> nth=1")
        page.click("details.menu > summary")
        page.click("nav a[href='/conversations']")
        page.wait_for_url("**/conversations")
