"""Backtest: stored conversations under a changed policy. What flips, why, at what price, and nothing is written."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import shutil
import sqlite3
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from tests.stores import postgres_server

from circumspect import Agent, cli
from circumspect.demo import samples
from circumspect.demo.samples.sample_files import DIRECTORY
from circumspect.lab.replay import stored_turns, unreplayed
from circumspect.lab.replay.backtest import backtest
from circumspect.lab.replay.flips import BacktestSummary
from circumspect.models.scripted import says
from circumspect.pipeline import run_turn
from circumspect.policy.load import load
from circumspect.ports import Closing
from circumspect.reasons import ReasonCode
from circumspect.stores import SqlStore
from circumspect.values import (
    ConversationId,
    Execution,
    ExecutionId,
    Incoming,
    TenantId,
    TurnId,
    TurnResult,
    Usage,
    name_principal,
)

SHOP = DIRECTORY / "policy.yaml"
BOOKING = {
    "date": "2026-04-05", "time": "11:00", "service": "boot fitting", "name": "Dana Levi", "phone": "052-555-0101",
}  # fmt: skip
BOOK = "book a boot fitting on 2026-04-05 at 11:00 for Dana Levi, phone 052-555-0101"
PROCEED, ASK_USER = (
    f'{{"decision": "{decision}", "reasoning": "", "message": ""}}' for decision in ("PROCEED", "ASK_USER")
)


def changed(tool: str, settings: str) -> str:
    """The shop's policy with other settings for one tool."""
    lines = SHOP.read_text("utf-8").splitlines()
    return "\n".join(f"  {tool}: {settings}" if line.startswith(f"  {tool}:") else line for line in lines) + "\n"


def proposes(tool: str, text: str = "", **params):
    return says(text, tool=tool, params=params)


async def flips(chat, policy: str, **options):
    """The cases that come out differently, and the summary."""
    setup = await chat.agent.open()
    summary, found = BacktestSummary(), []
    specs = setup.tools
    async for visited in backtest(setup.ports.store, load(policy), tenant=chat.agent.tenant.id, specs=specs, **options):
        summary.add(visited)
        found += [case for case in visited.cases if case.change]
    assert summary.unreplayed == 0, summary.reasons
    return found, summary


