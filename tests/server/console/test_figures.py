"""Figures of the overview, usage, the customer's page, the queue, plans, reviews and notifications: each counted again
from the turns, messages and rows that it is about, by a query that knows nothing of the sums by day."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from html import unescape
from typing import Any

import pytest
from tests.server.console.building import SAME, ConsoleHouse
from tests.server.console.test_customer import admitted
from tests.server.console.test_numbers import ask, read_bar, read_tiles
from tests.server.console.test_people import proposed
from tests.server.test_outbox import give_up

OUTCOMES = {"answered": "Answered", "asked": "Asked", "acted": "Acted", "escalated": "Left to a person"}


@dataclass
class Counted:
    turns: int = 0
    adaptive: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    criticised: int = 0
    critiques: int = 0
    fetched: int = 0
    rounds: int = 0
    calls: int = 0
    sent: int = 0
    back: int = 0


def count(house: ConsoleHouse, where: str = "1", *values: Any) -> Counted:
    """Customers' turns, from what each answered, and from the journal for what went on inside."""
    found = Counted()
    query = (
        "SELECT id, mode, outcome, result FROM turns WHERE status = 'done' AND conversation NOT LIKE 'playground-%'"
        " AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.turn = turns.id AND messages.seq = turns.first_seq"
        " AND messages.conversation = turns.conversation AND kind = 'intent' AND role = 'internal'"
        " AND content NOT LIKE 'proposed: %' AND content NOT LIKE 'results: %')"
        f" AND {where}"
    )
    for id_, mode, outcome, result in ask(house, query, *values):
        said = json.loads(result)
        found.turns += 1
        found.adaptive += mode == "adaptive"
        found.outcomes[outcome] += 1
        found.reasons.update(set(said["reason_codes"]))
        [(critiques,)] = ask(house, "SELECT count(*) FROM messages WHERE kind = 'critique' AND turn = ?", id_)
        [(rounds,)] = ask(house, "SELECT count(*) FROM messages WHERE kind = 'context' AND turn = ?", id_)
        found.criticised += critiques > 0
        found.critiques += critiques
        found.fetched += rounds > 0
        found.rounds += rounds
        found.calls += len(said["usage"]["calls"])
        found.sent += sum(one["input_tokens"] for one in said["usage"]["calls"])
        found.back += sum(one["output_tokens"] for one in said["usage"]["calls"])
    return found


def read(house: ConsoleHouse, path: str, name: str = "noa") -> str:
    with house.visitor(name) as visitor:
        return unescape(visitor.get(path).text)


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%"


@pytest.mark.parametrize("tenant", ["", "shop", "shop-he"])
def test_the_overview_counts_what_was(house: ConsoleHouse, tenant: str) -> None:
    was = count(house, "tenant = ?", tenant) if tenant else count(house)
    page = read(house, f"/overview?days=90&tenant={tenant}")
    tiles = read_tiles(page)
    assert was.turns > 5
    assert tiles["Turns"] == str(was.turns)
    assert f"{100 * was.adaptive / was.turns:.0f}% in adaptive mode" in page
    assert tiles["Second opinions"] == percent(was.criticised, was.turns)
    assert tiles["Context fetches"] == percent(was.fetched, was.turns)
    assert f"{was.rounds / was.turns:.2f} per turn on average" in page
    assert tiles["Tokens per turn"] == f"{(was.sent + was.back) / was.turns:,.0f}"
    legend = dict(re.findall(r"</svg></span>\s*([^<]+)</span> <bdi>([\d,]+)<", page))
    for outcome, name in OUTCOMES.items():
        assert int(legend.get(name, "0")) == was.outcomes[outcome], outcome
    for reason, number in was.reasons.most_common(3):
        assert read_bar(page, reason) == number


