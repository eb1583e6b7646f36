"""`circumspect test` and `circumspect calibrate`: what people decided, as fixtures for a build and as labels."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.conftest import NOON

from circumspect import Agent
from circumspect.clock import FixedClock
from circumspect.demo import samples
from circumspect.server.stores import tenants
from circumspect.stores import SqlStore, labels
from circumspect.stores.labels import LabelRow, split_of
from circumspect.values import TenantId

SHOP = TenantId("shop")
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
        },
    }
    for name in ("get_order", "cancel_order")
]
POLICY = """\
version: 1
tools:
  get_order: {effect: read}
  cancel_order: {effect: destructive}
"""
FIXTURE: dict[str, Any] = {
    "name": "nothing is cancelled before the user agreed",
    "policy": "policy.yaml",
    "tools": "tools.json",
    "messages": [{"role": "user", "content": "cancel order A10077"}],
    "proposal": {"tool": "cancel_order", "arguments": {"order_id": "A10077"}},
    "expect": "hold",
}


@pytest.fixture
def fixtures(folder: Path) -> Path:
    place = folder / "fixtures"
    place.mkdir()
    (place / "tools.json").write_text(json.dumps(TOOLS))
    (place / "policy.yaml").write_text(POLICY)
    return place


def put(place: Path, file: str = "one", **changes: Any) -> Path:
    value = {key: one for key, one in (FIXTURE | changes).items() if one is not None}
    path = place / f"{file}.fixture.yaml"
    path.write_text(yaml.safe_dump(value))
    return path


def ask_and_agree() -> list[dict[str, str]]:
    return [
        {"role": "user", "content": "cancel order A10077"},
        {"role": "assistant", "content": "Shall I cancel order A10077?"},
        {"role": "user", "content": "yes"},
    ]


# --- fixtures by hand -------------------------------------------------------------------------------------------------


def test_fixtures_that_hold_pass_and_the_exit_code_says_so(fixtures, run):
    put(fixtures)
    put(fixtures, "two", name="a yes lets it through", messages=ask_and_agree(), expect="allow")
    ran = run("test")
    assert ran.code == 0, ran.out + ran.err
    assert "pass  one.fixture.yaml: ask" in ran.out
    assert "pass  two.fixture.yaml: allow" in ran.out
    assert "2 passed      0 failed" in ran.out


def test_a_policy_that_lets_through_what_was_turned_down_fails(fixtures, run):
    put(fixtures)
    (fixtures.parent / "loose.yaml").write_text(POLICY.replace("destructive", "read"))
    ran = run("test", "fixtures", "--policy", "loose.yaml", "--json")
    assert ran.code == 1
    one, summary = ran.turns
    assert (one["passed"], one["verdict"], one["expect"]) == (False, "allow", ["redo", "ask", "escalate", "deny"])
    assert summary == {"summary": {"train": {"passed": 0, "failed": 1}, "held": {"passed": 0, "failed": 0}}}


def test_a_policy_that_denies_what_was_approved_fails_with_its_reason(fixtures, run):
    put(fixtures, expect=["allow", "ask", "escalate"])
    (fixtures / "policy.yaml").write_text(POLICY.replace("{effect: destructive}", "{effect: destructive, deny: No.}"))
    ran = run("test")
    assert ran.code == 1
    assert "FAIL  one.fixture.yaml: deny (TOOL_DENIED), expected allow or ask or escalate" in ran.out


def test_a_reason_can_be_expected_too(fixtures, run):
    put(fixtures, reasons=["CONFIRMATION_REQUIRED"])
    assert run("test").code == 0
    put(fixtures, reasons=["LIMIT_REACHED"])
    ran = run("test")
    assert ran.code == 1
    assert "LIMIT_REACHED is not among the reasons" in ran.out


def test_held_out_fixtures_are_counted_apart(fixtures, run):
    put(fixtures)
    run("test", "--split", "held").refused("--split held")
    put(fixtures, "apart", held=True)
    ran = run("test", "--json")
    assert ran.turns[-1]["summary"] == {"train": {"passed": 1, "failed": 0}, "held": {"passed": 1, "failed": 0}}
    assert [one["fixture"] for one in run("test", "--split", "held", "--json").turns[:-1]] == ["apart.fixture.yaml"]
    assert [one["fixture"] for one in run("test", "--split", "train", "--json").turns[:-1]] == ["one.fixture.yaml"]


def test_a_tenants_own_settings_hold_for_its_fixtures(fixtures, run):
    theirs = "tenants:\n  strict:\n    tools:\n      cancel_order: {deny: People cancel.}\n"
    (fixtures / "policy.yaml").write_text(POLICY + theirs)
    put(fixtures, "theirs", tenant="strict", expect="deny")
    put(fixtures, "others", expect="ask")
    ran = run("test")
    assert ran.code == 0, ran.out


def test_limits_over_time_see_the_time_of_the_fixture(fixtures, run):
    condition = "{effect: read, deny_unless: [{if: 'now < timestamp(\"2026-04-01T00:00:00Z\")', because: Over.}]}"
    (fixtures / "policy.yaml").write_text(POLICY.replace("{effect: read}", condition))
    call = {"tool": "get_order", "arguments": {"order_id": "A10077"}}
    put(fixtures, "before", proposal=call, at="2026-03-31T12:00:00Z", expect="allow")
    put(fixtures, "after", proposal=call, at="2026-04-02", expect="deny")
    ran = run("test")
    assert ran.code == 0, ran.out


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"expects": "hold"}, "'expects' is no key of a fixture"),
        ({"expect": None}, "Expect allow, redo, ask, escalate or deny"),
        ({"expect": "block"}, "Expect allow, redo, ask, escalate or deny"),
        ({"expect": ["hold", "allow"]}, "Expect allow, redo, ask, escalate or deny"),
        ({"proposal": None}, "the proposed call is missing"),
        ({"proposal": {"arguments": {}}}, "the proposed call is missing"),
        ({"held": "yes"}, "'held' must be true or false"),
        ({"policy": None}, "no policy is named"),
        ({"policy": "../policy.yaml"}, "outside the fixture's folder"),
        ({"policy": "other.yaml"}, "there is no policy other.yaml beside it"),
        ({"policy": "policy\0.yaml"}, "has a NUL byte in it"),
        ({"tools": "../tools.json"}, "outside the transcript's folder"),
        ({"tools": "tools\0.json"}, "has a NUL byte in it"),
        ({"at": "yesterday"}, "is no ISO time"),
        ({"messages": [{"role": "narrator", "content": "once"}]}, "message 0"),
    ],
)
def test_half_a_fixture_fails_instead_of_passing_for_a_whole_one(fixtures, run, changes, said):
    put(fixtures, **changes)
    ran = run("test")
    assert ran.code == 1, ran.out
    assert said in ran.out
    assert "Traceback" not in ran.err


def test_what_is_wrong_and_what_to_do_are_two_sentences(fixtures, run):
    put(fixtures, policy="other.yaml")
    assert "there is no policy other.yaml beside it. Put it there, or give --policy." in run("test").out


def test_a_file_that_is_no_yaml_fails_and_the_others_run(fixtures, run):
    put(fixtures)
    (fixtures / "broken.fixture.yaml").write_text("name: [\n")
    (fixtures / "broken.fixture.json").write_text("{")
    ran = run("test", "--json")
    assert ran.code == 1
    assert [one["passed"] for one in ran.turns[:-1]] == [False, False, True]


def test_a_date_in_an_argument_stays_the_text_it_was_written_as(fixtures, run):
    path = put(fixtures)
    path.write_text(path.read_text().replace("A10077", "2026-04-05"))
    assert run("test").code == 0


def test_a_yes_that_is_written_by_hand_is_the_word_and_no_truth_value(fixtures, run):
    path = put(fixtures, messages=ask_and_agree(), expect="allow")
    path.write_text(path.read_text().replace("'yes'", "yes"))
    assert "content: yes" in path.read_text()
    assert run("test").code == 0


@pytest.mark.parametrize("text", ["name: a\nname: b\n", "name: &a [x]\nmessages: *a\n"])
def test_a_key_that_comes_twice_and_an_alias_are_mistakes(fixtures, run, text):
    put(fixtures).write_text(text)
    ran = run("test")
    assert ran.code == 1
    assert "it cannot be read" in ran.out


def test_a_fixture_can_be_json(fixtures, run):
    (fixtures / "one.fixture.json").write_text(json.dumps(FIXTURE))
    assert run("test").code == 0


def test_no_fixtures_is_a_mistake_and_not_a_pass(fixtures, run):
    run("test").refused("There are no fixtures")
    run("test", "--tenant", "shop").refused("--from-store")
    run("test", "--from-store").refused("--tenant NAME and --write DIR")


def test_without_the_folder_it_says_so(run):
    run("test").refused("There is no folder fixtures")


# --- fixtures from the store ------------------------------------------------------------------------------------------


async def _play(path: Path, talks: dict[str, list[str]]) -> None:
    sample = samples.load("shop", directory=path, now=NOON)
    clock = FixedClock(NOON)
    database = f"sqlite:///{path}/.circumspect/circumspect.db"
    agent = Agent(
        sample.tenant, model="offline", tools=sample.tools, policy=sample.policy_path, database=database, clock=clock
    )
    try:
        for name, words in talks.items():
            for text in words:
                await agent.turn(text, conversation=name)
                clock.advance(seconds=20)
    finally:
        await agent.close()


def test_what_users_decided_becomes_fixtures_that_pass_under_the_policy_of_then(folder, run):
    talks = {
        "c1": ["cancel order 12345", "yes"],
        "c2": ["where is order 12347?", "cancel order 12346", "no"],
        "c3": ["what are your opening hours?"],
    }
    asyncio.run(_play(folder, talks))
    ran = run("test", "--from-store", "--tenant", "shop", "--write", "kept")
    assert ran.code == 0, ran.err
    assert "2 fixtures in kept" in ran.out
    assert "personal data" in ran.err
    made = {path.name: yaml.safe_load(path.read_text()) for path in (folder / "kept").glob("*.fixture.yaml")}
    assert sorted(str(one["expect"]) for one in made.values()) == ["['allow', 'ask', 'escalate']", "hold"]
    refused = next(one for one in made.values() if one["expect"] == "hold")
    assert refused["proposal"]["arguments"]["order_id"] == "12346"
    assert [one["role"] for one in refused["messages"]] == ["user", "assistant", "tool", "assistant", "user"]
    assert refused["messages"][-1]["content"] == "cancel order 12346"
    assert refused["held"] == (split_of("shop", "c2") == "held")
    policy = str(samples.load("shop", directory=folder, now=NOON).policy_path)
    again = run("test", "kept", "--policy", policy)
    assert again.code == 0, again.out


def test_writing_again_adds_nothing_and_overwrites_nothing(folder, run):
    asyncio.run(_play(folder, {"c1": ["cancel order 12345", "no"]}))
    run("test", "--from-store", "--tenant", "shop", "--write", "kept")
    [path] = (folder / "kept").glob("*.fixture.yaml")
    path.write_text("mine")
    ran = run("test", "--from-store", "--tenant", "shop", "--write", "kept", "--json")
    assert (ran.turns[0]["fixtures"], ran.turns[0]["new"]) == (1, 0)
    assert path.read_text() == "mine"


def test_a_word_about_an_answer_is_no_fixture_and_is_counted(folder, run):
    asyncio.run(_play(folder, {"c3": ["what are your opening hours?"]}))
    turn = _only_turn(folder)
    _store(folder, [LabelRow(SHOP, "l", "c3", turn, "thumbs_down", None, None, None, None, "train", "key:k", 1.0)])
    ran = run("test", "--from-store", "--tenant", "shop", "--write", "kept", "--json")
    assert (ran.turns[0]["overrides"], ran.turns[0]["about_words_only"], ran.turns[0]["fixtures"]) == (1, 1, 0)


def test_an_unknown_tenant_and_a_missing_database_are_said(run):
    run("test", "--from-store", "--tenant", "nobody", "--write", "kept").refused("There is no tenant 'nobody'")
    run("test", "--from-store", "--tenant", "x", "--write", "k", "--database", "no.db").refused("There is no database")


# --- calibrate --------------------------------------------------------------------------------------------------------


def _only_turn(folder: Path) -> str:
    import sqlite3

    with sqlite3.connect(folder / ".circumspect" / "circumspect.db") as connection:
        return str(connection.execute("SELECT id FROM turns").fetchone()[0])


def _store(folder: Path, rows: list[LabelRow]) -> None:
    async def write() -> None:
        store = await SqlStore.open(f"sqlite:///{folder}/.circumspect/circumspect.db")
        await store.tx(lambda connection: [labels.put(connection, row) for row in rows])
        await store.close()

    asyncio.run(write())


@pytest.fixture
def outcomes(folder: Path) -> Path:
    """The shop, with outcomes of refunds brought in: stated .9, right six times of ten."""
    asyncio.run(_play(folder, {"c1": ["cancel order 12345", "no"]}))
    lots = random.Random(5)
    rows = []
    for number in range(600):
        talk, sure = f"case-{number}", lots.choice((0.5, 0.9))
        right = lots.random() < (0.6 if sure == 0.9 else 0.2)
        split = split_of(SHOP, talk)
        rows.append(
            LabelRow(
                SHOP, talk, talk, f"t{number}", "outcome", "refund", "act", sure, {"right": right}, split, "crm", 1.0
            )
        )
    _store(folder, rows)
    return folder


def test_a_calibration_shows_how_far_off_confidences_are_and_what_would_fit(outcomes, run):
    (outcomes / "policy.yaml").write_text("version: 1\ntools:\n  refund: {effect: destructive, confidence_cap: 0.9}\n")
    ran = run("calibrate", "--tenant", "shop", "--policy", "policy.yaml", "--html", "page.html", "--maps", "maps.json")
    assert ran.code == 0, ran.err
    assert "act · refund  learnt from " in ran.out
    assert "act · cancel_order: not calibrated; " in ran.out
    assert "+    confidence_cap: 0.55" in ran.out or "+    confidence_cap: 0.5" in ran.out
    assert "Nothing is changed" in ran.out
    page = (outcomes / "page.html").read_text()
    assert page.count("<svg") == 1
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    maps = json.loads((outcomes / "maps.json").read_text())
    [kept] = maps["maps"]
    assert (kept["tool"], kept["decision"]) == ("refund", "act")
    assert kept["knots"][-1][1] == pytest.approx(0.6, abs=0.1)


def test_as_json_everything_is_there(outcomes, run):
    [found] = run("calibrate", "--tenant", "shop", "--json").turns
    [fit] = found["calibrated"]
    assert fit["after"]["ece"] <= fit["before"]["ece"] / 2
    assert found["overall"]["before"]["count"] == fit["before"]["count"]
    assert found["labels"] == {"deny": 1, "outcome": 600}
    assert found["refused"][0]["tool"] == "cancel_order"
    assert found["suggestions"]["bands"] is None


def test_a_suggestion_that_loosens_is_marked_and_nothing_is_written(folder, run):
    asyncio.run(_play(folder, {"c1": ["cancel order 12345", "no"]}))
    rows = [
        LabelRow(
            SHOP, f"c{n}", f"c{n}", "t", "outcome", "tag_order", "act", 0.9 if n % 10 else 0.3, {"right": n % 50 != 0},
            split_of(SHOP, f"c{n}"), "crm", 1.0,
        )
        for n in range(1500)
    ]  # fmt: skip
    _store(folder, rows)
    before = (folder / ".circumspect" / "circumspect.db").read_bytes()
    ran = run("calibrate", "--tenant", "shop")
    assert ran.code == 0, ran.err
    assert "# loosens: look at the figures first" in ran.out
    assert "LOOSENS" in ran.out
    assert (folder / ".circumspect" / "circumspect.db").read_bytes() == before


def test_bands_are_suggested_where_the_tenants_profile_has_them(folder, run):
    asyncio.run(_play(folder, {"c1": ["what are your opening hours?"]}))
    rows = []
    for number in range(1200):
        stated = (0.3, 0.8, 0.95)[number % 3]
        right = number % 100 != 5 if stated == 0.95 else number % 7 != 0 if stated == 0.8 else number % 4 == 0
        talk = f"k{number}"
        rows.append(
            LabelRow(
                SHOP,
                talk,
                talk,
                "t",
                "outcome",
                None,
                "answer",
                stated,
                {"right": right},
                split_of(SHOP, talk),
                "crm",
                1.0,
            )
        )
    _store(folder, rows)
    [found] = run("calibrate", "--tenant", "shop", "--json").turns
    assert found["suggestions"]["bands"] is None

    async def serve() -> None:
        store = await SqlStore.open(f"sqlite:///{folder}/.circumspect/circumspect.db")
        known = await store.get_tenant(SHOP)
        await store.tx(tenants.put, known, {"understanding": {"profile": "service", "answer_from": 0.7}})
        await store.close()

    asyncio.run(serve())
    ran = run("calibrate", "--tenant", "shop", "--html", "page.html")
    assert ran.code == 0, ran.err
    assert "-  answer_from: 0.7\n" in ran.out
    assert "+  answer_from: 0.85\n" in ran.out
    assert "<td>0.85<td>" in (folder / "page.html").read_text()


def test_too_few_labels_are_refused_with_how_many_are_needed(folder, run):
    asyncio.run(_play(folder, {"c1": ["cancel order 12345", "no"]}))
    ran = run("calibrate", "--tenant", "shop")
    assert ran.code == 1
    assert "200 are needed" in ran.out
    assert "Nothing is suggested." in ran.out
    run("calibrate", "--tenant", "nobody").refused("There is no tenant 'nobody'")


def test_the_report_names_answers_that_a_person_should_have_given(folder, run):
    asyncio.run(_play(folder, {"c3": ["what are your opening hours?"]}))
    turn = _only_turn(folder)
    _store(folder, [LabelRow(SHOP, "l", "c3", turn, "thumbs_down", None, None, None, None, "train", "key:k", 1.0)])
    ran = run("calibrate", "--tenant", "shop")
    assert "Answers that a person should have given: 1 of 1" in ran.out
    assert f"c3  {turn}: thumbs down, by a user" in ran.out


def test_what_visitors_like_moves_no_suggestion_unless_you_let_it(outcomes, run):
    [before] = run("calibrate", "--tenant", "shop", "--json").turns
    assert before["labels_by"] == {"outcomes": 600, "colleagues": 0, "users": 1}
    liked = [
        LabelRow(SHOP, f"l{n}", f"v{n}", "t", "thumbs_up", "refund", "act", 0.9, None, split_of(SHOP, f"v{n}"), by, 1.0)
        for n, by in enumerate(["key:widget"] * 300 + ["noa"] * 2)
    ]
    _store(outcomes, liked[:300])
    [after] = run("calibrate", "--tenant", "shop", "--json").turns
    assert after == {**before, "left_out": 300, "answers_known": 901}
    _store(outcomes, liked[300:])
    [after] = run("calibrate", "--tenant", "shop", "--labels-by", "everyone", "--json").turns
    assert after["labels_by"] == {"outcomes": 600, "colleagues": 2, "users": 301}
    assert (after["left_out"], after["labels"]["thumbs_up"]) == (0, 302)
    assert after["calibrated"] != before["calibrated"]
    said = run("calibrate", "--tenant", "shop").out
    assert "By whom: 600 outcomes, 2 colleagues, 1 users" in said
    assert "300 thumbs and corrections of users and visitors do not count" in said