@pytest.fixture(scope="module")
def empty(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("ready") / "circumspect.db"

    async def make() -> None:
        await (await SqlStore.open(f"sqlite:///{path}")).close()

    asyncio.run(make())
    return path


@pytest.fixture(autouse=True)
def database(empty, tmp_path) -> Path:
    """Where the `shop` fixture keeps everything. A copy is cheaper than making the tables anew for every test."""
    return Path(shutil.copy(empty, tmp_path / "circumspect.db"))


# --- what flips ------------------------------------------------------------------------------------------------------


async def test_a_booking_that_ran_unasked_would_now_be_asked_about_and_that_seems_needless(shop):
    chat = shop(replies=[proposes("book_appointment", **BOOKING), says("See you then.")])
    await chat.user(BOOK).runs("book_appointment")

    found, summary = await flips(chat, changed("book_appointment", "{effect: write, confirm: always}"))

    [case] = found
    assert (case.then.verdict, case.now.verdict, case.change) == ("allow", "confirm", "held")
    assert (case.now.rule, case.now.reason) == ("asked_for_confirmations_are_given", ReasonCode.CONFIRMATION_REQUIRED)
    assert (case.fate, case.needless) == ("ran", "presumed")
    assert (case.conversation, case.turn) == ("c1", chat.turns[0].turn)
    assert (summary.questions["then"], summary.questions["now"]) == (0, 1)


async def test_a_tool_that_is_switched_off_holds_what_the_user_had_confirmed_and_counts_it_once(chat):
    await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    await chat.user("yes").runs("cancel_order")

    found, summary = await flips(chat, changed("cancel_order", "{effect: destructive, deny: People cancel.}"))

    [case] = found
    assert (case.then.verdict, case.now.verdict, case.change) == ("confirm", "deny", "held")
    assert (case.now.rule, case.now.problem) == ("the_policy_leaves_the_tool_on", "People cancel.")
    assert (case.fate, case.needless, case.turn) == ("confirmed", "known", chat.turns[0].turn)
    assert summary.needless["known"] == 1


async def test_a_yes_that_came_too_late_and_was_asked_for_again_belongs_to_the_same_call(chat):
    await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    chat.wait(minutes=6)
    await chat.user("yes").is_asked_to_confirm(order_id="12345")
    await chat.user("yes").runs("cancel_order")

    [case], summary = await flips(chat, changed("cancel_order", "{effect: destructive, deny: People cancel.}"))

    assert (case.turn, case.change, case.fate) == (chat.turns[0].turn, "held", "confirmed")
    assert summary.calls == 3


async def test_a_question_that_was_never_answered_is_no_needless_one(chat):
    await chat.user("cancel order 12345").is_asked_to_confirm()
    await chat.user("hello").is_answered()
    [case], _ = await flips(chat, changed("cancel_order", "{effect: destructive, deny: People cancel.}"))
    assert (case.change, case.fate, case.needless) == ("stricter", "unanswered", None)


async def test_what_the_user_had_turned_down_is_held_more_strictly_and_that_is_not_needless(chat):
    await chat.user("cancel order 12345").is_asked_to_confirm()
    await chat.user("no").is_answered()

    [case], summary = await flips(chat, changed("cancel_order", "{effect: destructive, deny: People cancel.}"))

    assert (case.change, case.fate, case.needless) == ("stricter", "refused", None)
    assert summary.needless.total() == 0


async def test_a_question_that_would_no_longer_be_asked_is_counted_with_the_answer_it_got(shop):
    chat = shop(replies=[proposes("update_address", order_id="12345", address="1 New Street, Haifa"), PROCEED, "Done."])
    await chat.user("send order 12345 to 1 New Street, Haifa").is_asked_to_confirm(order_id="12345")
    await chat.user("yes").runs("update_address")

    [case], summary = await flips(chat, changed("update_address", "{effect: write, confidence_cap: 0.9}"))

    assert (case.then.verdict, case.now.verdict, case.change) == ("confirm", "allow", "let_through")
    assert case.spoke.rule == "asked_for_confirmations_are_given"
    assert (case.fate, case.needless) == ("confirmed", None)
    assert (summary.questions["dropped"], summary.questions["dropped_yes"]) == (1, 1)


async def test_a_condition_over_facts_holds_calls_that_were_made_blindly_and_lets_the_others_be(shop):
    policy = changed(
        "cancel_order",
        "{effect: destructive, deny_unless: [{if: \"facts.get_order_status[args.order_id].status == 'processing'\","
        " because: It has left the warehouse.}]}",
    )
    looked = shop(
        replies=[
            *(proposes("get_order_status", order_id="12345"), says("It is being prepared.")),
            *(proposes("cancel_order", order_id="12345"), PROCEED),
            *(proposes("get_order_status", order_id="99999"), says("It is on its way.")),
            *(proposes("cancel_order", order_id="99999"), PROCEED),
            *(proposes("cancel_order", order_id="12346"), PROCEED),
        ]
    )
    await looked.user("where is 12345?").is_answered()
    await looked.user("cancel 12345").is_asked_to_confirm()
    await looked.user("where is 99999?").is_answered()
    await looked.user("cancel 99999").is_asked_to_confirm()
    await looked.user("cancel 12346").is_asked_to_confirm()

    found, _ = await flips(looked, policy)

    assert {case.call.arguments["order_id"]: (case.now.verdict, case.now.reason) for case in found} == {
        "99999": ("deny", ReasonCode.PRECONDITION_FAILED),
        "12346": ("deny", ReasonCode.FACT_NEEDED),
    }
    assert [case.call.arguments["order_id"] for case in found if case.detour] == ["12346"]
    assert {case.now.problem for case in found} == {
        "It has left the warehouse.",
        'Look up get_order_status(order_id="12346") first.',
    }


async def test_a_limit_counts_the_calls_that_came_before_as_they_came(chat):
    for order in ("12345", "12346", "12347"):
        await chat.user(f"cancel order {order}").is_asked_to_confirm(order_id=order)
        await chat.user("yes").runs("cancel_order")

    found, summary = await flips(chat, changed("cancel_order", "{effect: destructive, limits: [{count: 2}]}"))

    assert [(case.call.arguments["order_id"], case.now.reason) for case in found] == [
        ("12347", ReasonCode.LIMIT_REACHED)
    ]
    assert summary.needless["known"] == 1


async def test_a_limit_over_a_day_counts_the_calls_of_other_conversations_up_to_that_moment(shop, clock):
    chat = shop()
    for number, order in enumerate(("12345", "12346", "12347")):
        chat.name = f"c{number}"
        await chat.user(f"cancel order {order}").is_asked_to_confirm(order_id=order)
        await chat.user("yes").runs("cancel_order")
        clock.advance(hours=10)

    settings = "{effect: destructive, limits: [{count: 1, window: 12h}]}"
    found, _ = await flips(chat, changed("cancel_order", settings))
    assert sorted((case.conversation, case.after_yes) for case in found) == [("c1", False), ("c2", False)]

    found, _ = await flips(chat, changed("cancel_order", settings.replace("12h", "5h")))
    assert found == []


@pytest.mark.parametrize(("people", "held"), [(("p1", "p2"), []), (("p1", "p1"), ["c1"])])
async def test_a_limit_for_each_person_is_replayed_for_each_person(shop, people, held):
    chat = shop()
    for number, (order, person) in enumerate(zip(("12345", "12346"), people, strict=True)):
        chat.name = f"c{number}"
        await chat.user(f"cancel order {order}", person=person).is_asked_to_confirm(order_id=order)
        await chat.user("yes", person=person).runs("cancel_order")
        chat.wait(hours=1)

    settings = "{effect: destructive, limits: [{count: 1, per: person, window: 12h}]}"
    found, _ = await flips(chat, changed("cancel_order", settings))
    assert [case.conversation for case in found] == held


async def test_what_a_token_said_of_the_person_is_known_when_it_is_replayed(shop):
    chat = shop(replies=[proposes("cancel_order", order_id="12345"), PROCEED])
    setup = await chat.agent.open()
    fresh, at = TurnId(setup.ports.ids.new("turn")), chat.clock.now()
    who = {"person": "p1", "principal": name_principal("p1"), "claims": {"level": "gold"}}
    await run_turn(Incoming(chat.agent.tenant.id, ConversationId("c1"), fresh, "cancel order 12345", at, **who), setup)

    gold = "{effect: destructive, deny_unless: [{if: person.id == 'p1' && person.claims.level == 'LEVEL', because: x}]}"
    assert (await flips(chat, changed("cancel_order", gold.replace("LEVEL", "gold"))))[0] == []
    (case,), _ = await flips(chat, changed("cancel_order", gold.replace("LEVEL", "silver")))
    assert case.now.reason == ReasonCode.PRECONDITION_FAILED


async def test_a_lower_cap_means_that_a_second_opinion_would_be_asked_for(shop):
    chat = shop(replies=[proposes("book_appointment", **BOOKING), says("See you then.")])
    await chat.user(BOOK).runs("book_appointment")

    [case], summary = await flips(chat, changed("book_appointment", "{effect: write, confidence_cap: 0.5}"))

    assert (case.change, case.now.verdict, case.open) == ("opinion_asked", "allow", True)
    assert summary.flips == 0


async def test_a_higher_cap_means_that_a_second_opinion_is_not_asked_for_and_holds_nothing_any_more(shop):
    low = changed("book_appointment", "{effect: write, confidence_cap: 0.5}")
    other = {**BOOKING, "time": "12:00"}
    replies = [proposes("book_appointment", **BOOKING), ASK_USER]
    replies += [proposes("book_appointment", **other), PROCEED, says("See you then.")]
    chat = shop(replies=replies, policy=load(low))
    await chat.user(BOOK).is_asked_to_confirm()
    await chat.user(BOOK.replace("11:00", "12:00")).runs("book_appointment")

    found, _ = await flips(chat, SHOP.read_text("utf-8"))

    assert [(case.change, case.then.verdict, case.now.verdict) for case in found] == [
        ("let_through", "confirm", "allow"),
        ("opinion_dropped", "allow", "allow"),
    ]
    assert found[0].spoke.reason == ReasonCode.CRITIQUE_ASKED


async def test_four_eyes_instead_of_the_users_yes_is_stricter(chat):
    await chat.user("cancel order 12345").is_asked_to_confirm()
    await chat.user("yes").runs("cancel_order")

    [case], _ = await flips(chat, changed("cancel_order", "{effect: destructive, confirm: four_eyes}"))

    assert (case.then.verdict, case.now.verdict, case.change) == ("confirm", "approve", "held")


async def test_a_call_that_a_colleague_approved_is_known_to_be_right(shop, clock):
    chat = shop(policy=load(changed("cancel_order", "{effect: destructive, confirm: four_eyes}")))
    turn = await chat.user("cancel order 12345").is_escalated(ReasonCode.APPROVAL_REQUIRED)
    await approved(chat, turn.pending, clock)

    [case], _ = await flips(chat, changed("cancel_order", "{effect: destructive, deny: People cancel.}"))

    assert (case.then.verdict, case.now.verdict, case.fate, case.needless) == ("approve", "deny", "approved", "known")


async def approved(chat, intent, clock):
    """What an approval does to the store: the call runs in a turn of its own, on the intent."""
    store = (await chat.agent.open()).ports.store
    incoming = Incoming(intent.tenant, intent.conversation, TurnId("approval"), "(approved)", clock.now())
    opened = await store.open_turn(incoming, mode="adaptive", history=0, token="token", lease_seconds=60)
    ended = Execution(
        ExecutionId("run"), intent.tenant, intent.conversation, incoming.turn, intent.call, "destructive", "keyed",
        "started", "token", clock.now() + timedelta(minutes=1), clock.now(), intent=intent.id,
    )  # fmt: skip
    assert await store.begin_call(ended, opened.token, by="dana")
    assert await store.finish_call(
        Execution(**{name: getattr(ended, name) for name in ended.__slots__} | {"state": "succeeded"})
    )
    result = TurnResult(incoming.turn, incoming.conversation, "acted", "Done.", (), None, Usage("adaptive"))
    await store.close_turn(Closing(incoming, opened.token, "en", result, (), clock.now()))


async def test_overrides_of_a_tenant_hold_for_that_tenant_only(shop):
    chat = shop()
    await chat.user("cancel order 12345").is_asked_to_confirm()
    override = "tenants: {%s: {tools: {cancel_order: {confirm: four_eyes}}}}\n"

    found, _ = await flips(chat, SHOP.read_text("utf-8") + override % "shop")
    assert [case.now.verdict for case in found] == ["approve"]

    found, _ = await flips(chat, SHOP.read_text("utf-8") + override % "shop-he")
    assert found == []


async def test_questions_and_denials_of_standard_mode_are_replayed_too(shop):
    chat = shop(replies=[calls_cancel(), "It is cancelled."], mode="standard")
    await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    await chat.user("yes").runs("cancel_order")

    assert (await flips(chat, changed("cancel_order", "{effect: destructive}")))[0] == []
    [case, *_], _ = await flips(chat, changed("cancel_order", "{effect: destructive, deny: People cancel.}"))
    assert (case.change, case.fate, case.needless) == ("held", "confirmed", "known")


def calls_cancel():
    from circumspect.models.scripted import calls

    return calls("cancel_order", {"order_id": "12345"})


# --- how much is read ------------------------------------------------------------------------------------------------


@pytest.fixture
async def week(shop, clock, monkeypatch):
    """Seven conversations on seven days, read in pages of two."""
    monkeypatch.setattr(stored_turns, "PAGE", 2)
    chat = shop()
    for day in range(7):
        chat.name = f"day{day}"
        await chat.user(f"cancel order 123{45 - day}").is_asked_to_confirm()
        clock.advance(days=1)
    return chat


async def visited_by(chat, **options):
    setup = await chat.agent.open()
    found = backtest(setup.ports.store, setup.policy, tenant=chat.agent.tenant.id, specs=setup.tools, **options)
    return [visited.conversation async for visited in found]


async def test_every_conversation_is_visited_once_the_newest_first(week):
    assert await visited_by(week) == [f"day{day}" for day in reversed(range(7))]


async def test_a_limit_takes_the_newest_conversations_and_since_leaves_out_older_decisions(week, clock):
    assert await visited_by(week, limit=3) == ["day6", "day5", "day4"]
    since = clock.now() - timedelta(days=2)
    assert await visited_by(week, since=since) == ["day6", "day5"]
    store = (await week.agent.open()).ports.store
    assert await stored_turns.count(store, TenantId("shop"), since) == 2
    assert await stored_turns.count(store, TenantId("shop"), limit=3) == 3


async def test_numbers_a_day_are_over_the_days_from_the_first_decision_to_the_last(week):
    _, summary = await flips(week, changed("cancel_order", "{effect: destructive, deny: People cancel.}"))
    assert summary.days == 6
    assert summary.to_json()["questions_per_day"] == {"then": round(7 / 6, 2), "now": 0}


async def test_a_correction_that_was_asked_about_by_code_is_ruled_on_again_as_it_was(chat):
    await chat.user("cancel order 12345").is_asked_to_confirm(order_id="12345")
    await chat.user("no, I meant 12346").is_asked_to_confirm(order_id="12346")
    _, summary = await flips(chat, SHOP.read_text("utf-8"))
    assert (summary.calls, summary.unreplayed) == (2, 0)


async def test_decisions_before_since_are_not_counted_though_the_conversation_went_on(chat, clock):
    await chat.user("cancel order 12345").is_asked_to_confirm()
    clock.advance(days=3)
    await chat.user("cancel order 12346").is_asked_to_confirm()
    _, summary = await flips(chat, SHOP.read_text("utf-8"), since=clock.now() - timedelta(days=1))
    assert (summary.conversations, summary.calls) == (1, 1)


@pytest.mark.postgres
async def test_on_postgresql_the_same_is_found(clock, monkeypatch):
    monkeypatch.setattr(stored_turns, "PAGE", 1)
    sample = samples.load("shop", directory=None, now=clock.now())
    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(postgres_server.running())
        except postgres_server.NoPostgres as reason:
            pytest.skip(f"NOT TESTED ON POSTGRESQL: {reason}")
        server.sql("CREATE DATABASE tests")
        options = {"tools": sample.tools, "policy": sample.policy_path, "model": "offline", "clock": clock}
        async with Agent(sample.tenant, database=server.url("tests"), **options) as agent:
            for name in ("c1", "c2", "c3"):
                await agent.turn("cancel order 12345", conversation=name)
            store = (await agent.open()).ports.store
            policy = load(changed("cancel_order", "{effect: destructive, limits: [{count: 1, window: 24h}]}"))
            specs = await store.tool_specs(agent.tenant.id)
            found = backtest(store, policy, tenant=agent.tenant.id, specs=specs, verify=agent.policy)
            cases = [case async for visited in found for case in visited.cases]
    assert sorted(case.conversation for case in cases) == ["c1", "c2", "c3"]
    assert all(case.verified and case.change is None for case in cases)


# --- in the terminal -------------------------------------------------------------------------------------------------


class Ran:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def rows(self):
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def command(tmp_path, monkeypatch):
    """`await command("--policy", path)`: the whole command as a person meets it, with its exit code."""
    monkeypatch.setitem(cli.VERBS, "backtest", ("backtest:backtest", ""))

    def run(arguments) -> Ran:
        out, err = io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "argv", ["circumspect", "backtest", *map(str, arguments)])
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ended:
            cli.main()
        return Ran(ended.value.code, out.getvalue(), err.getvalue())

    async def start(*arguments) -> Ran:
        if "--database" not in arguments:
            arguments = (*arguments, "--database", f"sqlite:///{tmp_path}/circumspect.db")
        return await asyncio.to_thread(run, arguments)

    return start


