"""From a held call to the line that held it, from the line to its calls, and from the call to a rule that is tried first.

What pages count is looked up in the tables by queries of its own.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from contextlib import closing
from html import unescape
from typing import Any

import sqlalchemy as sa
from tests.server.console.building import SAME, Browsing, ConsoleHouse, overflow, serious
from tests.server.console.test_policies import in_force

from circumspect.policy.load import load
from circumspect.server.console.held_by_rule import count_held
from circumspect.stores import SqlStore
from circumspect.values import TenantId


def ask(house: ConsoleHouse, query: str) -> list[Any]:
    async def run(store: SqlStore) -> list[Any]:
        return await store.tx(lambda connection: list(connection.execute(sa.text(query)).fetchall()))

    return house.stored(run)


def first_held(house: ConsoleHouse, tool: str = "cancel_order") -> Any:
    return ask(
        house,
        "SELECT conversation, seq, rule, policy, reason_code FROM held_calls WHERE tenant = 'shop' AND"
        f" rule = 'what_cannot_be_undone_is_confirmed' AND tool = '{tool}' ORDER BY conversation, seq LIMIT 1",
    )[0]


def test_a_hold_leads_to_the_line_and_the_line_to_its_calls(house: ConsoleHouse) -> None:
    held = first_held(house)
    version = ask(house, f"SELECT version FROM policies WHERE tenant = 'shop' AND hash = '{held.policy}'")[0][0]
    with house.visitor("root") as visitor:
        said = visitor.get(f"/conversations/shop/{held.conversation}").text
        assert f'href="/policies/shop/held/{held.conversation}/{held.seq}/line"' in said
        to = visitor.get(f"/policies/shop/held/{held.conversation}/{held.seq}/line").headers["location"]
        path, _, line = to.partition("#L")
        assert path == f"/policies/shop/versions/{version}"
        assert in_force(house).text.splitlines()[int(line) - 1].startswith("  cancel_order: {effect: destructive")
        shown = visitor.get(path).text
        item = re.findall(rf'<li id="L{line}">.*?</li>', shown, re.S)[0]
        lists = [unescape(one) for one in re.findall(r'class="held" href="([^"]+)"', item)]
        assert lists
        calls = ask(
            house,
            "SELECT conversation, seq FROM held_calls WHERE tenant = 'shop' AND tool = 'cancel_order'"
            " AND rule = 'what_cannot_be_undone_is_confirmed'",
        )
        listed = visitor.get(next(one for one in lists if "what_cannot_be_undone" in one)).text
        assert {f"/policies/shop/held/{one.conversation}/{one.seq}" for one in calls} == set(
            re.findall(r'href="(/policies/shop/held/[^"]+/\d+)"', listed)
        )
        assert f"held {len(calls)} calls" in item


def test_counts_beside_lines_are_those_of_the_table(house: ConsoleHouse) -> None:
    async def count(store: SqlStore) -> Any:
        return await store.tx(count_held, TenantId("shop"), house.app.state.services.clock.now())

    found = house.stored(count)
    expected: dict[tuple[str, str], Counter[str]] = {}
    for tool, rule, fate, number in ask(
        house, "SELECT tool, rule, fate, COUNT(*) FROM held_calls WHERE tenant = 'shop' GROUP BY 1, 2, 3"
    ):
        expected.setdefault((tool, rule), Counter())[fate] = number
    assert found == expected


def test_the_calls_beside_a_policy_add_up_to_all_that_were_held(house: ConsoleHouse) -> None:
    """Rules that read no key held calls, too: they are listed without a line, and lead to their calls."""
    with house.visitor("root") as visitor:
        version = ask(house, "SELECT max(version) FROM policies WHERE tenant = 'shop'")[0][0]
        for path in ("/policies/shop", f"/policies/shop/versions/{version}"):
            shown = visitor.get(path).text
            items = re.findall(r"<li>.*?</li>", shown.partition('<ul class="marks">')[2].partition("</ul>")[0], re.S)
            counts = [int(number) for one in items for number in re.findall(r">held (?:a|one|(\d+)) calls?<", one)]
            [(total,)] = ask(house, "SELECT COUNT(*) FROM held_calls WHERE tenant = 'shop'")
            assert sum(counts) == total, path
            unplaced = [one for one in items if "No line" in one]
            assert unplaced == items[-len(unplaced) :]
            assert any("rule=required_arguments_are_present" in one for one in unplaced), path


def test_counting_reads_no_more_than_the_month(house: ConsoleHouse) -> None:
    with closing(sqlite3.connect(house.settings.database.removeprefix("sqlite:///"))) as database:
        plan = database.execute(
            "EXPLAIN QUERY PLAN SELECT tool, rule, fate FROM held_calls WHERE fate IN ('done', 'waiting')"
            " AND tenant = 'shop' AND at >= 1.0 LIMIT 20000"
        ).fetchall()
    assert "ix_held_calls_fate_tenant_at (fate=? AND tenant=? AND at>?)" in str(plan)


def test_a_rule_is_made_of_a_held_call_and_tried_before_it_is_saved(browsing: Browsing, house: ConsoleHouse) -> None:
    held, before = first_held(house, "refund"), in_force(house)
    with browsing.as_("root") as page:
        page.goto(f"/conversations/shop/{held.conversation}")
        page.click(".why a:text('Make a rule of it')")
        page.wait_for_url("**/policies/shop/held/**")
        assert "which was in force" in page.inner_text("main")
        assert "The user said yes to exactly this call" in page.inner_text("main")
        assert "No text lets this through" in page.inner_text("main")
        assert serious(page) == []
        page.click("article:has-text('A colleague approves every call of refund') >> text=See what it would have done")
        page.wait_for_selector("#trial .case")
        assert load(page.input_value("#text")).tools["refund"].confirm == "four_eyes"
        assert page.input_value("input[name=note]").startswith("refund: after a held call in ")
        assert in_force(house) == before, "nothing is saved by looking"
        page.click("text=Put in force")
        page.wait_for_selector(".notice.good")
        now = in_force(house)
        assert (now.version, load(now.text).tools["refund"].confirm) == (before.version + 1, "four_eyes")
        page.click(f"button[aria-label='Go back to version {before.version}']")
        page.wait_for_url("**done=back**")
        assert in_force(house).text == before.text
    with browsing.as_("root", language="he", width=390) as page:
        page.goto(f"/policies/shop/held/{held.conversation}/{held.seq}")
        assert overflow(page) <= 0
        assert serious(page) == []
        page.goto(f"/policies/shop/versions/{before.version}#L6")
        assert overflow(page) <= 0
        assert serious(page) == []


def test_what_is_loosened_asks_for_the_name_and_can_be_taken_back(house: ConsoleHouse) -> None:
    before = in_force(house)
    looser = before.text.replace("confidence_cap: 0.5", "confidence_cap: 0.7", 1)
    form = {"text": looser, "if_version": before.version}
    with house.visitor("root") as visitor:
        asked = visitor.post("/policies/shop", data=form, headers=SAME)
        assert asked.status_code == 409
        assert "refund: confidence_cap 0.5 → 0.7" in unescape(asked.text)
        counted = ask(house, "SELECT COUNT(*) FROM held_calls WHERE tenant = 'shop' AND tool = 'refund'")[0][0]
        assert f"{counted} calls were held" in asked.text
        assert visitor.post("/policies/shop", data={**form, "typed": "other"}, headers=SAME).status_code == 409
        assert in_force(house) == before
        saved = visitor.post("/policies/shop", data={**form, "typed": "shop"}, headers=SAME)
        assert saved.status_code == 303
        page = visitor.get(saved.headers["location"]).text
        undo = re.findall(
            r'<form method="post" action="/policies/shop/rollback" class="row notice">(.*?)</form>', page, re.S
        )
        fields = dict(re.findall(r'<textarea name="(\w+)" hidden>\n(.*?)</textarea>', undo[0], re.S))
        assert visitor.post("/policies/shop/rollback", data=fields, headers=SAME).status_code == 303
    assert in_force(house).text == before.text


def test_only_who_may_change_policies_makes_rules(house: ConsoleHouse) -> None:
    held = first_held(house)
    path = f"/policies/shop/held/{held.conversation}/{held.seq}"
    with house.visitor("noa") as visitor:
        assert "draft?choice" not in visitor.get(path).text
        assert visitor.get(f"{path}/draft?choice=four_eyes").status_code == 403
        assert visitor.get(f"/policies/shop/held/{held.conversation}/999999").status_code == 404
