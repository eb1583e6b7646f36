"""The chat in a tenant's colours: it can be read whatever the colour, it says what it is, and a person is one click away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import orjson
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import wait_until
from tests.server.console.building import SAME, Browsing, eventually, overflow, serious
from tests.server.console.hosting import Site, WidgetHouse, opened, visiting, without_limits

from circumspect.language.wanted import asks_for_person
from circumspect.server.console.i18n import Translator
from circumspect.server.console.widget.branding import READABLE, make_readable, measure_contrast, pick_text
from circumspect.stores import SqlStore
from circumspect.stores.tables import escalations
from circumspect.values import LANGUAGES


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WidgetHouse]:
    folder: Path = tmp_path_factory.mktemp("brand")
    with without_limits(folder) as made:
        yield made


@pytest.fixture(scope="module")
def site(house: WidgetHouse) -> Iterator[Site]:
    with Site(house) as made:
        yield made


@given(st.integers(0, 0xFFFFFF))
def test_whatever_the_colour_its_words_can_be_read(number: int) -> None:
    colour = f"#{number:06x}"
    assert measure_contrast(colour, pick_text(colour)) >= READABLE
    for ground in ("#ffffff", "#171a21"):
        assert measure_contrast(make_readable(colour, ground), ground) >= READABLE


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_button_says_what_code_hears_as_the_wish_for_a_person(language: str) -> None:
    assert asks_for_person(Translator(language).t("widget-person-wish"))


def saved(house: WidgetHouse, **fields: str) -> Any:
    with house.visitor("root") as visitor:
        return visitor.post("/tenants/shop/widget", data=fields, headers=SAME)


def test_the_look_is_shown_while_it_is_set_in_the_colours_that_it_will_have(browser: Any, house: WidgetHouse) -> None:
    with Browsing(browser, house).as_("root") as page:
        page.goto("/tenants/shop/widget")
        page.fill("input[name=colour]", "#ffd400")
        page.fill("input[name=name]", "Ask <b>us</b>")
        page.fill("input[name=greeting-en]", "Good day!")
        drawn = "() => getComputedStyle(document.querySelector('.chatbox .top'))"
        eventually(page, lambda: page.evaluate(f"{drawn}.backgroundColor") == "rgb(255, 212, 0)")
        assert page.evaluate(f"{drawn}.color") == "rgb(0, 0, 0)", "what can be read on it"
        shown = page.inner_text(".chatbox")
        assert "Ask <b>us</b>" in shown
        assert "Good day!" in shown
        assert "AI" in shown


def _count(connection: sa.Connection) -> int:
    return connection.scalar(sa.select(sa.func.count(escalations.c.id))) or 0


def escalated(house: WidgetHouse) -> int:
    async def look(store: SqlStore) -> int:
        return await store.tx(_count)

    return house.stored(look)


def test_a_branded_chat_says_that_it_is_an_ai_and_calls_a_person(browser: Any, house: WidgetHouse, site: Site) -> None:
    looks = {"name": "Ask Kestrel", "colour": "#ffd400", "greeting-en": "Ahoy <b>there</b>!"}
    assert saved(house, origins=site.url, **looks).status_code == 303
    before = escalated(house)
    with visiting(browser, site) as page:
        frame = opened(page, site.page("shop", "en"))
        frame.wait_for_selector(".said")
        assert frame.inner_text("h1") == "Ask Kestrel"
        assert frame.inner_text(".said p") == "Ahoy <b>there</b>!"
        assert frame.inner_text("#ai") == "You are chatting with an AI"
        assert (
            frame.evaluate("getComputedStyle(document.querySelector('header')).backgroundColor") == "rgb(255, 212, 0)"
        )
        frame.click("#person")
        eventually(page, lambda: escalated(house) == before + 1)
        page.goto(f"{house.url}/widget?lang=en&key={house.token('shop', 'widget')}")
        page.wait_for_selector(".said")
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            assert serious(page) == []
        for width in (390, 1440):
            page.set_viewport_size({"width": width, "height": 700})
            assert overflow(page) <= 0


def test_without_a_brand_everything_is_as_it_was(house: WidgetHouse) -> None:
    assert saved(house, colour="#3450c8").status_code == 303
    asked = {"key": house.token("shop", "widget"), "lang": "he"}
    # A worker that has just looked looks again a second later.
    wait_until(lambda: "brand.css" not in house.client().get("/widget", params=asked).text)
    shown = unescape(house.client().get("/widget", params=asked).text)
    assert Translator("he").t("widget-ai") in shown
    words = re.search(r'data-words="(.*?)">', shown)
    assert words is not None
    assert orjson.loads(words[1])["greeting"] == Translator("he").t("widget-greeting")


@pytest.mark.parametrize(
    "fields",
    [
        {"colour": "red"},
        {"colour": "#12345"},
        {"origins": "shop.example"},
        {"origins": "https://shop.example/path"},
        {"origins": "https://a.example; script-src *"},
        {"name": "x" * 61},
        {"greeting-en": "x" * 501},
    ],
)
def test_a_look_that_cannot_be_is_refused_and_nothing_changes(house: WidgetHouse, fields: dict[str, str]) -> None:
    good = {"origins": "https://shop.example", "name": "Good"}
    assert saved(house, **good).status_code == 303
    assert saved(house, **{**good, **fields}).status_code == 422
    with house.visitor("root") as visitor:
        assert "Good" in visitor.get("/tenants/shop/widget").text


def test_a_sheet_of_colours_takes_nothing_but_a_colour(house: WidgetHouse) -> None:
    client = house.client()
    assert client.get("/widget/brand.css", params={"colour": "ffd400"}).headers["content-type"].startswith("text/css")
    for wrong in ("", "red", "ffd400;}*{color:red", "#ffd400", "gggggg"):
        assert client.get("/widget/brand.css", params={"colour": wrong}).status_code == 422


def test_the_line_for_a_page_has_a_key_that_is_shown_once_and_may_only_chat(house: WidgetHouse) -> None:
    saved(house, origins="https://shop.example", colour="#ffd400")
    with house.visitor("root") as visitor:
        assert "csk_…" in visitor.get("/tenants/shop/widget").text
        made = visitor.post("/tenants/shop/widget/key", headers=SAME)
        line = unescape(re.search(r'id="snippet">(.*?)</code>', made.text)[1])  # type: ignore[index]
        key = re.search(r'data-key="(csk_[^"]+)"', line)[1]  # type: ignore[index]
        assert f'src="{house.url}/widget.js"' in line
        assert 'data-colour="#ffd400"' in line
        assert key not in visitor.get("/tenants/shop/widget").text
    assert house.client().get("/widget", params={"key": key}).status_code == 200
    assert house.client(key).get("/v1/conversations").status_code == 403


def test_what_was_saved_is_taken_back_by_who_saved_it(house: WidgetHouse) -> None:
    saved(house, origins="https://one.example", name="One")
    with house.visitor("root") as visitor:
        done = visitor.post("/tenants/shop/widget", data={"origins": "https://two.example"}, headers=SAME)
        shown = visitor.get(done.headers["location"]).text
        form = re.search(
            r'<form method="post" action="/tenants/shop/widget" class="row notice">(.*?)</form>', shown, re.S
        )
        assert form is not None
        fields = re.findall(r'<textarea name="([^"]+)" hidden>\n(.*?)</textarea>', form[1], re.S)
        visitor.post("/tenants/shop/widget", data={key: unescape(value) for key, value in fields}, headers=SAME)
        assert "https://one.example" in visitor.get("/tenants/shop/widget").text


def test_the_chat_of_another_tenant_is_nobodys_business(house: WidgetHouse) -> None:
    with house.visitor("their-admin") as visitor:
        assert visitor.get("/tenants/shop/widget").status_code == 404
        assert (
            visitor.post("/tenants/shop/widget", data={"origins": "https://evil.example"}, headers=SAME).status_code
            == 404
        )
        assert visitor.post("/tenants/shop/widget/key", headers=SAME).status_code == 404
