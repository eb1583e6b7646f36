"""Whoever decides on a call sees what it is about: whose order, what it costs, to what somebody said yes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.server.console.building import Browsing, ConsoleHouse, overflow, serious
from tests.server.console.test_ten_jobs import ask, propose

from circumspect.policy.load import load
from circumspect.ports import Tools
from circumspect.server.console.i18n import Translator
from circumspect.server.console.known_facts import choose_looks
from circumspect.server.console.result_facts import KnownFact, list_facts
from circumspect.server.directory import Directory
from circumspect.setup import TurnSetup
from circumspect.stores import SqlStore
from circumspect.tools import Toolset
from circumspect.values import Json, JsonObject, TenantId, ToolSpec
from circumspect.wording import label


def order(house: ConsoleHouse, id_: str) -> tuple[str, int]:
    """Status and total, from the shop's own books."""
    path = Path(house.settings.database.removeprefix("sqlite:///")).with_name("sample-shop.db")
    with closing(sqlite3.connect(path)) as books:
        status, total = books.execute("SELECT status, total FROM orders WHERE id = ?", (id_,)).fetchone()
    return str(status), int(total)


def test_an_approval_shows_the_order_and_its_money(browsing: Browsing, house: ConsoleHouse) -> None:
    approval = propose(house, "refund", {"order_id": "12331"})
    status, total = order(house, "12331")
    with browsing.as_("noa") as page:
        page.goto(f"/approvals/{approval}")
        page.wait_for_selector(".known dl")
        shown = page.inner_text(".known")
        assert f"{total / 100:,.2f}" in shown
        assert status in shown
        assert page.inner_text("h1").startswith("Refund order 12331")
        page.goto("/")
        assert page.locator(f"a[href='/approvals/{approval}'] >> text=Refund order 12331").count() == 1
    assert order(house, "12331") == (status, total)


def test_a_call_of_unknown_outcome_shows_to_what_somebody_said_yes(browsing: Browsing, house: ConsoleHouse) -> None:
    query = """
        SELECT escalations.id, intents.question FROM escalations
        JOIN tool_executions ON tool_executions.id = escalations.execution
        JOIN intents ON intents.id = tool_executions.intent
        WHERE escalations.tenant = 'shop' AND escalations.state = 'open' AND escalations.reason_code = 'OUTCOME_UNKNOWN'
    """
    id_, question = ask(house, query)[0]
    assert "ILS" in question
    with browsing.as_("noa") as page:
        page.goto(f"/escalations/{id_}")
        page.wait_for_selector(".known dl")
        standing = page.inner_text("section:has(> #about-title)")
        assert question in standing
        assert "null" not in standing
        page.goto("/escalations")
        assert question.split("?")[0] in page.inner_text(f"tr:has(a[href='/escalations/{id_}'])")


def test_a_reviewer_asks_no_tool(house: ConsoleHouse) -> None:
    approval = propose(house, "refund", {"order_id": "12332"})
    with house.visitor("rita") as visitor:
        assert "known" not in visitor.get(f"/approvals/{approval}").text
        assert visitor.get(f"/queue/approval/{approval}/known").status_code == 403


class _Named:
    def __init__(self, spec: ToolSpec) -> None:
        self.spec = spec

    async def call(self, arguments: JsonObject, key: str) -> Json:
        raise AssertionError("nothing is called to choose")

    async def lookup(self, arguments: JsonObject, key: str) -> Json | None:
        return None


