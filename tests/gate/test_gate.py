"""What `Agent` guarantees for a call holds for anybody's: rules over facts, a yes for exactly that call, once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.gate.talks import Talk

from circumspect import CallHeld, Gate
from circumspect.clock import FixedClock
from circumspect.errors import ApproverRefused, CallUnderWay, ConfigError, NotYourConversation, ToolError, ToolTimeout
from circumspect.reasons import ReasonCode
from circumspect.stores import SqlStore
from circumspect.values import ToolSpec


class Shop:
    """Counts what really happens."""

    def __init__(self) -> None:
        self.done: list[Any] = []

    async def cancel_order(self, order_id: str) -> dict[str, str]:
        self.done.append(order_id)
        return {"cancelled": order_id}

    def add_note(self, text: str) -> str:
        self.done.append(text)
        return "noted"


async def test_a_fact_that_is_missing_goes_back_to_the_model_and_to_nobody_else(gate: Gate) -> None:
    talk = Talk("please cancel order 12345")
    ruling = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    assert ruling.verdict == "redo"
    assert ruling.reason_codes[0] is ReasonCode.FACT_NEEDED
    assert "get_order" in ruling.tell_model
    assert ruling.ask_user == ""
    assert ruling.intent is None


async def test_a_shipped_order_stays_uncancelled_and_the_model_hears_why(gate: Gate) -> None:
    talk = Talk("please cancel order 12345").looked_up("12345", "shipped")
    ruling = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    assert ruling.verdict == "deny"
    assert "A shipped order cannot be cancelled." in ruling.tell_model
    with pytest.raises(CallHeld, match="shipped"):
        await gate.run(ruling, Shop().cancel_order)


async def test_a_yes_lets_exactly_that_call_run_and_only_once(gate: Gate) -> None:
    shop, talk = Shop(), Talk("please cancel order 12345").looked_up("12345")
    asked = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    assert asked.verdict == "ask"
    assert asked.intent is not None
    assert "12345" in asked.ask_user == asked.intent.shown
    with pytest.raises(CallHeld):
        await gate.run(asked, shop.cancel_order)
    assert shop.done == []
    let = await gate.answer(asked.intent, "yes, do it")
    assert let.verdict == "allow"
    results = [await gate.run(one, shop.cancel_order) for one in (let, asked, let)]
    assert results == [{"cancelled": "12345"}] * 3
    assert shop.done == ["12345"]


@pytest.mark.parametrize(
    ("words", "verdict", "reason"),
    [
        ("no, leave it", "deny", ReasonCode.DENIED_BY_USER),
        ("wait, the other one", "deny", ReasonCode.PENDING_INTENT_WITHDRAWN),
        ("כן", "allow", ReasonCode.CONFIRMED_BY_USER),
        ("yes but only if it is free", "deny", ReasonCode.PENDING_INTENT_WITHDRAWN),
        ("yes and tell my wife", "ask", ReasonCode.PENDING_INTENT_MISMATCH),
    ],
)
async def test_words_are_read_as_they_are_meant(gate: Gate, words: str, verdict: str, reason: ReasonCode) -> None:
    talk = Talk("please cancel order 12345").looked_up("12345")
    asked = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    answered = await gate.answer(asked, words)
    assert (answered.verdict, answered.reason_codes[0]) == (verdict, reason)


@pytest.mark.parametrize("approve", ["no", "yes", 1, 0, [True]])
async def test_a_button_is_a_boolean_and_nothing_else(gate: Gate, approve: Any) -> None:
    talk = Talk("please cancel order 12345").looked_up("12345")
    asked = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    with pytest.raises(ConfigError):
        await gate.answer(asked, approve=approve)


async def test_a_yes_is_not_for_another_call(gate: Gate) -> None:
    shop, talk = Shop(), Talk("please cancel order 12345 and 777").looked_up("12345").looked_up("777")
    asked = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    await gate.answer(asked, approve=True)
    other = await gate.rule(talk.call("cancel_order", order_id="777"), messages=talk.messages)
    assert other.verdict == "ask"
    with pytest.raises(CallHeld):
        await gate.run(other, shop.cancel_order)


async def test_two_calls_of_one_answer_wait_side_by_side(gate: Gate) -> None:
    shop, talk = Shop(), Talk("please cancel order 12345 and 777").looked_up("12345").looked_up("777")
    both = [
        await gate.rule(talk.call("cancel_order", order_id=one), messages=talk.messages) for one in ("12345", "777")
    ]
    for one in both:
        await gate.run(await gate.answer(one, approve=True), shop.cancel_order)
    assert shop.done == ["12345", "777"]


async def test_the_same_call_again_is_the_same_question(gate: Gate) -> None:
    talk = Talk("please cancel order 12345").looked_up("12345")
    first, again = [
        await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages) for _ in range(2)
    ]
    assert first.intent
    assert again.intent
    assert first.intent.id == again.intent.id


async def test_a_yes_in_the_conversation_counts_when_the_question_was_put_as_it_is(gate: Gate) -> None:
    shop, talk = Shop(), Talk("please cancel order 12345").looked_up("12345")
    call = talk.call("cancel_order", order_id="12345")
    asked = await gate.rule(call, messages=talk.messages)
    talk.add(call, asked.tell_model).agent(f"Certainly. {asked.ask_user}").user("yes please")
    let = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    assert let.verdict == "allow"
    await gate.run(let, shop.cancel_order)
    assert shop.done == ["12345"]


CORRECTIONS = [
    "wait, the other one, 99999",
    "sorry, I meant 99999",
    "actually, cancel 99999 instead",
    "לא את זה, את 99999",
    "подожди, другой, 99999",
    "Moment, die andere, 99999",
]


@pytest.mark.parametrize("words", CORRECTIONS)
@pytest.mark.parametrize("yes", [{"words": "yes"}, {"approve": True}], ids=["words", "button"])
async def test_a_correction_in_the_conversation_drops_what_was_asked(
    gate: Gate, words: str, yes: dict[str, Any]
) -> None:
    talk = Talk("please cancel order 12345").looked_up("12345").looked_up("99999")
    first = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    assert first.intent
    talk.agent(first.ask_user).user(words)
    other = await gate.rule(talk.call("cancel_order", order_id="99999"), messages=talk.messages)
    dropped = await gate.answer(first.intent, **yes)
    assert dropped.verdict == "deny"
    assert dropped.reason_codes[0] in (ReasonCode.PENDING_INTENT_WITHDRAWN, ReasonCode.PENDING_INTENT_MISSING)
    assert other.intent
    assert (await gate.answer(other.intent, **yes)).verdict == "allow"


async def test_a_correction_that_leads_to_no_new_question_drops_it_as_well(gate: Gate) -> None:
    talk = Talk("please cancel order 12345").looked_up("12345")
    first = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    assert first.intent
    talk.agent(first.ask_user).user("wait, just note that I like tea")
    await gate.rule(talk.call("add_note", text="I like tea"), messages=talk.messages)
    dropped = await gate.answer(first.intent, approve=True)
    assert (dropped.verdict, dropped.reason_codes) == ("deny", (ReasonCode.PENDING_INTENT_WITHDRAWN,))


async def test_what_was_dropped_is_asked_about_anew_when_it_is_wanted_after_all(gate: Gate) -> None:
    talk = Talk("please cancel order 12345").looked_up("12345").looked_up("99999")
    first = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    talk.agent(first.ask_user).user("wait, the other one, 99999")
    await gate.rule(talk.call("cancel_order", order_id="99999"), messages=talk.messages)
    talk.agent("Order 99999 then?").user("no, 12345 was right, cancel that one")
    again = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    assert first.intent
    assert again.intent
    assert again.intent.id != first.intent.id
    assert (await gate.answer(again.intent, approve=True)).verdict == "allow"


@pytest.mark.parametrize("words", ["what does that cost?", "hmm", "thank you"])
async def test_words_that_change_nothing_leave_the_question_open(gate: Gate, words: str) -> None:
    talk = Talk("please cancel order 12345").looked_up("12345")
    first = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    talk.agent(first.ask_user).user(words)
    again = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    assert first.intent
    assert again.intent
    assert again.intent.id == first.intent.id
    assert (await gate.answer(first.intent, approve=True)).verdict == "allow"


async def test_a_yes_to_the_models_own_question_is_nobodys(gate: Gate) -> None:
    talk = Talk("please cancel order 12345").looked_up("12345")
    call = talk.call("cancel_order", order_id="12345")
    asked = await gate.rule(call, messages=talk.messages)
    talk.add(call, asked.tell_model).agent("Would you like to hear about our offers?").user("yes")
    again = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    assert again.verdict == "ask"


@pytest.mark.parametrize(
    "more", ["And would you like our newsletter?", "Shall I also cancel 99999？", "רוצה גם עיתון?"]
)
async def test_a_yes_is_for_what_was_asked_last(gate: Gate, more: str) -> None:
    talk = Talk("please cancel order 12345").looked_up("12345")
    call = talk.call("cancel_order", order_id="12345")
    asked = await gate.rule(call, messages=talk.messages)
    talk.add(call, asked.tell_model).agent(f"{asked.ask_user} {more}").user("yes")
    assert (await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)).verdict == "ask"
    talk.agent(f"{more}\n\n{asked.ask_user}").user("yes")
    assert (await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)).verdict == "allow"


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda text: text.replace("“", '"').replace("”", '"'),
        lambda text: text.replace("“", "„").replace("”", "“"),
        lambda text: text.replace("“", "'").replace("”", "'"),
        lambda text: text.replace(" ", "\u00a0"),
        lambda text: text.replace("-", "\u2011"),
        lambda text: f"**{text}**",
        lambda text: text.replace("add note", "**add note**").replace(". ", ".\n\n"),
    ],
)
async def test_a_question_that_is_written_down_again_is_the_same_question(rewrite: Callable[[str], str]) -> None:
    policy = {"version": 1, "tools": {"add_note": {"effect": "write", "confirm": "always"}}}
    async with Gate(policy) as gate:
        talk = Talk("note: Hafen-Str. 5, Hamburg")
        call = talk.call("add_note", text="Hafen-Str. 5, Hamburg")
        asked = await gate.rule(call, messages=talk.messages)
        assert "“" in asked.ask_user
        talk.add(call, asked.tell_model).agent(rewrite(asked.ask_user)).user("yes")
        again = talk.call("add_note", text="Hafen-Str. 5, Hamburg")
        assert (await gate.rule(again, messages=talk.messages)).verdict == "allow"
        other = Talk("note: Hafen-Str. 6, Hamburg")
        await gate.rule(other.call("add_note", text="Hafen-Str. 6, Hamburg"), messages=other.messages, conversation="2")
        other.agent(asked.ask_user).user("yes")
        call = other.call("add_note", text="Hafen-Str. 6, Hamburg")
        assert (await gate.rule(call, messages=other.messages, conversation="2")).verdict == "ask"


async def test_a_call_that_has_run_says_what_became_of_it(gate: Gate) -> None:
    talk = Talk("note that I like tea")
    call = talk.call("add_note", text="I like tea")
    first = await gate.rule(call, messages=talk.messages)
    assert (first.state, first.to_json()["verdict"]) == (None, "allow")
    await gate.ran(first, {"noted": 7})
    again = await gate.rule(call, messages=talk.messages)
    assert (again.state, again.outcome) == ("succeeded", {"noted": 7})
    assert '{"noted":7}' in again.tell_model
    shown = again.to_json()
    assert (shown["verdict"], shown["reason_codes"], shown["state"]) == ("deny", ["REPEATED_CALL"], "succeeded")
    assert await gate.run(again, Shop().add_note) == {"noted": 7}


async def test_a_call_that_failed_says_why(gate: Gate) -> None:
    talk = Talk("note that I like tea")
    call = talk.call("add_note", text="I like tea")
    await gate.ran(await gate.rule(call, messages=talk.messages), error="the pencil broke")
    again = await gate.rule(call, messages=talk.messages)
    assert (again.state, again.outcome) == ("failed", "the pencil broke")
    assert "the pencil broke" in again.tell_model


async def test_a_look_up_is_told_of_also_where_the_user_has_to_be_asked_besides() -> None:
    policy = {
        "version": 1,
        "tools": {
            "get_user": {"effect": "read"},
            "delete_user": {"effect": "destructive", "requires": [{"call": "get_user", "same": "user_id"}]},
        },
    }
    async with Gate(policy) as gate:
        talk = Talk("yes")
        ruling = await gate.rule(talk.call("delete_user", user_id="u-1"), messages=talk.messages)
        assert ruling.verdict == "redo"
        assert "get_user" in ruling.tell_model
        assert "user_id" in ruling.tell_model
        assert "Do not try it again" not in ruling.tell_model


async def test_an_old_yes_is_not_used_twice(gate: Gate) -> None:
    """The call failed, the model tries again, and the conversation still ends with the yes to the first question."""
    talk = Talk("please cancel order 12345").looked_up("12345")
    call = talk.call("cancel_order", order_id="12345")
    asked = await gate.rule(call, messages=talk.messages)
    talk.add(call, asked.tell_model).agent(asked.ask_user).user("yes")
    let = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)

    def refuse(order_id: str) -> None:
        raise ToolError("the warehouse is closed")

    with pytest.raises(ToolError):
        await gate.run(let, refuse)
    again = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    assert again.verdict == "ask"


async def test_what_was_held_is_no_result(gate: Gate) -> None:
    """A look-up that did not run establishes nothing, although its held text stands where a result would."""
    talk = Talk("please cancel order 12345")
    talk.add(talk.call("get_order", order_id="12345"), "NOT RUN. Do something else.")
    ruling = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    assert ruling.verdict == "redo"


async def test_a_question_gets_old(gate: Gate, clock: FixedClock) -> None:
    shop, talk = Shop(), Talk("please cancel order 12345").looked_up("12345")
    asked = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    clock.advance(minutes=6)
    late = await gate.answer(asked, "yes")
    assert late.verdict == "ask"
    assert late.intent
    assert asked.intent
    assert late.intent.id != asked.intent.id
    with pytest.raises(CallHeld):
        await gate.run(asked, shop.cancel_order)
    assert shop.done == []


@pytest.mark.parametrize("how", ["late", "another person"])
async def test_a_yes_that_does_not_count_is_asked_for_again_where_nobody_has_the_words(
    store: str | None, open_gate: Callable[..., Gate], clock: FixedClock, how: str
) -> None:
    """The answer comes to a process, or to a server, that has not seen the messages."""
    gate, talk = open_gate(clock=clock), Talk("please cancel order 12345").looked_up("12345")
    person = "anna" if how == "late" else None
    asked = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages, person=person)
    if store:  # a process that is alone has them
        gate._talks.clear()
    clock.advance(minutes=6 if how == "late" else 1)
    anew = await gate.answer(asked, "yes", person="anna")
    assert (anew.verdict, anew.missing) == ("ask", ())
    assert asked.intent
    assert anew.intent
    assert anew.intent.id != asked.intent.id
    assert "12345" in anew.ask_user
    again = await gate.answer(asked, "yes", person="anna")
    assert again.intent
    assert again.intent.id == anew.intent.id, "the old question leads to the new one"
    assert (await gate.answer(anew, "yes", person="anna")).allowed


@pytest.mark.parametrize("forgotten", [False, True])
async def test_a_late_yes_never_lets_run_what_was_asked_about_for_its_words(
    open_gate: Callable[..., Gate], clock: FixedClock, forgotten: bool
) -> None:
    policy = {"version": 1, "tools": {"change_address": {"effect": "write", "confirm": "when_implied"}}}
    gate = open_gate(policy=policy, clock=clock)
    asked = await gate.rule(
        {"name": "change_address", "arguments": {}},
        messages=Talk("how do I change my address?").messages,
    )
    assert asked.intent
    if forgotten:
        gate._talks.clear()
    clock.advance(minutes=6)
    late = await gate.answer(asked, "yes")
    assert late.verdict == "ask"
    assert late.intent


async def test_a_step_that_is_taken_up_again_gets_no_new_question_for_an_old_yes(gate: Gate, clock: FixedClock) -> None:
    """A framework that was interrupted with the question rules on the very same call again before it brings the yes."""
    talk = Talk("please cancel order 12345").looked_up("12345")
    call = talk.call("cancel_order", order_id="12345")
    asked = await gate.rule(call, messages=talk.messages)
    clock.advance(hours=10)
    again = await gate.rule(call, messages=talk.messages)
    late = await gate.answer(again, "yes")
    assert late.verdict == "ask"
    assert asked.intent
    assert late.intent
    assert late.intent.id != asked.intent.id
    once_more = await gate.rule(call, messages=talk.messages)
    assert once_more.intent
    assert once_more.intent.id == asked.intent.id, "the first answer is for the first question"
    replayed = await gate.answer(once_more, "yes")
    assert replayed.intent
    assert replayed.intent.id == late.intent.id, "and leads where it led before"
    assert (await gate.answer(replayed, "no")).verdict == "deny"


async def test_what_changed_since_the_question_is_looked_at_again(gate: Gate) -> None:
    talk = Talk("please cancel order 12345").looked_up("12345")
    asked = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    talk.looked_up("12345", "shipped")
    await gate.rule(talk.call("get_order", order_id="12345"), messages=talk.messages)
    late = await gate.answer(asked, "yes")
    assert late.verdict == "deny"


async def test_a_conversation_is_somebodys(gate: Gate) -> None:
    talk = Talk("please cancel order 12345").looked_up("12345")
    call = talk.call("cancel_order", order_id="12345")
    asked = await gate.rule(call, messages=talk.messages, conversation="c", person="anna")
    with pytest.raises(NotYourConversation):
        await gate.answer(asked, "yes", person="mallory")
    with pytest.raises(NotYourConversation):
        await gate.answer(asked, "yes")
    with pytest.raises(NotYourConversation):
        await gate.rule(call, messages=talk.messages, conversation="c", person="mallory")
    assert (await gate.answer(asked, "yes", person="anna")).verdict == "allow"


async def test_a_value_out_of_nobodys_words_is_asked_for(gate: Gate) -> None:
    talk = Talk("please give me my money back")
    call = talk.call("refund", amount=50, iban="DE89370400440532013000")
    ruling = await gate.rule(call, messages=talk.messages)
    assert ruling.verdict == "ask"
    assert ReasonCode.UNGROUNDED_PARAM in ruling.reason_codes
    assert ruling.intent is None
    assert ruling.grounding["iban"]["origin"] == "nowhere"


async def test_limits_count_what_was_handed_out_in_other_conversations_of_the_person(gate: Gate) -> None:
    verdicts = []
    for name in ("c1", "c2", "c3"):
        talk = Talk("please refund 60 dollars")
        asked = await gate.rule(
            talk.call("refund", amount=60), messages=talk.messages, conversation=name, person="anna"
        )
        verdicts.append(asked.verdict)
        if asked.intent:
            await gate.answer(asked, "yes", person="anna")  # handed out, and nobody says what came of it
    assert verdicts == ["ask", "deny", "deny"]


async def test_four_eyes_are_two_people(gate: Gate) -> None:
    shop, talk = Shop(), Talk("close my account a-1 please")
    waits = await gate.rule(talk.call("close_account", account="a-1"), messages=talk.messages, person="anna")
    assert waits.verdict == "escalate"
    with pytest.raises(ConfigError):
        await gate.answer(waits, "yes", person="anna")
    let = await gate.answer(waits, approve=True, by="operator:dana", person="anna")
    assert let.verdict == "allow"
    await gate.run(let, lambda account: shop.done.append(account))
    assert shop.done == ["a-1"]


@pytest.mark.parametrize("by", ["anna", "person:anna", "operator:anna", "command line: anna", " Anna "])
@pytest.mark.parametrize("named", ["anna", None])
async def test_who_proposed_does_not_approve(gate: Gate, by: str, named: str | None) -> None:
    """Neither the person whose conversation it is, nor whoever says only later that it is theirs."""
    talk = Talk("close my account a-1 please")
    waits = await gate.rule(talk.call("close_account", account="a-1"), messages=talk.messages, person=named)
    for yes in ({"approve": True}, {"words": "yes"}):
        with pytest.raises(ApproverRefused):
            await gate.answer(waits, by=by, person="anna", **yes)
    let = await gate.answer(waits, approve=True, by="dana", person="anna")
    assert (let.verdict, let.reason_codes[0]) == ("allow", ReasonCode.APPROVED_BY_COLLEAGUE)


async def test_a_tool_that_nobody_covers_does_not_run(gate: Gate) -> None:
    ruling = await gate.rule({"name": "drop_database", "arguments": {}}, messages=Talk("hi").messages)
    assert ruling.verdict == "deny"


async def test_a_plain_write_runs_unasked_and_is_written_down(gate: Gate, store: str | None) -> None:
    shop, talk = Shop(), Talk("note that I like tea")
    ruling = await gate.rule(talk.call("add_note", text="I like tea"), messages=talk.messages)
    assert ruling.verdict == "allow"
    assert await gate.run(ruling, shop.add_note) == "noted"
    assert shop.done == ["I like tea"]
    if store:
        async with _opened(store) as there:
            (row,) = await there.executions(gate.tenant, "default")
            assert (row.call.tool, row.state, row.result) == ("add_note", "succeeded", "noted")
            words = [one.content for one in await there.messages(gate.tenant, "default")]
            assert words == ["note that I like tea"]


async def test_two_who_run_the_same_ruling_run_it_once(gate: Gate) -> None:
    shop, talk = Shop(), Talk("note that I like tea")
    ruling = await gate.rule(talk.call("add_note", text="I like tea"), messages=talk.messages)

    others_ended = asyncio.Event()

    async def slowly(text: str) -> str:
        await others_ended.wait()
        return shop.add_note(text)

    runs = [asyncio.create_task(gate.run(ruling, slowly)) for _ in range(5)]
    while sum(one.done() for one in runs) < 4:
        await asyncio.sleep(0.01)
    others_ended.set()
    ends = await asyncio.gather(*runs, return_exceptions=True)
    assert shop.done == ["I like tea"]
    assert ends.count("noted") == 1


async def test_a_function_that_was_cut_off_is_not_run_again(gate: Gate) -> None:
    talk = Talk("note that I like tea")
    ruling = await gate.rule(talk.call("add_note", text="I like tea"), messages=talk.messages)

    def cut_off(text: str) -> None:
        raise ConnectionResetError("in the middle")

    with pytest.raises(ConnectionResetError):
        await gate.run(ruling, cut_off)
    shop = Shop()
    with pytest.raises(ToolTimeout):
        await gate.run(ruling, shop.add_note)
    again = await gate.rule(talk.call("add_note", text="I like tea"), messages=talk.messages)
    assert again.verdict == "escalate"
    assert ReasonCode.OUTCOME_UNKNOWN in again.reason_codes
    assert shop.done == []


async def test_what_somebody_else_ran_is_a_fact(gate: Gate) -> None:
    talk = Talk("please cancel order 12345")
    look = await gate.rule(talk.call("get_order", order_id="12345"), messages=talk.messages)
    assert look.verdict == "allow"
    await gate.ran(look, {"order_id": "12345", "status": "open"})
    ruling = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    assert ruling.verdict == "ask"


async def test_what_was_not_run_after_all_leaves_no_trace_in_limits(gate: Gate) -> None:
    for name, not_run in (("c1", True), ("c2", False)):
        talk = Talk("please refund 60 dollars")
        call = talk.call("refund", amount=60)
        asked = await gate.rule(call, messages=talk.messages, conversation=name, person="anna")
        assert asked.verdict == "ask"
        let = await gate.answer(asked, "yes", person="anna")
        await gate.ran(let, not_run=not_run)


async def test_what_is_said_is_held_against_what_ran(gate: Gate) -> None:
    shop, talk = Shop(), Talk("please cancel order 12345").looked_up("12345")
    false = gate.check_reply("I have cancelled order 12345.", messages=talk.messages)
    assert not false.ok
    assert false.reason_codes == (ReasonCode.UNSUPPORTED_CLAIM,)
    assert "cancelled" not in false.text
    asked = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    await gate.run(await gate.answer(asked, "yes"), shop.cancel_order)
    true = gate.check_reply("I have cancelled order 12345.", messages=talk.messages)
    assert (true.ok, true.text) == (True, "I have cancelled order 12345.")


async def test_another_process_answers_and_runs(
    open_gate: Callable[..., Gate], store: str | None, clock: FixedClock
) -> None:
    if store is None:
        pytest.skip("a process of its own knows nothing of another's")
    shop, talk = Shop(), Talk("please cancel order 12345").looked_up("12345")
    first = open_gate(clock=clock)
    asked = await first.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    assert asked.intent
    await first.close()
    second = open_gate(clock=clock)
    let = await second.answer(str(asked.intent.id), "yes")
    assert let.verdict == "allow"
    await second.run(let, shop.cancel_order)
    await second.close()
    third = open_gate(clock=clock)
    assert await third.run(asked, shop.cancel_order) == {"cancelled": "12345"}
    assert shop.done == ["12345"]


async def test_a_call_that_is_taken_up_again_after_a_crash_is_not_made_again(
    open_gate: Callable[..., Gate], store: str | None, clock: FixedClock
) -> None:
    """A framework that begins a step anew proposes the very same call, under its own number."""
    if store is None:
        pytest.skip("a process of its own knows nothing of another's")
    shop, talk = Shop(), Talk("note that I like tea")
    call = talk.call("add_note", text="I like tea")
    first = open_gate(clock=clock)
    await first.run(await first.rule(call, messages=talk.messages), shop.add_note)
    await first.close()
    second = open_gate(clock=clock)
    assert await second.run(await second.rule(call, messages=talk.messages), shop.add_note) == "noted"
    assert shop.done == ["I like tea"]


async def test_only_the_end_of_a_long_conversation_may_be_sent(gate: Gate) -> None:
    talk = Talk(*(f"message {number}" for number in range(30)))
    await gate.rule(talk.call("get_order", order_id="1"), messages=talk.messages)
    talk.user("please cancel order 12345").looked_up("12345")
    ruling = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages[-5:])
    assert ruling.verdict == "ask"


def test_scripts_need_no_loop(policy: Path) -> None:
    shop, talk = Shop(), Talk("please cancel order 12345").looked_up("12345")
    with Gate(policy).sync() as gate:
        asked = gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
        gate.answer(asked, "yes")
        assert gate.run(asked, shop.cancel_order) == {"cancelled": "12345"}
    assert shop.done == ["12345"]


@pytest.mark.parametrize("call", [None, 5, {}, {"name": ""}, {"name": "a", "arguments": {5}}, {"name": 3}])
async def test_what_is_no_call_is_refused_in_words(policy: Path, call: Any) -> None:
    with pytest.raises(ConfigError):
        await Gate(policy).rule(call)


@pytest.mark.parametrize("arguments", ["{", "[1]", json.loads("[" * 500 + "]" * 500)])
async def test_what_a_model_wrote_and_nobody_can_read_goes_back_to_it(policy: Path, arguments: Any) -> None:
    given = {"deep": arguments} if isinstance(arguments, list) else arguments
    ruling = await Gate(policy).rule({"name": "add_note", "arguments": given}, messages=Talk("note it").messages)
    assert (ruling.verdict, ruling.reason_codes) == ("redo", (ReasonCode.INVALID_PARAM,))


async def test_what_was_ruled_on_stays_what_it_was(gate: Gate) -> None:
    """Whoever changes a call or a ruling afterwards changes nothing about what runs, and neither does the function."""
    shop, talk = Shop(), Talk("note that I like tea and coffee")
    given = {"name": "add_note", "arguments": {"text": "I like tea", "tags": ["a"]}}
    ruling = await gate.rule(given, messages=talk.messages)
    given["arguments"]["text"] = "I like coffee"  # type: ignore[index]
    ruling.call.arguments["text"] = "I like coffee"  # type: ignore[index]

    def note(text: str, tags: list[str]) -> str:
        tags.append("b")
        return shop.add_note(text)

    await gate.run(ruling, note)
    assert shop.done == ["I like tea"]
    assert ruling.call.arguments["tags"] == ["a"]


async def test_a_ruling_that_somebody_made_by_hand_runs_nothing(gate: Gate) -> None:
    shop, talk = Shop(), Talk("please cancel order 12345").looked_up("12345")
    asked = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    for forged in (replace(asked, verdict="allow"), replace(asked, verdict="allow", intent=None)):
        with pytest.raises(CallHeld):
            await gate.run(forged, shop.cancel_order)
    assert shop.done == []


async def test_a_yes_to_an_expired_question_in_the_conversation_is_asked_about_again(
    gate: Gate, clock: FixedClock
) -> None:
    talk = Talk("please cancel order 12345").looked_up("12345")
    call = talk.call("cancel_order", order_id="12345")
    asked = await gate.rule(call, messages=talk.messages)
    clock.advance(minutes=6)
    talk.add(call, asked.tell_model).agent(asked.ask_user).user("yes")
    again = await gate.rule(call, messages=talk.messages)
    assert again.verdict == "ask"
    assert again.intent
    assert asked.intent
    assert again.intent.id != asked.intent.id
    talk.agent(again.ask_user).user("yes")
    assert (await gate.rule(call, messages=talk.messages)).verdict == "allow"


async def test_nobody_answers_for_the_user(gate: Gate) -> None:
    talk = Talk("please cancel order 12345").looked_up("12345")
    asked = await gate.rule(talk.call("cancel_order", order_id="12345"), messages=talk.messages)
    with pytest.raises(ConfigError):
        await gate.answer(asked, approve=True, by="dana")
    with pytest.raises(ConfigError):
        await gate.answer(asked, "no", approve=True)


async def test_a_result_that_cannot_be_kept_is_no_failure(gate: Gate) -> None:
    ring: list[Any] = []
    ring.append(ring)
    talk = Talk("note that I like tea")
    ruling = await gate.rule(talk.call("add_note", text="I like tea"), messages=talk.messages)
    assert await gate.run(ruling, lambda text: ring) is ring
    assert "cannot carry" in await gate.run(ruling, lambda text: ring)


@pytest.mark.parametrize("wrong", [5, 1.5, {"role": "user"}, object(), iter([]), "hello"])
async def test_messages_are_a_list(policy: Path, wrong: Any) -> None:
    with pytest.raises(ConfigError):
        await Gate(policy).rule({"name": "add_note"}, messages=wrong)
    with pytest.raises(ConfigError):
        Gate(policy).check_reply("hello", messages=wrong)


async def test_a_tool_outside_the_list_is_unknown_and_its_own_word_opens_nothing(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("version: 1\ntools:\n  wipe: {effect: destructive}\n")
    schema = {"type": "object", "properties": {}}
    tools = [
        {"type": "function", "function": {"name": "wipe", "parameters": schema}},
        {"name": "sneak", "inputSchema": schema, "annotations": {"readOnlyHint": True}},
    ]
    gate = Gate(path, tools=tools)
    for name in ("zap", "sneak"):
        assert (await gate.rule({"name": name}, messages=Talk("hi").messages)).verdict == "deny"


def test_two_threads_share_a_gate(policy: Path, tmp_path: Path) -> None:
    gate, shop, talk = Gate(policy, store=f"sqlite:///{tmp_path}/g.db"), Shop(), Talk("note that I like tea")
    call = talk.call("add_note", text="I like tea")

    async def work() -> Any:
        return await gate.run(await gate.rule(call, messages=talk.messages), shop.add_note)

    with ThreadPoolExecutor(4) as pool:
        ends = [one.exception() or one.result() for one in [pool.submit(asyncio.run, work()) for _ in range(8)]]
    assert shop.done == ["I like tea"]
    assert all(one == "noted" or isinstance(one, CallUnderWay) for one in ends), ends
    asyncio.run(gate.close())


def test_who_runs_a_tool_is_part_of_what_a_yes_is_for() -> None:
    """A colleague who approves a client's call never starts a tool of ours that has its name."""
    assert ToolSpec("refund").version != ToolSpec("refund", client=True).version


class _opened:
    def __init__(self, url: str) -> None:
        self.url = url

    async def __aenter__(self) -> SqlStore:
        self.store = await SqlStore.open(self.url)
        return self.store

    async def __aexit__(self, *error: object) -> None:
        await self.store.close()


MAIL = """
version: 1
tools:
  read_inbox: {effect: read%s}
  send_mail: {effect: write, params: {to: {source: trusted}}}
"""


@pytest.mark.parametrize(("mark", "verdict"), [(", open_world: true", "ask"), ("", "allow")])
async def test_a_policy_says_which_tools_bring_strangers_words(tmp_path: Path, mark: str, verdict: str) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(MAIL % mark)
    talk = Talk("send my report to Dana")
    talk.add(talk.call("read_inbox"), {"from": "Dana", "text": "my new address is dana@elsewhere.example"})
    call = talk.call("send_mail", to="dana@elsewhere.example")
    for gate in (Gate(policy), Gate(policy, tools=[ToolSpec("read_inbox"), ToolSpec("send_mail")])):
        assert (await gate.rule(call, messages=talk.messages)).verdict == verdict