def test_usage_counts_what_was(house: ConsoleHouse) -> None:
    was = count(house)
    page = read(house, "/usage?by=tenant")
    tiles = read_tiles(page)
    assert tiles["Adaptive messages"] == str(was.adaptive)
    assert f"of {was.turns} messages" in page
    assert tiles["Second opinions"] == str(was.critiques)
    assert tiles["Context fetches"] == str(was.rounds)
    assert tiles["Tokens"] == f"{was.sent + was.back:,}"
    assert f"{was.sent:,} in, {was.back:,} out" in page
    of_tenants = dict(re.findall(r'/usage\?[^"]*tenant=([\w-]+)[^"]*">[^<]+</a></bdi></td>\s*<td[^>]*>([\d,]+)<', page))
    assert of_tenants == {
        one: str(count(house, "tenant = ?", one).turns) for (one,) in ask(house, "SELECT DISTINCT tenant FROM turns")
    }


def test_a_customer_counts_the_same(house: ConsoleHouse) -> None:
    was = count(house, "tenant = 'shop'")
    with admitted(house, "shop") as client:
        page = client.get("/customer?days=90").text
    shown = dict(
        re.findall(
            r'data-figure="(\w+)"><span class="label">[^<]*</span><span class="value"><bdi dir="ltr">([\d,]+)<', page
        )
    )
    assert {name: int(shown[name]) for name in ("messages", "acted", "adaptive", "critiques", "context")} == {
        "messages": was.turns,
        "acted": was.outcomes["acted"],
        "adaptive": was.adaptive,
        "critiques": was.criticised,
        "context": was.rounds,
    }


WAITS = {
    "escalation": "SELECT count(*) FROM escalations WHERE state <> 'resolved' AND reason_code <> 'OUTCOME_UNKNOWN'"
    " AND id NOT IN (SELECT e.id FROM escalations e JOIN intents i ON i.tenant = e.tenant"
    " AND i.conversation = e.conversation AND i.kind = 'approval' AND i.state = 'pending'"
    " WHERE e.reason_code = 'APPROVAL_REQUIRED')",
    "unknown": "SELECT count(*) FROM escalations WHERE state <> 'resolved' AND reason_code = 'OUTCOME_UNKNOWN'",
    "approval": "SELECT count(*) FROM intents WHERE kind = 'approval' AND state = 'pending'"
    " AND expires_at > unixepoch()",
    "draft": "SELECT count(*) FROM policy_drafts WHERE state = 'waiting'",
    "delivery": "SELECT count(*) FROM outbox WHERE state = 'dead'",
}


def test_the_queue_counts_what_waits_and_the_menu_and_the_overview_say_the_same(house: ConsoleHouse) -> None:
    waits = {kind: ask(house, query)[0][0] for kind, query in WAITS.items()}
    assert sum(waits.values()) > 3
    queue, counts, overview = (read(house, path, "root") for path in ("/", "/counts", "/overview?days=90"))
    for kind, number in waits.items():
        assert re.search(rf'href="/\?kind={kind}"[^>]*>[^<]*<bdi>{number}</bdi>', queue), (kind, number)
        in_overview = re.search(rf'href="/\?kind={kind}">(?:<svg.*?</svg>)?[^<]*<bdi>{number}</bdi>', overview)
        assert bool(in_overview) == bool(number), (kind, number)
        assert len(re.findall("data-item", read(house, f"/?kind={kind}", "root"))) == number
    assert re.findall(r"<bdi>(\d+)</bdi>", read(house, "/overview/needs", "root")) == [
        str(n) for n in waits.values() if n
    ]
    menu = dict(re.findall(r'id="count-(\w+)"[^>]*>(\d+)<', counts))
    assert menu == {
        "queue": str(sum(waits.values())),
        "escalations": str(waits["escalation"] + waits["unknown"]),
        "approvals": str(waits["approval"]),
    }


def test_plans_and_their_comparison_count_what_was(house: ConsoleHouse) -> None:
    page = read(house, "/tenants", "root")
    measured = page[page.index('id="measured-title"') :]
    for plan, number in ask(house, "SELECT plan, count(*) FROM tenants GROUP BY plan"):
        assert re.search(rf'<bdi>{plan}</bdi></td><td class="num"[^>]*>{number}<', page), plan
    for mode, name in (("adaptive", "Adaptive"), ("standard", "Standard")):
        was = count(house, "mode = ?", mode)
        assert was.turns
        cells = re.search(rf"<td>{name}</td>(.*?)</tr>", measured, re.S)
        assert cells is not None
        shown = re.findall(r">([\d,.]+)<", cells[1])
        assert shown[:2] == [str(was.turns), f"{(was.sent + was.back) / was.turns:,.0f}"]
        assert f"{was.calls / was.turns:.2f}" in shown[2:]


