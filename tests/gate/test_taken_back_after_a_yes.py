"""What was let through and not run yet is the user's to take back: by a no to the question, or in the conversation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.gate.talks import Talk

from circumspect import CallHeld, Gate, Ruling
from circumspect.clock import FixedClock
from circumspect.errors import ConversationBusy
from circumspect.reasons import ReasonCode
from circumspect.stores.gate_book import SqlBook, _void

NOES = [
    ({"words": "no"}, ReasonCode.DENIED_BY_USER),
    ({"words": "no wait, forget it"}, None),
    ({"approve": False}, ReasonCode.DENIED_BY_USER),
    ({"words": "wait, the other one"}, ReasonCode.WISH_TAKEN_BACK),
]


@pytest.fixture
def gate(open_gate: Callable[..., Gate], clock: FixedClock) -> Gate:
    return open_gate(clock=clock)


def wish_for_cancelling() -> Talk:
    return Talk("please cancel order 12345").looked_up("12345")


async def rule(gate: Gate, talk: Talk, order: str = "12345") -> Ruling:
    call = talk.call("cancel_order", order_id=order)
    return await gate.rule(call, messages=talk.messages, person="p1")


async def let_through(gate: Gate, talk: Talk) -> tuple[Ruling, Ruling]:
    asked = await rule(gate, talk)
    let = await gate.answer(asked, "yes", person="p1")
    assert let.allowed
    return asked, let


def never(order_id: str) -> None:
    raise AssertionError(f"order {order_id} was cancelled")


@pytest.mark.parametrize(("no", "reason"), NOES)
async def test_a_no_after_the_yes_voids_it(
    gate: Gate, store: str | None, clock: FixedClock, no: dict[str, Any], reason: ReasonCode | None
) -> None:
    talk = wish_for_cancelling()
    asked, let = await let_through(gate, talk)
    clock.advance(seconds=1)
    for answer in (no, no, {"words": "yes"}, {"approve": True}):
        denied = await gate.answer(asked, person="p1", **answer)
        assert denied.verdict == "deny"
        assert denied.reason_codes[0] in ((reason,) if reason else (ReasonCode.DENIED_BY_USER, "WISH_TAKEN_BACK"))
        assert denied.tell_model.startswith("NOT RUN")
    for _ in range(2):
        assert (await rule(gate, talk)).verdict == "deny"
    for one in (asked, let, denied):
        with pytest.raises(CallHeld, match="NOT RUN"):
            await gate.run(one, never)
    if store:
        for one in (asked, let):
            found = await gate.find(one.id, person="p1")
            assert found
            assert (found.verdict, found.state) == ("deny", None)


async def test_a_call_that_was_taken_back_stays_so_until_it_is_wanted_anew(gate: Gate, clock: FixedClock) -> None:
    talk = wish_for_cancelling()
    asked, let = await let_through(gate, talk)
    denied = await gate.answer(asked, "no", person="p1")
    clock.advance(seconds=1)
    talk.agent("All right, it stays.").user("thank you")
    assert (await rule(gate, talk)).verdict == "deny"
    assert await gate.ran(denied, not_run=True) == "failed"
    clock.advance(seconds=1)
    assert (await gate.answer(asked, "yes", person="p1")).verdict == "deny", "the old question is over"
    talk.agent("Can I do anything else?").user("yes: please cancel order 12345 after all")
    anew = await rule(gate, talk)
    assert anew.verdict == "ask"
    assert anew.intent
    again = await gate.answer(anew, "yes", person="p1")
    assert again.allowed
    assert again.execution != let.execution


async def test_a_no_that_came_too_late_says_what_became_of_the_call(gate: Gate) -> None:
    talk = wish_for_cancelling()
    asked, let = await let_through(gate, talk)
    await gate.ran(let, {"cancelled": "12345"})
    late = await gate.answer(asked, "no", person="p1")
    assert (late.verdict, late.state, late.outcome) == ("deny", "succeeded", {"cancelled": "12345"})
    assert "NOT RUN again" in late.tell_model


async def test_what_was_taken_back_and_had_run_all_the_same_is_written_down(gate: Gate) -> None:
    talk = wish_for_cancelling()
    asked, let = await let_through(gate, talk)
    await gate.answer(asked, "no", person="p1")
    assert await gate.ran(let, {"cancelled": "12345"}) == "succeeded"
    for answer in ("no", "yes"):
        late = await gate.answer(asked, answer, person="p1")
        assert (late.verdict, late.state, late.outcome) == ("deny", "succeeded", {"cancelled": "12345"})


async def test_what_somebody_has_just_begun_to_run_is_not_voided_beneath_them(gate: Gate, store: str | None) -> None:
    if store is None:
        pytest.skip("in one process nobody comes between")
    talk = wish_for_cancelling()
    asked, let = await let_through(gate, talk)
    book = await gate._open()
    assert isinstance(book, SqlBook)
    seen = await book.recall(gate.tenant, let.id)
    assert seen
    assert seen.execution
    taken = await book.take(gate.tenant, let.execution, None, "tok", 60)
    assert taken
    assert taken.yours
    with pytest.raises(ConversationBusy):
        await book._store.tx(_void, replace(seen.execution, reason=ReasonCode.DENIED_BY_USER))
    late = await gate.answer(asked, "no", person="p1")
    assert (late.verdict, late.state) == ("deny", "started")


async def test_a_colleagues_no_takes_back_a_colleagues_yes(gate: Gate) -> None:
    talk = Talk("close my account a-1 please")
    call = talk.call("close_account", account="a-1")
    waits = await gate.rule(call, messages=talk.messages, person="p1")
    assert waits.intent
    assert (await gate.answer(waits, approve=True, by="operator:dana", person="p1")).allowed
    denied = await gate.answer(waits, approve=False, by="operator:noa", person="p1")
    assert (denied.verdict, denied.reason_codes) == ("deny", (ReasonCode.DENIED_BY_COLLEAGUE,))
    again = await gate.rule(call, messages=talk.messages, person="p1")
    assert (again.verdict, again.reason_codes) == ("deny", (ReasonCode.DENIED_BY_COLLEAGUE,))


def say_at_once(talk: Talk, question: str) -> None:
    talk.user("no")


def say_after_small_talk(talk: Talk, question: str) -> None:
    talk.agent("One moment.").user("no")


def say_below_the_question(talk: Talk, question: str) -> None:
    talk.agent(question).user("no")


@pytest.mark.parametrize("say_no", [say_at_once, say_after_small_talk, say_below_the_question])
@pytest.mark.parametrize("another_first", [False, True])
async def test_a_bare_no_in_the_conversation_takes_the_yes_back(
    gate: Gate, clock: FixedClock, say_no: Callable[[Talk, str], None], another_first: bool
) -> None:
    talk = wish_for_cancelling()
    asked, let = await let_through(gate, talk)
    clock.advance(seconds=1)
    say_no(talk, asked.ask_user)
    if another_first:  # the no was heard with another call, perhaps by another process
        await gate.rule(talk.call("get_order", order_id="12345"), messages=talk.messages, person="p1")
        gate._talks.clear()
        with pytest.raises(CallHeld, match="took it back"):
            await gate.run(let, never)
    again = await rule(gate, talk)
    assert (again.verdict, again.reason_codes) == ("deny", (ReasonCode.WISH_TAKEN_BACK,))


async def test_a_bare_no_after_a_yes_in_the_conversation_takes_it_back(gate: Gate, clock: FixedClock) -> None:
    talk = wish_for_cancelling()
    asked = await rule(gate, talk)
    talk.agent(asked.ask_user).user("yes")
    assert (await rule(gate, talk)).allowed
    clock.advance(seconds=1)
    talk.user("no")
    assert (await rule(gate, talk)).reason_codes == (ReasonCode.WISH_TAKEN_BACK,)


async def test_a_no_to_another_question_takes_nothing_back(gate: Gate, clock: FixedClock) -> None:
    talk = wish_for_cancelling()
    _, let = await let_through(gate, talk)
    clock.advance(seconds=1)
    talk.agent("It is being cancelled. Would you like our newsletter?").user("no")
    again = await rule(gate, talk)
    assert (again.verdict, again.execution) == ("allow", let.execution)


async def test_a_no_that_may_be_for_a_question_that_waits_takes_nothing_back(gate: Gate, clock: FixedClock) -> None:
    talk = Talk("please cancel order 12345 and 777").looked_up("12345").looked_up("777")
    _, let = await let_through(gate, talk)
    other = await rule(gate, talk, "777")
    assert other.intent
    clock.advance(seconds=1)
    talk.user("no")
    again = await rule(gate, talk)
    assert (again.verdict, again.execution) == ("allow", let.execution)


async def test_another_users_bare_no_in_a_group_takes_nothing_back(gate: Gate, clock: FixedClock) -> None:
    talk = wish_for_cancelling()
    talk.messages[0]["name"] = "alice"
    _, let = await let_through(gate, talk)
    clock.advance(seconds=1)
    for _ in range(2):
        talk.user("no").messages[-1]["name"] = "bob"
        again = await rule(gate, talk)
        assert (again.verdict, again.execution) == ("allow", let.execution)
    talk.user("no").messages[-1]["name"] = "alice"
    assert (await rule(gate, talk)).verdict == "deny"
