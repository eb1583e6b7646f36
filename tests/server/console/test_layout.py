"""Where things stand: what a page of one form looks like on a broad screen, what a phone says beside a field, which way
a line runs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.server.console.building import Browsing, ConsoleHouse, overflow, serious

from circumspect.server.console.browser_names import name_browser


def box(page: Any, selector: str) -> dict[str, float]:
    found = page.locator(selector).first.bounding_box()
    assert found is not None, selector
    return dict(found)


@pytest.mark.parametrize("path", ["/new-tenant", "/account", "/playground", "/new-review"])
def test_a_page_of_one_form_stands_in_the_middle_of_a_broad_screen(browsing: Browsing, path: str) -> None:
    with browsing.as_("root", width=1920) as page:
        page.goto(path)
        side, main = box(page, "header.side"), box(page, "main")
        before, after = main["x"] - side["width"], 1920 - main["x"] - main["width"]
        assert main["width"] < 1000
        assert abs(before - after) <= 2, (before, after)
        assert serious(page) == []


def test_a_plan_is_changed_on_a_phone_by_fields_that_say_what_they_are(browsing: Browsing, house: ConsoleHouse) -> None:
    with browsing.as_("root", width=360) as page:
        page.goto("/tenants")
        cell = page.locator("td:has(> input[name=quota])").first
        said = cell.evaluate("one => getComputedStyle(one, '::before').content")
        assert said == '"Messages a month"'
        assert overflow(page) <= 0
        field = page.locator("tr:has(input[value=enterprise]) input[name=quota]")
        field.fill("4321")
        page.click("tr:has(input[value=enterprise]) button")
        page.wait_for_url("**/tenants?done=*")
        assert page.locator("tr:has(input[value=enterprise]) input[name=quota]").input_value() == "4321"


def test_buttons_stand_beside_their_field(browsing: Browsing) -> None:
    with browsing.as_("noa") as page:
        page.goto("/playground?tenant=shop")
        field, button = box(page, "main select"), box(page, "main button.primary")
        assert abs(field["y"] + field["height"] - button["y"] - button["height"]) <= 1


def test_a_list_keeps_its_edge_whatever_script_a_line_is_in(browsing: Browsing) -> None:
    query = """all => all.map((one) => { const range = document.createRange(); range.selectNodeContents(one);
      const words = range.getBoundingClientRect(), cell = one.closest("td").getBoundingClientRect();
      return document.dir === "rtl" ? cell.right - words.right : words.left - cell.left; })"""
    for language in ("en", "he"):
        with browsing.as_("noa", language=language) as page:
            page.goto("/conversations")
            assert page.get_attribute("html", "dir") == ("rtl" if language == "he" else "ltr")
            edges = page.locator("#found td > a.clip").evaluate_all(query)
            assert len(edges) > 20
            assert max(edges) - min(edges) <= 1, language


def test_only_the_picture_of_a_turns_times_runs_from_left_to_right(browsing: Browsing) -> None:
    with browsing.as_("noa", language="he") as page:
        page.goto("/conversations/shop-he/demo-shop-he-002?debug=1")
        part = ".step:has(.chart[dir=ltr])"
        assert page.locator(f"{part} .chart[dir=ltr] svg").count() > 0
        assert page.locator(f"{part} details.data").first.evaluate("one => getComputedStyle(one).direction") == "rtl"


def test_what_a_call_is_about_stands_below_the_conversation_it_is_from(house: ConsoleHouse) -> None:
    with house.visitor("noa") as visitor:
        listed = visitor.get("/escalations").text
        pages = [visitor.get(path).text for path in re.findall(r'href="(/escalations/esc-exec[^"]+)"', listed)]
    about = [one for one in pages if 'id="about-title"' in one]
    assert about
    for one in about:
        assert one.index('class="chat"') < one.index('id="about-title"') < one.index('class="stack beside"')


@pytest.mark.parametrize(
    ("sent", "called"),
    [
        (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36",
            "Chrome 156 · Linux",
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0"
            " Safari/537.36 Edg/156.0.0.0",
            "Edge 156 · Windows",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
            " Version/18.5 Mobile/15E148 Safari/604.1",
            "Safari 18 · iOS",
        ),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:141.0) Gecko/20100101 Firefox/141.0",
            "Firefox 141 · macOS",
        ),
        (
            "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Mobile"
            " Safari/537.36",
            "Chrome 156 · Android",
        ),
        ("python-httpx/0.28", "python-httpx/0.28"),
        ("", ""),
    ],
)
def test_a_browser_has_the_name_that_people_know(sent: str, called: str) -> None:
    assert name_browser(sent) == called
