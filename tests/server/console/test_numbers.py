"""Every figure of the overview and the customer's page, against the rows behind it: each by a query of its own."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from collections import Counter
from contextlib import closing
from typing import Any

from tests.server.console.building import ConsoleHouse
from tests.server.console.test_customer import admitted

FATES = ("done", "refused", "denied", "corrected", "waiting")


def ask(house: ConsoleHouse, query: str, *values: Any) -> list[tuple]:
    path = house.settings.database.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as database:
        return database.execute(query, values).fetchall()


def read_tiles(page: str) -> dict[str, str]:
    """The value of each tile by its label."""
    tile = r'class="label">([^<]+)</span>\s*(?:<span class="row between">)?<span class="value"><bdi dir="ltr">([^<]+)<'
    return dict(re.findall(tile, page))


def read_bar(page: str, name: str) -> int:
    """By its name, or by the reason code that the pointer shows."""
    bar = rf'<span(?:>{name}| data-tip="{name}">[^<]+)</span><span>([\d,]+)</span>'
    return int(re.search(bar, page)[1].replace(",", ""))


HELD = """
    SELECT tenant, conversation, seq, turn, meta FROM messages
    WHERE kind = 'policy' AND tenant LIKE ? AND reason_code <> 'TOOL_NOT_FOUND' ORDER BY conversation, seq
