"""Figures of lists and of single things, each counted again by a query of its own: escalations and approvals against the
menu, the bars of a day, months of usage, a conversation's model calls, held calls, shadows, versions of prompts, verdicts,
a tenant's modes and documents, the log, what is found."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from tests.server.console.building import SAME, ConsoleHouse
from tests.server.console.test_figures import OUTCOMES, WAITS, count, read
from tests.server.console.test_numbers import ask


def rows_of(page: str) -> int:
    return page.count('<tr class="open"')


def test_lists_have_as_many_rows_as_the_menu_says(house: ConsoleHouse) -> None:
    waits = {kind: ask(house, query)[0][0] for kind, query in WAITS.items()}
    menu = dict(re.findall(r'id="count-(\w+)"[^>]*>(\d+)<', read(house, "/counts", "root")))
    escalations = read(house, "/escalations", "root")
    assert rows_of(escalations) == int(menu["escalations"]) == waits["escalation"] + waits["unknown"] > 0
    assert rows_of(read(house, "/approvals", "root")) == int(menu["approvals"]) == waits["approval"] > 0
    begun = dict(ask(house, "SELECT id, created_at FROM escalations"))
    listed = [begun[id_] for id_ in re.findall(r'href="/escalations/([^"?]+)"', escalations) if id_ in begun]
    assert listed == sorted(listed), "the oldest first"
    made = dict(ask(house, "SELECT id, created_at FROM intents"))
    asked = [made[id_] for id_ in re.findall(r'href="/approvals/([^"?]+)"', read(house, "/approvals", "root"))]
    assert asked == sorted(asked) != asked[::-1], "and here, too"


def test_an_escalation_that_only_says_that_an_approval_waits_is_in_the_list_of_all(house: ConsoleHouse) -> None:
    total, waits = ask(house, "SELECT count(*) FROM escalations")[0][0], rows_of(read(house, "/escalations", "root"))
    assert rows_of(read(house, "/escalations?state=all", "root")) == min(total, 40) > waits


def test_the_bars_of_a_day_are_its_turns(house: ConsoleHouse) -> None:
    page = read(house, "/overview?days=90")
    head = [*OUTCOMES.values(), "Blocked", "Failed"]
    chart = page[page.index('id="outcome-days-title"') :]
    table = chart[chart.index("<thead>") : chart.index("</table>")]
    assert re.findall(r'<th scope="col" class="num">([^<]+)</th>', table) == head
    body = table[table.index("<tbody>") :]
    cells = [re.findall(r"<td>([^<\n]+)", row) for row in body.split("<tr>")[1:]]
    shown = {row[0]: [int(one) for one in row[1:]] for row in cells}
    query = "SELECT date(started_at, 'unixepoch'), outcome, count(*) FROM turns WHERE status = 'done' GROUP BY 1, 2"
    days: dict[str, Counter[str]] = {}
    for day, outcome, number in ask(house, query):
        days.setdefault(f"{int(day[8:])} {('Oct', 'Nov', 'Dec')[int(day[5:7]) - 10]}", Counter())[outcome] = number
    assert len(days) > 5
    for day, outcomes in days.items():
        assert shown[day] == [outcomes[one] for one in (*OUTCOMES, "blocked", "failed")], day


def test_months_of_usage_are_those_of_the_turns(house: ConsoleHouse) -> None:
    table = read(house, "/usage?by=period").split('data-sorts="usage"')[1]
    for (month,) in ask(house, "SELECT DISTINCT strftime('%Y-%m', started_at, 'unixepoch') FROM turns"):
        was = count(house, "strftime('%Y-%m', started_at, 'unixepoch') = ?", month)
        cells = re.search(rf">{month}</a></bdi></td>(.*?)</tr>", table, re.S)
        assert cells is not None
        shown = re.findall(r'<td class="num"[^>]*>(?:<bdi dir="ltr">)?([^<]+)<', cells[1])
        assert shown[:8] == [
            f"{was.turns:,}",
            f"{was.adaptive:,}",
            f"{was.critiques:,}",
            f"{100 * was.critiques / was.adaptive:.1f}%",
            f"{was.rounds:,}",
            f"{was.rounds / was.adaptive:.2f}",
            f"{was.sent:,}",
            f"{was.back:,}",
        ], month


def test_a_conversation_says_what_its_model_calls_took(house: ConsoleHouse) -> None:
    query = "SELECT conversation FROM turns WHERE tenant = 'shop' AND status = 'done' GROUP BY 1 ORDER BY count(*) DESC"
    talk = ask(house, query)[0][0]
    page = read(house, f"/conversations/shop/{talk}?debug=1")
    stored = ask(house, "SELECT result FROM turns WHERE conversation = ? AND status = 'done' ORDER BY first_seq", talk)
    calls = [json.loads(result)["usage"]["calls"] for (result,) in stored]
    told = re.findall(r"(one|\d+) model calls?, \w+ tool calls? · ([\d,]+) tokens in, ([\d,]+) out", page)
    assert [one for one in told if one[0] != "0"] == [
        (
            "one" if len(one) == 1 else str(len(one)),
            f"{sum(call['input_tokens'] for call in one):,}",
            f"{sum(call['output_tokens'] for call in one):,}",
        )
        for one in calls
        if one
    ]


def test_calls_that_a_rule_held_are_as_many_as_the_line_says(house: ConsoleHouse) -> None:
    page = read(house, "/policies/shop")
    held = re.findall(r'href="/policies/shop/held\?tool=([\w]+)&rule=([\w]+)">held ([\w]+) calls?<', page)
    assert held
    for tool, rule, number in held:
        query = (
            "SELECT count(*) FROM held_calls WHERE tenant = 'shop' AND tool = ? AND rule = ?"
            " AND at > unixepoch() - 30 * 86400"
        )
        assert [(int(number),)] == ask(house, query, tool, rule), (tool, rule)
        listed = read(house, f"/policies/shop/held?tool={tool}&rule={rule}")
        assert listed.count('<article class="case">') == int(number), (tool, rule)


def test_a_shadow_counts_its_turns(house: ConsoleHouse) -> None:
    page = read(house, "/shadows/demo-beside")
    [(turns, same, failed, tokens)] = ask(
        house,
        "SELECT count(*), sum(same), sum(error <> ''), sum(tokens) FROM shadows WHERE experiment = 'demo-beside'",
    )
    tiles = dict(re.findall(r'<span class="label">([^<]+)</span><span class="value">(\d+)</span>', page))
    assert turns > same > 0
    assert (tiles["Turns compared"], tiles["Would have done something else"]) == (str(turns), str(turns - same))
    assert f"{tokens:,} tokens" in page
    assert (f"{failed} times it could not answer" if failed else "it could always answer") in page
    differs = Counter[str]()
    for (names,) in ask(house, "SELECT differences FROM shadows WHERE experiment = 'demo-beside'"):
        differs.update(json.loads(names))
    table = page[page.index('aria-labelledby="what-title"><table>') :]
    shown = [int(one) for one in re.findall(r'<td class="num">(\d+)</td>', table[: table.index("</table>")])]
    assert shown == sorted(differs.values(), reverse=True)


def test_versions_of_prompts_are_counted_by_the_turns_that_name_them(house: ConsoleHouse) -> None:
    """From the journal: whatever kind of entry names the prompts that its words came from, joined by a plus."""
    used: dict[str, set[str]] = {}
    for turn, meta in ask(house, "SELECT turn, meta FROM messages WHERE tenant = 'shop' AND meta LIKE '%\"prompt\"%'"):
        for id_ in filter(None, str(json.loads(meta).get("prompt") or "").split("+")):
            used.setdefault(id_, set()).add(turn)
    assert used
    page = read(house, "/prompt-versions?tenant=shop")
    shown = re.findall(
        r'<tr[^>]*>\s*<td[^>]*>.*?([a-z_-]+@[0-9a-f]{8}).*?<td class="num"[^>]*>([\d,]+)</td>', page, re.S
    )
    assert {id_: int(number) for id_, number in shown if int(number)} == {
        id_: len(turns) for id_, turns in used.items()
    }


def test_verdicts_are_shown_with_their_own_confidence(house: ConsoleHouse) -> None:
    rows = ask(house, "SELECT evaluation, criterion, result FROM review_results ORDER BY evaluation")
    assert rows
    for id_, criterion, result in rows:
        verdict = json.loads(result)
        page = read(house, f"/reviews/{id_}")
        expected = (
            rf'verdict-{verdict["status"].lower()}">[^<]+</span> <small><bdi>{re.escape(criterion)}</bdi> · Confidence'
            r' <bdi dir="ltr">(\d+)%'
        )
        shown = re.search(expected, page)
        assert shown is not None, (id_, criterion)
        assert int(shown[1]) == round(100 * verdict["confidence"])


@pytest.mark.parametrize("tenant", ["shop", "shop-he"])
def test_the_modes_of_a_tenant_are_compared_by_its_own_turns(house: ConsoleHouse, tenant: str) -> None:
    measured = read(house, f"/tenants/{tenant}", "root").split('id="measured-title"')[1]
    for mode, name in (("adaptive", "Adaptive"), ("standard", "Standard")):
        was = count(house, "mode = ? AND tenant = ?", mode, tenant)
        cells = re.search(rf"<td>{name}</td>(.*?)</tr>", measured, re.S)
        if not was.turns:
            assert cells is None or ">0<" in cells[1]
            continue
        assert cells is not None
        shown = re.findall(r">([\d,.]+)<", cells[1])
        assert shown[:2] == [str(was.turns), f"{(was.sent + was.back) / was.turns:,.0f}"]


def test_a_document_has_its_characters(house: ConsoleHouse) -> None:
    text = "# Returns\n\nWithin thirty days, unused.\n"
    with house.visitor("root") as visitor:
        sent = visitor.post(
            "/documents/upload?tenant=shop", files={"file": ("returns.md", text, "text/markdown")}, headers=SAME
        )
    assert sent.status_code in (200, 303), sent.text[:300]
    page = read(house, "/tenants/shop", "root")
    assert re.search(rf'returns\.md.*?<td class="num" data-label="[^"]+">{len(text)}</td>', page, re.S)


def test_the_log_says_how_many_rows_it_checked(house: ConsoleHouse) -> None:
    with house.visitor("root") as visitor:
        page = visitor.post("/log/check", headers=SAME).text
    rows = ask(house, "SELECT count(*) FROM operator_log")[0][0]
    assert re.search(rf"(?<![\d,]){rows:,}(?![\d,])", page), rows


def test_what_is_found_is_counted(house: ConsoleHouse) -> None:
    page = read(house, "/find?q=shop", "root")
    said = re.search(r"(\d+) (?:was|were) found|One was found", page)
    assert said is not None
    links = set(re.findall(r'<a href="(/[^"]+)"', page[page.index('role="status"') : page.index("<footer")]))
    assert int(said[1] or 1) == len(links)