@pytest.fixture
def stricter(tmp_path) -> Path:
    path = tmp_path / "new.yaml"
    path.write_text(changed("cancel_order", "{effect: destructive, deny: People cancel.}"), "utf-8")
    return path


@pytest.fixture
async def cancelled(chat):
    await chat.user("cancel order 12345").is_asked_to_confirm()
    await chat.user("yes").runs("cancel_order")
    return chat


async def test_the_report_names_the_call_the_rule_the_price_and_the_conversation(cancelled, command, stricter):
    ran = await command("--policy", stricter, "--verify", SHOP)
    assert ran.code == 0, ran.err
    for words in (
        "2 proposed calls in 1 conversation, 2026-03-31",
        "2 of 2 were decided again under the policy of their time and came out as stored.",
        "now held",
        "TOOL_DENIED",
        'cancel_order {"reason":"","order_id":"12345"}',
        "confirm → deny, the_policy_leaves_the_tool_on (TOOL_DENIED)",
        "People cancel.",
        "the user said yes, and it succeeded: needless",
        f"shop · c1 · {cancelled.turns[0].turn} · 2026-03-31 12:00",
        "Needless holds and questions: 1.0 a day (1 that a person had said yes to, 0 that ran unasked and succeeded).",
    ):
        assert words in ran.out, ran.out