"""


def find_fates(house: ConsoleHouse, tenant: str = "%") -> Counter[str]:
    """Worked out from journal, ledger and questions alone, conversation by conversation."""
    found: Counter[str] = Counter()
    rulings = [(row[:4], json.loads(row[4])) for row in ask(house, HELD, tenant)]
    opinions = {(t, c, turn) for t, c, turn in ask(
        house, "SELECT tenant, conversation, turn FROM messages WHERE kind = 'critique' AND reason_code IS NOT NULL"
    )}  # fmt: skip
    seen = set()
    for (whose, conversation, seq, turn), ruling in rulings:
        held = ruling["verdict"] != "allow" or (whose, conversation, turn) in opinions
        call = json.dumps([ruling["tool"], ruling["arguments"]], sort_keys=True)
        if not held or ruling["effect"] == "read" or (conversation, call) in seen:
            continue
        seen.add((conversation, call))
        found[_find_fate(house, whose, conversation, seq, ruling)] += 1
    return found


def _find_fate(house: ConsoleHouse, tenant: str, conversation: str, seq: int, ruling: dict[str, Any]) -> str:
    own = (tenant, conversation, ruling["tool"])
    given = {name: value for name, value in ruling["arguments"].items() if value not in (None, "")}
    ran = ask(
        house,
        "SELECT meta FROM messages WHERE tenant = ? AND conversation = ? AND json_extract(meta, '$.tool') = ?"
        " AND kind = 'tool' AND json_extract(meta, '$.execution') IS NOT NULL AND seq > ?",
        *own,
        seq,
    )
    if any(given.items() <= json.loads(meta)["arguments"].items() for (meta,) in ran):
        return "done"
    asked = ask(
        house,
        "SELECT id, json_extract(call, '$.arguments') FROM intents WHERE tenant = ? AND conversation = ?"
        " AND json_extract(call, '$.tool') = ?",
        *own,
    )
    questions = [id_ for id_, arguments in asked if json.loads(arguments) == ruling["arguments"]]
    for id_ in questions:
        said = "SELECT reason_code, content FROM messages WHERE kind = 'intent' AND json_extract(meta, '$.intent') = ?"
        for reason, content in ask(house, said, id_):
            if reason in ("DENIED_BY_USER", "DENIED_BY_COLLEAGUE"):
                return "refused"
            if content in ("correct", "edit"):
                return "corrected"
    later = ask(
        house,
        "SELECT meta FROM messages WHERE tenant = ? AND conversation = ? AND json_extract(meta, '$.tool') = ?"
        " AND kind = 'policy' AND seq > ?",
        *own,
        seq,
    )
    others = [json.loads(meta)["arguments"] for (meta,) in later]
    if ruling["verdict"] != "confirm" and any(not given.items() <= one.items() for one in others):
        return "corrected"
    return "denied" if ruling["verdict"] == "deny" else "waiting"


def test_what_is_called_prevented_was_and_what_ran_was_not(house: ConsoleHouse) -> None:
    expected = find_fates(house)
    assert all(expected[fate] for fate in ("done", "refused", "waiting")), expected
    with house.visitor("noa") as visitor:
        page = visitor.get("/overview?days=90").text
    shown = Counter({
        "done": read_bar(page, "Asked first, then run"),
        "refused": read_bar(page, "Somebody said no"),
        "denied": read_bar(page, "Denied by a rule"),
        "corrected": read_bar(page, "Corrected before it ran"),
        "waiting": read_bar(page, "Waiting, or never answered"),
    })  # fmt: skip
    assert shown == expected
    prevented = expected["refused"] + expected["denied"] + expected["corrected"]
    assert int(read_tiles(page)["Wrong actions prevented"]) == prevented
    assert f"of {expected.total()} calls that were held" in page


def test_a_customer_sees_the_same_split_of_their_own(house: ConsoleHouse) -> None:
    expected = find_fates(house, "shop")
    with admitted(house, "shop") as client:
        page = client.get("/customer?days=90").text
    for fate in FATES:
        assert f'data-figure="hold-{fate}">{expected[fate]}</bdi>' in page, fate
    prevented = expected["refused"] + expected["denied"] + expected["corrected"]
    assert re.search(rf'data-figure="prevented">.*?dir="ltr">{prevented}<', page)


def test_each_share_of_the_held_calls_leads_to_its_conversations(house: ConsoleHouse) -> None:
    with house.visitor("noa") as visitor:
        for fate in (*FATES, "prevented"):
            wanted = ("refused", "denied", "corrected") if fate == "prevented" else (fate,)
            marks = ", ".join("?" for _ in wanted)
            rows = ask(house, f"SELECT DISTINCT conversation FROM held_calls WHERE fate IN ({marks})", *wanted)
            page = visitor.get(f"/conversations?fate={fate}").text
            assert {id_ for (id_,) in rows if id_ in page} == {id_ for (id_,) in rows}, fate
            assert page.count('<tr class="open') == min(len(rows), 40)


def count_exported(house: ConsoleHouse, query: str = "") -> int:
    with house.visitor("noa") as visitor:
        table = visitor.get(f"/usage.csv?{query}").text
    return sum(int(row["escalations"]) for row in csv.DictReader(io.StringIO(table)))


def test_escalations_are_as_many_on_every_page(house: ConsoleHouse) -> None:
    (total,) = ask(house, "SELECT COUNT(*) FROM escalations")[0]
    (own,) = ask(house, "SELECT COUNT(*) FROM escalations WHERE tenant = 'shop'")[0]
    assert total > own > 0
    with house.visitor("noa") as visitor:
        overview, usage = visitor.get("/overview?days=90").text, visitor.get("/usage").text
        listed = visitor.get("/escalations?state=all").text
        of_shop = visitor.get("/overview?days=90&tenant=shop").text
        months = {month: visitor.get(f"/usage?period={month}").text for (month,) in ask(
            house, "SELECT DISTINCT strftime('%Y-%m', created_at, 'unixepoch') FROM escalations"
        )}  # fmt: skip
    with admitted(house, "shop") as client:
        theirs = client.get("/customer?days=90").text
    assert f"{total} escalations" in overview
    assert f"{own} escalations" in of_shop
    assert read_tiles(usage)["Escalations"] == str(total)
    assert sum(int(read_tiles(page)["Escalations"]) for page in months.values()) == total
    assert count_exported(house) == total
    assert count_exported(house, "tenant=shop") == own
    assert sum(count_exported(house, f"period={month}") for month in months) == total
    assert len(set(re.findall(r'href="/escalations/([^"?]+)"', listed))) == min(total, 40)
    assert re.search(rf'data-figure="escalated">.*?dir="ltr">{own}<', theirs)


def test_who_takes_a_conversation_over_adds_one_to_all_of_them(house: ConsoleHouse) -> None:
    (before,) = ask(house, "SELECT SUM(number) FROM escalation_days")[0]
    query = "SELECT id FROM conversations WHERE tenant = 'shop' AND id NOT IN (SELECT conversation FROM escalations)"
    talk = ask(house, query)[0][0]
    with house.visitor("noa") as visitor:
        taken = visitor.post(f"/conversations/shop/{talk}/take", headers={"Sec-Fetch-Site": "same-origin"})
        assert taken.status_code == 303
    assert ask(house, "SELECT SUM(number) FROM escalation_days") == [(before + 1,)]
    assert ask(house, "SELECT COUNT(*) FROM escalations") == [(before + 1,)]
    assert count_exported(house) == before + 1
