"""A model that wants too much at once gets nothing, and nothing is looked at more often than it pays."""

from dataclasses import replace

import pytest

from circumspect import Agent, tool
from circumspect.journal import DraftEvent, find_events
from circumspect.models.scripted import ScriptedModel, says
from circumspect.policy.load import load
from circumspect.profiles import PROFILES
from circumspect.reasons import ReasonCode
from circumspect.values import ModelReply, ModelUsage, ToolCall

POLICY = """
version: 1
tools:
  add_note: {effect: write, confirm: never}
  look_up: {effect: read}
"""


def propose(*calls, mode="standard"):
    if mode == "adaptive":
        first = calls[0]
        return replace(
            ModelReply(says("", tool=first.tool, params=first.arguments), ModelUsage("scripted")), calls=calls
        )
    return ModelReply("", ModelUsage("scripted"), calls)


def notes(count):
    return tuple(ToolCall("add_note", {"text": f"note {number}"}, f"call_{number}") for number in range(count))


@pytest.fixture
def written():
    return []


@pytest.fixture
def make(written, tmp_path):
    @tool(effect="write")
    async def add_note(text: str) -> str:
        """Write a note."""
        written.append(text)
        return "written"

    @tool(effect="read")
    async def look_up(text: str) -> str:
        """Look something up."""
        return "found"

    def agent(*replies, **options):
        options = {"mode": "standard", "policy": load(POLICY), "database": tmp_path / "calls.db", **options}
        return Agent("shop", tools=[add_note, look_up], model=ScriptedModel(replies), **options)

    return agent


@pytest.mark.parametrize("mode", ["standard", "adaptive"])
async def test_of_five_hundred_calls_none_runs_and_none_is_ruled_on(make, written, mode):
    async with make(propose(*notes(500), mode=mode), mode=mode) as agent:
        turn = await agent.turn("write it all down")
    assert (turn.outcome, written) == ("escalated", [])
    assert ReasonCode.TOO_MANY_CALLS in turn.reason_codes
    assert [entry for entry in turn.entries if entry.kind == "policy"] == []
    assert any("wants 500 calls at once" in entry.content for entry in turn.entries)
    for drafted in find_events(turn.entries, DraftEvent):
        assert len(drafted.calls) == PROFILES["standard"].calls + 1, "the others are not even written down"


async def test_as_many_as_a_turn_may_make_run(make, written):
    async with make(propose(*notes(5)), "Written down.") as agent:
        await agent.turn("write it down")
    assert len(written) == 5


async def test_what_ran_before_in_the_turn_counts(make, written):
    more = tuple(ToolCall("add_note", {"text": f"more {number}"}) for number in range(3))
    async with make(propose(*notes(3)), propose(*more)) as agent:
        turn = await agent.turn("write it down")
    assert (turn.outcome, len(written)) == ("escalated", 3)
    assert ReasonCode.TOO_MANY_CALLS in turn.reason_codes


async def test_reading_is_bounded_too(make):
    reads = tuple(ToolCall("look_up", {"text": str(number)}) for number in range(26))
    async with make(propose(*reads)) as agent:
        assert ReasonCode.TOO_MANY_CALLS in (await agent.turn("look it all up")).reason_codes


async def test_the_same_call_twice_in_one_answer_runs_once(make, written):
    same = (ToolCall("add_note", {"text": "once"}, "a"), ToolCall("add_note", {"text": "once"}, "b"))
    async with make(propose(*same), "Written down.") as agent:
        await agent.turn("write it down")
    assert written == ["once"]


async def test_the_bounds_are_settings(make, written):
    profiles = {"standard": replace(PROFILES["standard"], changes=1)}
    async with make(propose(*notes(2)), profiles=profiles) as agent:
        await agent.turn("write it down")
    assert written == []


CONFIRMED = """
version: 1
tools:
  add_note: {effect: write, confirm: always}
"""


@pytest.mark.parametrize("mode", ["standard", "adaptive"])
async def test_each_call_of_a_draft_gets_a_question_of_its_own(make, written, mode):
    opinions = ['{"decision": "PROCEED", "reasoning": "", "message": ""}'] * 3 if mode == "adaptive" else []
    agent = make(propose(*notes(3), mode=mode), *opinions, mode=mode, policy=load(CONFIRMED))
    async with agent:
        for number in range(3):
            turn = await agent.turn("note 0, note 1 and note 2" if not number else "yes", conversation="c")
            assert turn.pending
            assert turn.pending.call.arguments == {"text": f"note {number}"}
            assert written == [f"note {one}" for one in range(number)]
        turn = await agent.turn("yes", conversation="c")
        assert turn.outcome == "acted"
        assert turn.pending is None
        assert written == ["note 0", "note 1", "note 2"]


async def test_after_a_no_nothing_else_of_the_draft_is_asked_about(make, written):
    async with make(propose(*notes(2)), policy=load(CONFIRMED)) as agent:
        await agent.turn("note 0 and note 1", conversation="c")
        turn = await agent.turn("no", conversation="c")
        assert turn.pending is None
        assert not written


async def test_the_next_question_is_about_the_next_call_however_many_the_draft_had(make, written):
    profiles = {"standard": replace(PROFILES["standard"], changes=20)}
    words = " and ".join(f"note {number}" for number in range(20))
    async with make(propose(*notes(20)), profiles=profiles, policy=load(CONFIRMED)) as agent:
        await agent.turn(words, conversation="c")
        turn = await agent.turn("yes", conversation="c")
        assert turn.pending
        assert turn.pending.call.arguments == {"text": "note 1"}
        assert written == ["note 0"]