async def test_json_is_one_line_a_flip_and_a_summary(cancelled, command, stricter):
    ran = await command("--policy", stricter, "--json")
    *flipped, summary = ran.rows
    [row] = flipped
    assert (row["conversation"], row["turn"], row["tool"]) == ("c1", cancelled.turns[0].turn, "cancel_order")
    assert row["arguments"] == {"order_id": "12345", "reason": ""}
    assert (row["change"], row["then"]["verdict"], row["now"]["verdict"]) == ("held", "confirm", "deny")
    assert (row["now"]["rule"], row["now"]["reason_code"]) == ("the_policy_leaves_the_tool_on", "TOOL_DENIED")
    assert (row["now"]["sentence"], row["now"]["problem"]) == (
        "The policy file does not switch the tool off.", "People cancel.",
    )  # fmt: skip
    assert (row["fate"], row["needless"]) == ("confirmed", "known")
    assert summary["summary"] is True
    assert (summary["conversations"], summary["calls"], summary["cannot_be_replayed"]) == (1, 2, 0)
    assert summary["changes"]["held"] == 1
    assert summary["needless_per_day"] == 1.0
    assert summary["by_rule"] == [
        {
            "change": "held",
            "rule": "the_policy_leaves_the_tool_on",
            "reason_code": "TOOL_DENIED",
            "calls": 1,
            "needless": 1,
        }
    ]


