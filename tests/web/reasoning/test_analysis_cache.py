"""An analysis is asked for once: for the same person, the same words and the same page, where the model was sure."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.web.reasoning.thinking import LOGIN, NEW_PATIENT, Shelf, analysis, by_purpose, complete, judgement, screened

from circumspect.errors import ModelUnavailable
from circumspect.journal import Journal
from circumspect.models.scripted import ScriptedModel
from circumspect.values import ConversationId, TenantId
from circumspect.web.model_pair import ModelPair
from circumspect.web.reasoning.analysis_cache import AnalysisCache
from circumspect.web.reasoning.reason import reason
from circumspect.web.reasoning.reasoned import Reasoned, Reasoning


class Desk:
    """One cache and one model, asked again and again."""

    def __init__(self, reply=None, **options):
        self.smart = by_purpose(analyse=reply or analysis(), evaluate=judgement(), verify=complete())
        self.fast = ScriptedModel(lambda _: analysis(), name="fast")
        self.cache = AnalysisCache(**options)

    async def ask(self, text="Sign me in", page=LOGIN, knowledge="", history=(), **who) -> tuple[Reasoned, Journal]:
        said = screened(text, history)
        said = replace(said, incoming=replace(said.incoming, **{"person": "maya", **who}))
        notes, pair = Journal(), ModelPair(self.smart, self.fast)
        return await reason(said, page, knowledge, Reasoning(), notes, pair, Shelf(), self.cache), notes

    @property
    def analyses(self) -> int:
        return sum(request.purpose == "analyse" for request in self.smart.requests)


async def test_the_second_time_costs_no_model_call_and_comes_to_the_same():
    desk = Desk()
    first, _ = await desk.ask(conversation=ConversationId("one"))
    calls = len(desk.smart.requests)
    second, notes = await desk.ask(conversation=ConversationId("two"))
    assert (desk.analyses, calls, len(desk.smart.requests)) == (1, 1, 1)
    assert (second.analysis, second.source, second.ends) == (first.analysis, first.source, first.ends)
    assert notes.usage("adaptive").calls == ()
    assert any("as before" in one.content for one in notes.entries)


@pytest.mark.parametrize(
    "other",
    [
        {"tenant": TenantId("another")},
        {"person": "dan"},
        {"person": None},
        {"text": "Sign me out"},
        {"page": NEW_PATIENT},
        {"page": None},
        {"knowledge": "The password is changed by the front desk."},
        {"history": ("Which one?",)},
    ],
)
async def test_anything_else_is_another_request(other):
    desk = Desk()
    await desk.ask()
    await desk.ask(**other)
    assert desk.analyses == 2


async def test_who_is_not_known_shares_with_nobody_else_who_is_not():
    desk = Desk()
    await desk.ask(person=None, conversation=ConversationId("one"))
    await desk.ask(person=None, conversation=ConversationId("two"))
    assert desk.analyses == 2
    await desk.ask(person=None, conversation=ConversationId("two"))
    assert desk.analyses == 2


async def test_a_person_who_is_called_like_a_conversation_is_not_that_conversation():
    desk = Desk()
    await desk.ask(person=None, conversation=ConversationId("maya"))
    await desk.ask(person="maya")
    assert desk.analyses == 2


@pytest.mark.parametrize("unsure", [analysis(confidence=0.55), analysis(confidence="very"), "no form at all"])
async def test_what_the_model_was_not_sure_of_or_nobody_could_read_is_asked_again(unsure):
    desk = Desk(unsure)
    await desk.ask()
    await desk.ask()
    assert (desk.analyses, len(desk.cache)) == (2, 0)


async def test_what_the_fast_model_thought_for_the_smart_one_is_asked_again():
    desk = Desk(ModelUnavailable("The smart model is gone."))
    done, _ = await desk.ask()
    assert done.degraded
    assert len(desk.cache) == 0


async def test_it_is_kept_for_a_while_and_the_oldest_goes_first():
    now = [0.0]
    desk = Desk(seconds=60.0, most=2, now=lambda: now[0])
    for text in ("one", "two", "three", "three"):
        await desk.ask(text)
    assert (desk.analyses, len(desk.cache)) == (3, 2)
    now[0] = 61.0
    await desk.ask("three")
    assert desk.analyses == 4
