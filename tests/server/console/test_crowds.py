"""Many tenants, long names and names that run the other way; a database with nothing in it; a browser without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.server.console.building import SAME, Browsing, ConsoleHouse, overflow

from circumspect.stores import SqlStore
from circumspect.values import TenantId

NAMES = (
    "Very long name of a company that nobody ever shortened because the lawyers insisted, Incorporated and Sons",
    "החברה לשיווק מוצרי מדף ארוכים במיוחד בע״מ",
    "Оченьдлинноесловобезпробеловкотороенеразрывается",
    "<b>x</b>{{ 7*7 }}",
)
OPERATOR = "אבגדה" * 8 + "w" * 40
PAGES = ("/", "/overview", "/conversations", "/tenants", "/tenants/many-001", "/tenants/many-002", "/policies",
         "/colleagues", "/usage", "/playground", "/new-review", "/new-experiment", "/log")  # fmt: skip


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleHouse]:
    with ConsoleHouse(f"sqlite:///{tmp_path_factory.mktemp('crowd')}/crowd.db") as made:

        async def fill(store: SqlStore) -> None:
            base = (await store.tenants())[0]
            for number in range(200):
                business = replace(base.business, name=f"{NAMES[number % len(NAMES)]} {number}")
                await store.put_tenant(replace(base, id=TenantId(f"many-{number:03}"), business=business))

        made.stored(fill)
        with made.visitor("root") as root:
            form = {"name": OPERATOR, "role": "operator"}
            assert root.post("/colleagues", data=form, headers=SAME).status_code in (200, 303)
        yield made


@pytest.mark.parametrize("language", ["en", "he"])
def test_two_hundred_tenants_with_long_names_fit_a_phone_and_a_screen(
    browser: Any, crowded: ConsoleHouse, language: str
) -> None:
    with Browsing(browser, crowded).as_("root", language=language) as page:
        for path in PAGES:
            page.goto(path)
            for width in (1920, 1280, 360):
                page.set_viewport_size({"width": width, "height": 900})
                assert overflow(page) <= 0, (path, width)
        page.goto("/")
        page.set_viewport_size({"width": 1280, "height": 900})
        widths = page.eval_on_selector_all("main select", "all => all.map(one => one.getBoundingClientRect().width)")
        assert max(widths) < 400, "a long name does not spread a field over the page"


def test_a_name_that_runs_the_other_way_keeps_to_itself(browser: Any, crowded: ConsoleHouse) -> None:
    """Its number stands behind it, which for Hebrew is on its left, and the id after both."""
    with Browsing(browser, crowded).as_("root") as page:
        page.goto("/tenants")
        row = page.locator("tr:has(a[href='/tenants/many-001'])").first
        name, id_ = row.locator("bdi").first.bounding_box(), row.locator("text=many-001").first.bounding_box()
        assert name["x"] + name["width"] <= id_["x"] + 1
        assert "49" not in page.inner_text("main").split("many-003")[0].rsplit("\n", 1)[-1]


def test_one_of_two_hundred_tenants_is_found_by_its_name(browser: Any, crowded: ConsoleHouse) -> None:
    with Browsing(browser, crowded).as_("root") as page:
        page.goto("/tenants")
        page.fill("input[data-narrows]", "Sons 196")
        assert page.locator("table[data-sorts] tbody tr:visible").count() == 1
        page.keyboard.press("Escape")
        page.goto("/")
        page.keyboard.press("Control+k")
        page.keyboard.type("Sons 196")
        page.wait_for_selector("#palette-found a[href='/tenants/many-196']")


@pytest.mark.parametrize(
    "path", ["/", "/overview", "/conversations", "/escalations", "/approvals", "/usage", "/reviews"]
)
def test_where_there_is_nothing_yet_a_page_says_what_will_be_there(crowded: ConsoleHouse, path: str) -> None:
    with crowded.visitor("noa") as visitor:
        page = visitor.get(path)
    assert page.status_code == 200
    assert 'class="empty"' in page.text


READING = {
    "/": "[data-item] a",
    "/overview": "svg rect",
    "/conversations": "#found tbody a",
    "/conversations/shop/demo-shop-002?debug=1": ".bubble",
    "/escalations": "#found tbody a",
    "/approvals": "#found tbody a",
    "/policies/shop": "#text",
    "/usage": "svg rect",
    "/experiments/demo-careful": ".metric",
    "/log": "tbody tr",
    "/find?q=order": "a",
}


def test_pages_are_read_without_scripts(browser: Any, house: ConsoleHouse) -> None:
    context = browser.new_context(
        base_url=house.url, java_script_enabled=False, viewport={"width": 1280, "height": 900}
    )
    context.add_cookies([{"name": "circumspect_session", "value": house.signed_in("root"), "url": house.url}])
    page = context.new_page()
    for path, sign in READING.items():
        page.goto(path)
        assert page.locator(f"main {sign}").count() > 0, path
        assert page.locator(".skeleton >> visible=true").count() == 0, path
        assert page.locator("time >> nth=0").count() == 0 or "UTC" in page.locator("main time").first.inner_text(), path
    context.close()


def test_back_after_a_form_was_sent_sends_nothing_again(browsing: Browsing, house: ConsoleHouse) -> None:
    with browsing.as_("noa") as page:
        page.goto("/")
        page.click("[data-item] a >> nth=0")
        page.fill("textarea[name=note]", "looked at it")
        page.click("section.work form[action$='/notes'] button")
        page.wait_for_selector(".said-note")
        here = page.url.split("#")[0]
        page.go_back()
        page.go_forward()
        page.wait_for_load_state()
        assert page.url.split("#")[0] == here
        assert page.locator(".said-note >> text=looked at it").count() == 1
        page.reload()
        assert page.locator(".said-note >> text=looked at it").count() == 1