@pytest.mark.parametrize(
    ("settings", "fails_on"),
    [
        ("{effect: destructive, confidence_cap: 0.6, confirm: always}", set()),
        ("{effect: destructive, deny: People cancel.}", {"tightened", "needless", "any"}),
    ],
)
async def test_the_exit_code_is_1_for_what_it_is_told_to_fail_on(cancelled, command, tmp_path, settings, fails_on):
    path = tmp_path / "new.yaml"
    path.write_text(changed("cancel_order", settings), "utf-8")
    for kind in ("loosened", "tightened", "needless", "unreplayed", "any"):
        assert (await command("--policy", path, "--fail-on", kind)).code == (kind in fails_on), kind


async def test_a_loosened_policy_fails_where_it_is_told_to(shop, command, tmp_path):
    chat = shop(policy=load(changed("cancel_order", "{effect: destructive, deny: People cancel.}")))
    assert ReasonCode.TOOL_DENIED in (await chat.user("cancel order 12345")).reason_codes
    ran = await command("--policy", SHOP, "--fail-on", "loosened")
    assert ran.code == 1
    assert "held more mildly" in ran.out
    assert "deny → confirm" in ran.out


async def test_nothing_is_written_to_the_database(cancelled, command, stricter, tmp_path):
    def dump():
        with contextlib.closing(sqlite3.connect(tmp_path / "circumspect.db")) as db:
            return list(db.iterdump())

    before = dump()
    assert len(before) > 20
    await command("--policy", stricter, "--json")
    await command("--policy", stricter, "--verify", SHOP)
    assert dump() == before


