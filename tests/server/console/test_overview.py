"""The overview: numbers that are right, lead somewhere, and mirror where writing does."""

from __future__ import annotations

import re

from tests.server.console.building import Browsing, ConsoleHouse


def bars(page) -> list[float]:
    return [float(one.get_attribute("x")) for one in page.locator("svg[aria-labelledby=outcome-days-title] rect").all()]


def test_every_number_leads_to_the_conversations_behind_it(browsing: Browsing) -> None:
    with browsing.as_("noa") as page:
        page.goto("/overview?days=30")
        links = {one.get_attribute("href") for one in page.locator("#overview a").all()}
        assert len(links) > 20
        for link in sorted(links):
            answer = page.request.get(link)
            assert answer.ok, link
            assert "tr class" in answer.text(), link


def test_the_turns_of_a_day_are_the_turns_that_were(house: ConsoleHouse) -> None:
    with house.visitor("noa") as visitor:
        page = visitor.get("/overview?days=90").text
        told = int(re.search(r'class="value"><bdi dir="ltr">([\d,]+)', page)[1].replace(",", ""))
        total = 0
        for tenant in ("shop", "shop-he", "shop-ru"):
            of_one = visitor.get(f"/overview?days=90&tenant={tenant}").text
            total += int(re.search(r'class="value"><bdi dir="ltr">([\d,]+)', of_one)[1].replace(",", ""))
        assert told == total > 0


def test_time_runs_to_the_left_in_hebrew(browsing: Browsing) -> None:
    def order(language: str) -> list[float]:
        with browsing.as_("noa", language=language) as page:
            page.goto("/overview?days=30")
            return bars(page)

    english, hebrew = order("en"), order("he")
    assert english == sorted(english)
    assert hebrew == sorted(hebrew, reverse=True)
    assert len(english) == len(hebrew) > 5


def test_a_bar_says_what_it_is_and_leads_there(browsing: Browsing) -> None:
    with browsing.as_("noa") as page:
        page.goto("/overview?days=30")
        bar = page.locator("svg[aria-labelledby=outcome-days-title] a").first
        bar.locator("rect").hover()
        page.wait_for_selector("#tip:not([hidden])")
        assert re.match(r"\d+ \w+ · \w+: \d+", page.inner_text("#tip"))
        bar.click()
        page.wait_for_url("**/conversations?**on=**")
        assert page.locator("#found tbody tr.open").count() > 0


def test_the_estimate_is_explained(browsing: Browsing) -> None:
    with browsing.as_("noa") as page:
        page.goto("/overview")
        page.click("text=How is this estimated?")
        assert "four characters" in page.inner_text("main")


def test_nothing_yet_says_how_to_begin(house: ConsoleHouse) -> None:
    with house.visitor("theirs") as visitor:
        assert visitor.get("/overview?tenant=shop").status_code == 404
        assert "demo-data add" not in visitor.get("/overview").text
