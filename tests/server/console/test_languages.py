"""No page in Hebrew or Russian has an English word of ours on it: what is data, code or said to be English may."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from importlib import resources

import pytest
from tests.server.console.building import ConsoleHouse

PAGES = (
    "/", "/overview", "/find?q=order", "/conversations", "/conversations/shop/demo-shop-001?debug=1",
    "/escalations?state=all", "@/escalations?state=all", "/approvals?state=all", "@/approvals?state=all", "/policies",
    "/policies/shop", "/policies/shop/diff?from=0&to=1", "/playground", "/reviews", "@/reviews", "/reviews/new",
    "/experiments", "/experiments/demo-careful", "/shadows/demo-beside", "/prompt-versions?tenant=shop", "/usage",
    "/usage?by=tenant", "/tenants", "/tenants/shop", "/tenants/shop/tools", "/tenants/shop/widget", "/new-tenant",
    "/colleagues", "/notifications", "/log", "/account", "/account/second-factor", "/customer?tenant=shop",
    "/conversations/shop/there-is-none",
)  # fmt: skip
DATA = {"code", "pre", "kbd", "script", "style", "bdi", "textarea", "option", "time", "title", "datalist"}
VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "use", "path", "rect", "line"}
NAMES = (
    "Kestrel & Kettle",
    "Harbour Street Cl",
    "Lantern Software",
    "Do you treat horses?",
    "Returns",
    "demo-",
    "Deutsch",
)
SPELLED = {
    "Circumspect", "English", "JSON", "CSV", "amount", "always", "cancel_order", "careful", "confidence_cap", "confirm",
    "destructive", "effect", "enterprise", "free", "get_order_status", "noa", "pro", "read", "refund", "rita", "root",
    "their", "admin", "theirs", "when_implied", "write", "UTC",
}  # fmt: skip
"""Names of tools, keys, plans and people, which are spelled alike in every language."""
SAID = ("aria-label", "title", "placeholder", "data-tip", "data-done", "alt")


class Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.within: list[bool] = []
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        own = (
            named.get("lang") == "en" or named.get("dir") in ("auto", "ltr") or "mono" in named.get("class", "").split()
        )
        is_data = tag in DATA or (own and tag != "html")
        if not is_data and not any(self.within):
            self.found += [
                named[name] for name in SAID if name in named and tag not in ("button", "li", "span", "rect")
            ]
        if tag not in VOID:
            self.within.append(is_data)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """It has nothing in it."""

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID and self.within:
            self.within.pop()

    def handle_data(self, data: str) -> None:
        if data.strip() and not any(self.within):
            self.found.append(data.strip())


def read_latin(language: str) -> set[str]:
    """What our own texts in that language spell in Latin letters: names of keys on the keyboard, of headers, of formats."""
    folder = resources.files("circumspect.server.console").joinpath("words", language)
    texts = " ".join(one.read_text("utf-8") for one in folder.iterdir())
    return set(re.findall(r"[A-Za-z_]{3,}", re.sub(r"^[a-z][\w-]* =|\{[^}]*\}|^\s*\*?\[\w+\]", " ", texts, flags=re.M)))


def find_english(page: str, known: set[str]) -> list[str]:
    words = Words()
    words.feed(re.sub(r"<bdi[^>]*>.*?</bdi>", " ", page, flags=re.S))
    left = []
    for text in words.found:
        own = re.sub("\u2068.*?\u2069", " ", text, flags=re.S)  # what was put into a sentence
        for name in NAMES:
            own = own.replace(name, " ")
        if set(re.findall(r"[A-Za-z_]{3,}", own)) - known - SPELLED:
            left.append(text)
    return left


@pytest.mark.parametrize("language", ["he", "ru"])
def test_no_page_has_an_english_word_left(house: ConsoleHouse, language: str) -> None:
    with house.visitor("root") as visitor:
        visitor.cookies.set("circumspect_language", language)
        known = read_latin(language)
        left: dict[str, list[str]] = {}
        for path in PAGES:
            page = visitor.get(path.removeprefix("@")).text
            if path.startswith("@"):
                within = page.split('id="found"')[1]
                link = re.search(r'<td[^>]*>\s*<a href="([^"]+)"', within)
                assert link is not None, path
                page = visitor.get(link[1]).text
            if found := find_english(page, known):
                left[path] = found[:12]
    assert left == {}


def test_an_english_word_would_be_found() -> None:
    page = '<p>שלום Save <code>Save</code> <bdi>Save</bdi></p><input placeholder="Write here"><p>Esc</p>'
    assert find_english(page, {"Esc"}) == ["שלום Save", "Write here"]