async def test_a_broken_policy_is_refused_with_file_and_line(cancelled, command, tmp_path):
    path = tmp_path / "new.yaml"
    path.write_text("version: 1\ntools:\n  cancel_order: {effect: destructive, confrim: always}\n", "utf-8")
    ran = await command("--policy", path)
    assert ran.code == 2
    assert f"{path}:3: " in ran.err
    assert "did you mean 'confirm'?" in ran.err
    assert "Traceback" not in ran.err


async def test_a_policy_that_names_no_tool_of_the_tenant_is_refused_too(cancelled, command, tmp_path):
    path = tmp_path / "new.yaml"
    path.write_text("version: 1\ntools:\n  cancel_ordr: {effect: destructive}\n", "utf-8")
    ran = await command("--policy", path)
    assert (ran.code, "did you mean 'cancel_order'?" in ran.err) == (2, True)


async def test_an_empty_database_is_said_to_be_empty(command):
    ran = await command("--policy", SHOP)
    assert (ran.code, ran.out) == (0, "There are no stored conversations.\n")
    ran = await command("--policy", SHOP, "--since", "2030-01-01")
    assert ran.out == "There are no stored conversations since then.\n"
    ran = await command("--policy", SHOP, "--json", "--fail-on", "any")
    assert (ran.code, ran.rows[0]["calls"]) == (0, 0)


