"""Models that fail, answer garbage or are replaced; searches that fail; and what may still go on (R8, R9)."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.web.reasoning.thinking import (
    DOWN,
    LOGIN,
    Shelf,
    analysis,
    by_purpose,
    complete,
    judgement,
    missing,
    reasoned,
)

from circumspect.errors import ModelGarbled, ModelRefused, ModelUnavailable
from circumspect.models.scripted import ScriptedModel

GONE = ModelUnavailable("down")
READS = {"changes_something": False}


def broken(name: str = "broken") -> ScriptedModel:
    return ScriptedModel(lambda _: GONE, name=name)


# --- analysis -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [GONE, ModelRefused("no"), ModelGarbled("?"), "not json at all", '{"source": 7}', ""])
async def test_without_an_analysis_the_documents_are_searched_for_the_users_words_once(said):
    thinking = await reasoned(
        "How do I add a patient?",
        smart=by_purpose(
            analyse=said,
            evaluate=judgement(False, 0.4, should_retry=True, refined_query="x"),
            verify=complete(True, 0.8),
        ),
        fast=ScriptedModel(lambda _: said if isinstance(said, Exception) else "?", name="fast"),
    )
    assert thinking.shelf.queries == ["How do I add a patient?"]
    assert thinking.reasoned.analysis.confidence == 0.5
    assert not thinking.asked
    assert thinking.codes & {"ANALYSIS_FAILED", "ANALYSIS_UNREADABLE"}


async def test_an_analysis_with_an_unreadable_confidence_counts_as_a_half():
    thinking = await reasoned(analyse=analysis("PAGE", "very sure"), evaluate=judgement(), verify=complete(True, 0.9))
    assert thinking.reasoned.analysis.confidence == 0.5
    assert len(thinking.shelf.queries) == 1
    assert "CONFIDENCE_UNREADABLE" in thinking.codes


async def test_a_confidence_on_another_scale_does_not_go_straight_on():
    thinking = await reasoned(analyse=analysis("PAGE", 95), verify=complete(False, 0.9))
    assert thinking.reasoned.analysis.confidence == 0.95
    assert thinking.asked
    assert [request.purpose for request in thinking.smart.requests] == ["analyse", "verify"]


async def test_when_no_model_answers_at_all_the_user_is_asked():
    thinking = await reasoned("Delete the patient", smart=broken(), fast=broken())
    assert thinking.asked
    assert thinking.reasoned.unverified
    assert thinking.reasoned.question
    assert {"ANALYSIS_FAILED", "VERIFICATION_UNAVAILABLE"} <= thinking.codes


# --- searches -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("no_search", [True, False])
async def test_a_failed_search_goes_on_with_no_results(no_search):
    thinking = await reasoned(
        analyse=analysis("WEB_SEARCH", 0.9),
        verify=complete(True, 0.8),
        shelf=Shelf([DOWN]),
        no_search=no_search,
    )
    assert not thinking.asked
    assert [request.purpose for request in thinking.smart.requests] == ["analyse", "verify"]
    assert thinking.reasoned.hops[0].failed
    assert "(nothing was found)" in thinking.smart.requests[-1].system
    assert "SEARCH_FAILED" in thinking.codes


async def test_a_verification_search_that_fails_leaves_it_to_the_last_check():
    thinking = await reasoned(analyse=analysis("PAGE", 0.8), verify=complete(False, 0.9), shelf=Shelf([DOWN]))
    assert thinking.asked


async def test_results_that_nobody_can_judge_still_reach_the_last_check():
    thinking = await reasoned(analyse=analysis("WEB_SEARCH", 0.9), evaluate=GONE, fast=broken(), verify=complete())
    assert not thinking.asked
    assert thinking.reasoned.hops[0].judgement is None
    assert "Choose New patient" in thinking.smart.requests[-1].system


# --- the last check -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [GONE, "gibberish", '{"confidence": 1}'])
async def test_unchecked_it_may_read(said):
    thinking = await reasoned(
        "Where is the report?",
        analyse=analysis("WEB_SEARCH", 0.9, **READS),
        evaluate=judgement(),
        verify=said,
        fast=broken(),
    )
    assert not thinking.asked
    assert thinking.reasoned.unverified
    assert "VERIFICATION_UNAVAILABLE" in thinking.codes


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("Send the report", {"changes_something": True}),
        ("Send the report", {"changes_something": "?"}),
        ("Please delete my account", READS),
        ("Where is the report?", {**READS, "missing_info": missing("phone") + missing("way", private=False)}),
    ],
)
async def test_unchecked_it_never_changes_anything_nor_goes_on_without_what_lacks(text, fields):
    thinking = await reasoned(
        text, analyse=analysis("WEB_SEARCH", 0.9, **fields), evaluate=judgement(), verify=GONE, fast=broken()
    )
    assert thinking.asked
    assert thinking.reasoned.unverified


async def test_unchecked_it_never_goes_on_from_a_guess():
    thinking = await reasoned(
        "Where is it?", analyse=analysis("MEMORY", 0.49, **READS), evaluate=judgement(), verify=GONE, fast=broken()
    )
    assert thinking.asked


# --- the fast model thinks ------------------------------------------------------------------------------------------


async def test_the_fast_model_thinks_with_a_lower_threshold_and_it_is_said_so():
    fast = by_purpose(
        analyse=analysis("WEB_SEARCH", 0.6),
        evaluate=judgement(False, 0.4, should_retry=True, refined_query="b"),
        verify=complete(),
    )
    thinking = await reasoned(smart=broken(), fast=fast)
    assert thinking.reasoned.degraded
    assert thinking.shelf.queries == ["how to register a new patient", "b"]
    assert "REASONING_DEGRADED" in thinking.codes
    assert thinking.reasoned.smart.fallbacks == thinking.reasoned.smart.calls
    smart = await reasoned(smart=fast, fast=broken())
    assert not smart.reasoned.degraded
    assert len(smart.shelf.queries) == 1


async def test_the_smart_models_fallback_thinks_as_well_as_it():
    thinking = await reasoned(smart=broken(), fallback=by_purpose(analyse=analysis("PAGE", 0.95)), fast=broken())
    assert not thinking.reasoned.degraded
    assert thinking.reasoned.smart.fallbacks == 1


async def test_a_summary_nobody_writes_is_made_of_titles():
    thinking = await reasoned(
        smart=by_purpose(
            analyse=analysis("WEB_SEARCH", 0.9), evaluate=judgement(), verify=complete(False), summarise=GONE
        ),
        fast=broken(),
    )
    assert thinking.reasoned.summary == "Registering patients"


# --- whatever the models say ----------------------------------------------------------------------------------------

CONFIDENCES = st.floats(-1, 2) | st.sampled_from((0.5, 0.6, 0.7, 0.9, "?", None))
SOURCES = st.sampled_from(("MEMORY", "PAGE", "KNOWLEDGE", "WEB_SEARCH", "ASK_USER", "?"))
GAPS = st.sampled_from(
    ([], missing("phone"), missing("way", private=False), missing("dob") + missing("x", private=False))
)
ANALYSES = st.builds(lambda where, sure, gaps, changes: analysis(where, sure, missing_info=gaps, changes_something=changes),
                     SOURCES, CONFIDENCES, GAPS, st.booleans())  # fmt: skip
JUDGEMENTS = st.builds(lambda solved, sure, again, query, asks: judgement(solved, sure, should_retry=again,
                       refined_query=query, should_ask_user=asks), st.booleans(), CONFIDENCES, st.booleans(),
                       st.sampled_from(("a", "b", "A!", "c d", "d c", "")), st.booleans())  # fmt: skip
CHECKS = st.builds(complete, st.booleans(), CONFIDENCES)
BROKEN = st.sampled_from((GONE, "garbage"))


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    ANALYSES | BROKEN,
    st.lists(JUDGEMENTS | BROKEN, min_size=1, max_size=5),
    st.lists(CHECKS | BROKEN, min_size=1, max_size=2),
    st.booleans(),
    st.booleans(),
)
async def test_nothing_under_a_half_goes_on_and_no_more_than_three_searches_are_made(
    analyse, evaluate, verify, degraded, page
):
    model = by_purpose(analyse=analyse, evaluate=evaluate, verify=verify)
    thinking = await reasoned(
        smart=broken() if degraded else model, fast=model if degraded else broken(), page=LOGIN if page else None
    )
    found = thinking.reasoned
    assert len(thinking.shelf.queries) <= 3
    assert len({tuple(sorted(one.lower().strip("!").split())) for one in thinking.shelf.queries}) == len(
        thinking.shelf.queries
    )
    assert len(found.hops) == len(thinking.shelf.queries)
    if found.ends is None:
        assert found.confidence >= 0.5
        assert found.completeness is None or (found.completeness.can_proceed and found.completeness.confidence >= 0.6)
        assert not (found.unverified and found.changes_something)
    else:
        assert found.question
    json.dumps(thinking.notes.entries[-1].meta)
