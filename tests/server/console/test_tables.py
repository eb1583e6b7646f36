"""Tables that are wholly on a page are sorted and narrowed there, and the address says how."""

from __future__ import annotations

import itertools

from tests.server.console.building import Browsing, serious


def test_a_table_is_sorted_and_narrowed_and_its_address_shows_the_same_again(browsing: Browsing) -> None:
    with browsing.as_("root") as page:

        def names() -> list[str]:
            return page.locator("table[data-sorts=tenants] tbody tr:visible td:first-child a").all_inner_texts()

        page.goto("/tenants")
        page.click("table[data-sorts=tenants] th >> nth=0 >> button")
        up = names()
        page.click("table[data-sorts=tenants] th >> nth=0 >> button")
        assert names() == up[::-1]
        assert len(up) > 1
        assert page.get_attribute("table[data-sorts=tenants] th >> nth=0", "aria-sort") == "descending"
        page.reload()
        assert names() == up[::-1]
        page.fill("input[data-narrows=tenants]", up[0])
        assert names() == [up[0]]
        page.reload()
        assert names() == [up[0]]
        assert "sort=tenants.0.down" in page.url
        assert serious(page) == []


def test_numbers_are_sorted_as_numbers(browsing: Browsing) -> None:
    with browsing.as_("noa") as page:
        page.goto("/usage?by=tenant&sort=usage.7.down")
        cells = page.locator("table[data-sorts=usage] tbody td:nth-child(8)").all_inner_texts()
        sent = [int(cell.replace(",", "")) for cell in cells]
        assert sent == sorted(sent, reverse=True)
        assert max(sent) > 999


def test_what_waits_is_sorted_too_and_is_the_oldest_first_until_somebody_does(browsing: Browsing) -> None:
    with browsing.as_("root") as page:
        page.goto("/")
        since = "all => all.map(one => one.dateTime)"
        waits = "table[data-sorts=queue] td.when > time:first-child"
        before = page.eval_on_selector_all(waits, since)
        assert before == sorted(before)
        page.click("table[data-sorts=queue] th >> nth=3 >> button")
        tenants = page.locator("table[data-sorts=queue] tbody td:nth-child(4)").all_inner_texts()
        assert len(set(tenants)) > 1
        assert sum(one != other for one, other in itertools.pairwise(tenants)) == len(set(tenants)) - 1
        page.click("table[data-sorts=queue] th >> nth=5 >> button")
        page.click("table[data-sorts=queue] th >> nth=5 >> button")
        page.reload()
        assert page.eval_on_selector_all(waits, since) == before[::-1]