async def test_conversations_without_calls_are_said_to_have_none(chat, command):
    await chat.user("hello").is_answered()
    ran = await command("--policy", SHOP)
    assert (ran.code, ran.out) == (0, "No call was proposed in 1 stored conversation.\n")


async def test_an_unknown_tenant_is_told_who_there_is(cancelled, command):
    ran = await command("--policy", SHOP, "--tenant", "nobody")
    assert ran.code == 2
    assert "There is no tenant 'nobody' in this database." in ran.err
    assert "Choose one of: shop." in ran.err


async def test_a_database_that_is_not_there_is_not_made(command, tmp_path):
    ran = await command("--policy", SHOP, "--database", f"sqlite:///{tmp_path}/none/here.db")
    assert ran.code == 2
    assert "There is no database" in ran.err
    assert not (tmp_path / "none").exists()


async def test_a_database_without_our_tables_is_left_as_it_is(command, tmp_path):
    other = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(other)) as db:
        db.execute("CREATE TABLE theirs (id)")
    ran = await command("--policy", SHOP, "--database", other)
    assert ran.code == 2
    assert "circumspect db upgrade" in ran.err
    with contextlib.closing(sqlite3.connect(other)) as db:
        assert [name for (name,) in db.execute("SELECT name FROM sqlite_master")] == ["theirs"]