def spec(name: str, effect: str, *needs: str, **more: object) -> ToolSpec:
    schema: JsonObject = {
        "type": "object",
        "properties": {one: {"type": "string"} for one in needs},
        "required": list(needs),
    }
    return ToolSpec(name, name, schema, effect=effect, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def base(house: ConsoleHouse) -> TurnSetup:
    services = house.app.state.services

    async def read(store: SqlStore) -> TurnSetup:
        directory = Directory(store, services.settings, services.vault, services.clock, services.ids)
        try:
            return await directory.setup(TenantId("shop"))
        finally:
            await directory.close()

    return house.stored(read)


def chosen(base: TurnSetup, policy: str, given: Mapping[str, Json], *specs: ToolSpec) -> list[tuple[str, JsonObject]]:
    tools: Tools = Toolset([_Named(one) for one in specs])
    setup = replace(
        base,
        ports=replace(base.ports, tools=tools),
        policy=load(f"version: 1\ntools:\n{policy}" if policy else "version: 1\n"),
        tenant=replace(base.tenant, tools=None),
    )
    return [(one.tool, dict(one.arguments)) for one in choose_looks(setup, "refund", given)]


def test_only_a_tool_that_reads_and_whose_arguments_are_all_there_is_asked(base: TurnSetup) -> None:
    reads, both = spec("get_order", "read", "order_id"), spec("get_item", "read", "order_id", "item")
    given: dict[str, Json] = {"order_id": "7", "item": "2", "reason": ""}
    assert chosen(base, "", given, reads, both) == [
        ("get_item", {"order_id": "7", "item": "2"}),
        ("get_order", {"order_id": "7"}),
    ]
    assert chosen(base, "", {"order_id": "7", "item": ""}, reads, both) == [("get_order", {"order_id": "7"})]
    assert chosen(base, "", given, spec("list_all", "read")) == [], "about nothing in particular"
    assert chosen(base, "", given, spec("touch", "write", "order_id")) == []
    assert chosen(base, "", given, spec("theirs", "read", "order_id", client=True)) == []


@pytest.mark.parametrize("said", ["effect: write", "deny: not while it is being moved", "requires: [check_identity]"])
def test_a_tool_that_the_policy_restricts_is_not_asked(base: TurnSetup, said: str) -> None:
    reads = spec("get_order", "read", "order_id")
    assert chosen(base, "  get_order: {effect: read}\n", {"order_id": "7"}, reads)
    assert chosen(base, f"  get_order: {{{said}}}\n", {"order_id": "7"}, reads) == []


def test_of_a_record_the_fields_that_say_something_are_shown() -> None:
    assert list_facts({"total": 12.5, "note": "", "items": [], "paid": False}, "en") == (
        KnownFact("total", 12.5),
        KnownFact("paid", False),
    )
    assert list_facts(None, "en") == ()
    assert list_facts(["a"], "en") == (KnownFact("", ["a"], words=("a",)),)


def test_an_amount_beside_a_currency_is_money_and_a_number_of_pieces_is_not() -> None:
    record: Json = {
        "order_id": "1",
        "total": 2045.0,
        "items": 2,
        "total_refunded": 0.5,
        "currency": "ILS",
        "amount": True,
    }
    facts = {one.name: one for one in list_facts(record, "en")}
    assert {name for name, one in facts.items() if one.currency == "ILS"} == {"total", "total refunded"}
    assert "currency" not in facts, "it stands with the amounts"
    assert facts["items"].currency == ""
    unknown = {one.name: one.currency for one in list_facts({"total": 3, "currency": "points"}, "en")}
    assert unknown == {"total": "", "currency": ""}
    assert [Translator(one).amount(2045.0, "ILS") for one in ("en", "ru")] == ["₪2,045.00", "2\xa0045,00\xa0₪"]


def test_a_list_of_records_is_a_table_with_the_tools_own_names() -> None:
    record = {"orders": [{"order_id": "1", "total": 5.0, "currency": "ILS"}, {"order_id": "2", "late": True}]}
    (orders,) = list_facts(record, "en")
    assert orders.columns == ("order number", "total", "late")
    assert orders.rows == (
        (KnownFact("order number", "1"), KnownFact("total", 5.0, "ILS"), None),
        (KnownFact("order number", "2"), None, KnownFact("late", True)),
    )
    many = list_facts({"orders": [{"order_id": str(number)} for number in range(11)]}, "en")[0]
    assert (len(many.rows), many.more) == (8, 3)


def test_what_fits_no_table_stays_json_and_text_that_is_json_is_read() -> None:
    deep = {"orders": [{"items": [{"sku": {"a": 1}}]}]}
    (orders,) = list_facts(deep, "en")
    assert (orders.rows, orders.parts, orders.value) == ((), (), deep["orders"])
    assert list_facts('{"order_id": "7", "place": {"city": "Haifa"}}', "en") == (
        KnownFact("order number", "7"),
        KnownFact("place", {"city": "Haifa"}, parts=(KnownFact("city", "Haifa"),)),
    )
    assert list_facts("{no JSON", "en") == (KnownFact("", "{no JSON"),)
    assert list_facts("[" * 15_000, "en") == (KnownFact("", "[" * 15_000),)


@pytest.mark.parametrize("language", ["en", "he"])
def test_a_conversation_shows_what_tools_brought_as_names_and_values(
    browsing: Browsing, house: ConsoleHouse, language: str
) -> None:
    query = "SELECT conversation, result FROM tool_executions WHERE tenant = 'shop' AND tool = 'cancel_order' AND state = 'succeeded'"
    id_, result = ask(house, query)[0]
    brought = json.loads(result)
    with browsing.as_("noa", language=language) as page:
        page.goto(f"/conversations/shop/{id_}?debug=1")
        shown = page.inner_text(".step.tool dl.facts >> nth=-1")
        assert str(brought["message"]) in shown
        assert str(brought["order_id"]) in shown
        assert label("order_id", Translator(language).language) in shown  # type: ignore[arg-type]
        assert "{" not in shown
        assert overflow(page) <= 0
        assert serious(page) == []
