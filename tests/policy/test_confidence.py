"""Composite confidence: the formula, and each factor by what can be seen (D3, D4)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.policy.understanding.confidence import (
    WEIGHTS,
    Bands,
    MessageContext,
    composite,
    context_completeness,
    query_complexity,
    slots,
    source_quality,
    tool_success_rate,
)
from circumspect.values import ConversationId, Execution, ExecutionId, TenantId, ToolCall, TurnId

NOW = datetime(2026, 3, 31, tzinfo=UTC)


class Page:
    def __init__(self, score: float, document: str = "prices.md") -> None:
        self.score, self.document = score, document


def ran(state: str) -> Execution:
    ids = (ExecutionId("e"), TenantId("t"), ConversationId("c"), TurnId("t1"))
    return Execution(*ids, ToolCall("book"), "write", "blind", state, "tok", NOW, NOW)  # type: ignore[arg-type]


def formula(source: float, complexity: float, context: float, tools: float, **kwargs) -> float:
    return composite((source, ""), (complexity, ""), (context, ""), (tools, ""), **kwargs).value


@pytest.mark.parametrize(
    ("what", "factors", "value", "band"),
    [
        # The figures given with these examples are .85, .65 and .52; the formula gives other sums, and the formula holds.
        ("a plan's price, found exactly", (0.95, 0.1, 0.8, 1.0), 0.905, "high"),
        ("a plan for a team, size unknown", (0.7, 0.4, 0.6, 1.0), 0.71, "medium"),
        ("a refund and damages", (0.6, 0.8, 0.5, 1.0), 0.57, "medium"),
    ],
)
def test_worked_examples(what, factors, value, band):
    assert formula(*factors) == pytest.approx(value), what
    assert Bands().of(formula(*factors)) == band


def test_contradicting_sources_halve_it_and_a_failed_search_leaves_seven_tenths():
    assert formula(1, 0, 1, 1) == 1.0
    assert formula(1, 0, 1, 1, conflict=True) == 0.5
    assert formula(1, 0, 1, 1, penalty=0.7) == 0.7


def test_the_weights_add_up_to_one():
    assert sum(WEIGHTS.values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("value", "band"), [(0.75, "high"), (0.7499, "medium"), (0.5, "medium"), (0.4999, "low"), (0, "low")]
)
def test_bands(value, band):
    assert Bands().of(value) == band


def test_bands_can_be_set():
    assert Bands(high=0.9, low=0.8).of(0.85) == "medium"


def test_every_factor_is_kept_with_its_weight_its_contribution_and_why():
    kept = composite((0.5, "half"), (0.2, "plain"), (0.4, "new"), (1.0, "none ran"), conflict=True)
    told = kept.to_record()
    assert [factor.name for factor in told.factors] == list(WEIGHTS)
    assert sum(factor.contribution for factor in told.factors) * 0.5 == pytest.approx(told.value)
    assert all(factor.why for factor in told.factors)
    assert kept.explain().startswith("0.32: sources contradict each other (halved); context_completeness 0.40")


@given(*(st.floats(0, 1) for _ in range(4)), st.booleans())
def test_it_stays_between_0_and_1_and_no_better_factor_makes_it_worse(source, complexity, context, tools, conflict):
    value = formula(source, complexity, context, tools, conflict=conflict)
    assert 0 <= value <= 1
    assert formula(1.0, complexity, context, tools, conflict=conflict) >= value
    assert formula(source, 0.0, context, tools, conflict=conflict) >= value
    assert formula(source, complexity, 1.0, tools, conflict=conflict) >= value
    assert formula(source, complexity, context, 1.0, conflict=conflict) >= value


# --- source quality ---------------------------------------------------------------------------------------------------


def test_the_best_passage_counts_on_a_scale_from_chance_to_about_it():
    assert source_quality([Page(0.4), Page(0.1)], needed=True)[0] == 1.0
    assert source_quality([Page(0.175)], needed=True)[0] == pytest.approx(0.5)
    assert source_quality([Page(0.05)], needed=True)[0] == 0.0
    assert source_quality([], needed=True)[0] == 0.0


def test_what_was_not_needed_did_not_fail():
    assert source_quality([], needed=False)[0] == 1.0


def test_a_document_of_less_authority_counts_for_less():
    weights = {"drafts/*": 0.5}
    assert source_quality([Page(0.4, "drafts/old.md")], needed=True, authority=weights)[0] == 0.5
    assert source_quality([Page(0.4, "drafts/old.md"), Page(0.4)], needed=True, authority=weights)[0] == 1.0


# --- query complexity -------------------------------------------------------------------------------------------------

PLAIN = [("en", "What's your pricing?"), ("ru", "Сколько стоит доставка?"), ("he", "כמה עולה משלוח?")]
MODERATE = [
    ("en", "How does your enterprise plan compare to competitors?"),
    ("ru", "Чем ваш тариф лучше других?"),
    ("he", "מה ההבדל בין שתי התוכניות שלכם?"),
]
HARD = [
    ("en", "Can you analyze my workflow and recommend optimization?"),
    ("ru", "Можете проанализировать мои процессы и порекомендовать, что улучшить?"),
    ("he", "אפשר לנתח את התהליכים שלי וגם להמליץ איך לשפר אותם?"),
]


@pytest.mark.parametrize(("language", "text"), PLAIN)
def test_a_plain_question_is_simple(language, text):
    assert query_complexity(text, language)[0] <= 0.1


@pytest.mark.parametrize(("language", "text"), MODERATE)
def test_a_comparison_is_moderate(language, text):
    assert 0.3 <= query_complexity(text, language)[0] <= 0.6


@pytest.mark.parametrize(("language", "text"), HARD)
def test_a_piece_of_work_is_complex(language, text):
    assert query_complexity(text, language)[0] >= 0.8


def test_length_clauses_and_further_questions_add_up_and_say_so():
    value, why = query_complexity("Where is it? When does it come? And who brings it, if nobody is in?", "en")
    assert value > 0.3
    assert "further questions" in why
    assert "joins" in why


@given(st.text(max_size=400), st.sampled_from(("en", "he", "ru")))
def test_complexity_stays_between_0_and_1(text, language):
    assert 0 <= query_complexity(text, language)[0] <= 1


# --- context, slots, tools --------------------------------------------------------------------------------------------


def test_context_runs_from_nothing_to_everything():
    assert context_completeness(MessageContext(clarity=0.0))[0] == 0.0
    assert context_completeness(MessageContext(clarity=1.0))[0] == 0.5
    assert context_completeness(MessageContext(clarity=1.0, exchanges=5, known=3))[0] == 1.0


def test_values_that_a_tool_still_needs_count_against_clarity():
    assert context_completeness(MessageContext(clarity=1.0, wanted=4, given=1))[0] == 0.125
    assert context_completeness(MessageContext(clarity=1.0, wanted=4, given=4))[0] == 0.5


def test_only_values_that_code_can_see_are_counted():
    tool = {"email": {}, "order_id": {}, "amount": {"type": "number"}, "name": {}, "date": {}}
    assert slots([tool], "send it, please", {}) == (3, 0)
    assert slots([tool], "to a@b.example", {}) == (3, 1)
    assert slots([tool], "order 12", {"email": "a@b.example"}) == (3, 3)
    assert slots([], "anything", {}) == (0, 0)


def test_tools_that_failed_or_left_no_trace_did_not_succeed():
    assert tool_success_rate([])[0] == 1.0
    assert tool_success_rate([ran("started"), ran("delegated")])[0] == 1.0
    assert tool_success_rate([ran("succeeded"), ran("failed"), ran("indeterminate"), ran("succeeded")])[0] == 0.5