async def test_without_a_tenant_everyone_is_looked_at_each_with_their_own_tools(shop, command, stricter):
    await shop("shop").user("cancel order 12345").is_asked_to_confirm()
    await shop("shop-he").user("בטל הזמנה 12345").is_asked_to_confirm()
    rows = (await command("--policy", stricter, "--json")).rows
    assert sorted(row["tenant"] for row in rows[:-1]) == ["shop", "shop-he"]
    rows = (await command("--policy", stricter, "--json", "--tenant", "shop-he")).rows
    assert [row["tenant"] for row in rows[:-1]] == ["shop-he"]


async def test_arguments_cannot_write_to_the_terminal(shop, command, tmp_path):
    chat = shop(replies=[proposes("cancel_order", order_id="12345", reason="\x1b[2J\x07 gone"), PROCEED])
    await chat.user("cancel order 12345").is_asked_to_confirm()
    path = tmp_path / "new.yaml"
    path.write_text(changed("cancel_order", "{effect: destructive, deny: People cancel.}"), "utf-8")
    ran = await command("--policy", path)
    assert "held more strictly" in ran.out
    assert "\x1b" not in ran.out
    assert "\x07" not in ran.out


async def test_a_tenant_whose_tools_nobody_knows_is_told_how_to_give_them(chat, command, stricter, tmp_path):
    await chat.user("cancel order 12345").is_asked_to_confirm()
    setup = await chat.agent.open()
    await setup.ports.store.tx(lambda connection: connection.exec_driver_sql("DELETE FROM tools") and None)

    ran = await command("--policy", stricter)
    assert ran.code == 2
    assert "The database does not know the tools of tenant 'shop'." in ran.err
    assert "--tools FILE" in ran.err

    definitions = tmp_path / "tools.json"
    tools = [{"name": spec.name, "parameters": spec.parameters} for spec in setup.tools.values()]
    definitions.write_text(json.dumps(tools), "utf-8")
    rows = (await command("--policy", stricter, "--tools", definitions, "--json")).rows
    assert [row.get("change") for row in rows[:-1]] == ["stricter"]


# --- compared with the policy in force ------------------------------------------------------------------------------


async def test_the_text_in_force_flips_nothing_whatever_was_in_force_when_calls_were_made(chat):
    await chat.user(BOOK).runs("book_appointment")
    await chat.user("cancel order 12345").is_asked_to_confirm()
    await chat.user("yes").runs("cancel_order")
    stricter = changed("cancel_order", "{effect: destructive, deny: People cancel.}")

    assert [case.change for case in (await flips(chat, stricter))[0]] == ["held"]
    found, summary = await flips(chat, stricter, against=load(stricter))

    assert found == []
    assert (summary.calls, summary.questions["then"]) == (3, summary.questions["now"])


async def test_a_draft_is_compared_with_the_version_in_force_over_the_same_calls(chat):
    await chat.user("cancel order 12345").is_asked_to_confirm()
    await chat.user("yes").runs("cancel_order")
    in_force = changed("cancel_order", "{effect: destructive, deny: People cancel.}")

    [case], _ = await flips(chat, SHOP.read_text("utf-8"), against=load(in_force))

    assert (case.then.verdict, case.now.verdict, case.change) == ("deny", "confirm", "looser")
    assert case.spoke.rule == "the_policy_leaves_the_tool_on"


def test_whatever_cannot_be_replayed_says_how_to_make_it_replayable():
    sentences = [value for name, value in vars(unreplayed).items() if name.isupper() and isinstance(value, str)]
    kinds = [unreplayed.find_kind(one) for one in sentences]
    assert set(kinds) == set(unreplayed.KINDS) - {"differs"}
    assert unreplayed.find_kind("my_rule says deny on replay and said nothing then.") == "differs"
    assert set(unreplayed.FIXES) == set(unreplayed.KINDS)