def test_an_experiment_counts_its_conversations(house: ConsoleHouse) -> None:
    """Those of the demo are long over: all of them count."""
    page = read(house, "/experiments/demo-careful")
    query = "SELECT arm, count(DISTINCT conversation) FROM exposures WHERE experiment = 'demo-careful' GROUP BY arm"
    arms = dict(ask(house, query))
    assert min(arms.values()) > 1
    counted = re.search(r'Conversations counted</span><span class="value">(\d+)<', page)
    assert counted is not None
    assert int(counted[1]) == sum(arms.values())
    for arm, number in arms.items():
        assert re.search(rf'<bdi class="mono">{arm}</bdi></td><td class="num"[^>]*>{number}<', page), arm


def test_reviews_count_their_results(house: ConsoleHouse) -> None:
    page = read(house, "/reviews")
    rows = ask(
        house,
        "SELECT e.id, e.total, count(r.evaluation) FROM review_evaluations e"
        " LEFT JOIN review_results r ON r.evaluation = e.id GROUP BY e.id",
    )
    assert rows
    for id_, total, done in rows:
        assert re.search(rf'/reviews/{id_}".*?<bdi dir="ltr">{done} / {total}</bdi>', page, re.S), id_


def test_notifications_count_their_tries(house: ConsoleHouse) -> None:
    for number in range(2):
        give_up(house, f"esc-figures:{number}")
    page = read(house, "/notifications?state=dead", "root")
    tries = ask(house, "SELECT attempts FROM outbox WHERE state = 'dead' ORDER BY created_at DESC, id DESC")
    shown = re.findall(r'<td class="num"[^>]*>(\d+)</td>', page)
    assert sorted(shown) == sorted(str(one) for (one,) in tries)
    assert len(shown) == 2


def test_what_colleagues_decide_or_rehearse_is_no_turn_of_a_customer(house: ConsoleHouse) -> None:
    with house.visitor("noa") as noa:
        before = read_tiles(unescape(noa.get("/overview?days=90&tenant=shop").text))["Turns"]
        customers = count(house, "tenant = 'shop'").turns
        begun = noa.post("/playground", data={"tenant": "shop"}, headers=SAME).headers["location"]
        kept = ask(house, "SELECT sum(number) FROM held_days WHERE tenant = 'shop'")
        for words in ("what are your opening hours?", "cancel order 12346", "yes"):
            noa.post(f"{begun}/messages", data={"content": words}, headers=SAME)
        query = "SELECT count(*) FROM messages WHERE conversation LIKE 'playground-%' AND kind = 'policy' AND tenant = 'shop'"
        assert ask(house, query)[0][0] > 0
        assert ask(house, "SELECT sum(number) FROM held_days WHERE tenant = 'shop'") == kept, (
            "held, and nothing prevented"
        )
        assert not ask(house, "SELECT 1 FROM held_calls WHERE conversation LIKE 'playground-%'")
        held = proposed(house, "12345")
        form = {"hash": noa.get(f"/v1/approvals/{held}").json()["hash"]}
        assert noa.post(f"/approvals/{held}/approve", data=form, headers=SAME).status_code == 303
        rows = ask(house, "SELECT count(*) FROM turns WHERE tenant = 'shop' AND conversation LIKE 'playground-%'")
        assert rows[0][0] > 0
        after = read_tiles(unescape(noa.get("/overview?days=90&tenant=shop").text))["Turns"]
    assert int(before) == customers
    assert int(after) == customers + 1 == ask(house, "SELECT sum(turns) FROM turn_days WHERE tenant = 'shop'")[0][0], (
        "the call that somebody else's agent proposed is one"
    )
