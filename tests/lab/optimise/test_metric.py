"""C14: citation accuracy .4, reasoning coherence .3, calibration .2, status correctness .1, each computed in code."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circumspect.errors import ConfigError
from circumspect.lab.optimise.metric import (
    WEIGHTS,
    apply_metric,
    citation_accuracy,
    coherence,
    find_metric,
    review,
    score_unlabelled,
    weigh_parts,
)
from circumspect.lab.optimise.values import Example, GoldLabel, QuoteSpan, ReviewOutcome, outcome_of
from circumspect.review.case_files import read_case
from circumspect.review.values import Criterion

RULE = "A claim for a trip shall be submitted within 30 days after the last day of the trip."
OTHER = "A hotel bill is required for every night."
GOLD = QuoteSpan("handbook.md", 100, 100 + len(RULE), RULE)
ELSEWHERE = QuoteSpan("handbook.md", 500, 500 + len(OTHER), OTHER)
LABEL = GoldLabel("MET", (GOLD,), ("claim.submitted", "trip.last_day"), why="30 days after 6 March is 5 April.")
CASE = read_case({"id": "C", "facts": {"claim": {"submitted": "2026-04-05"}, "trip": {"last_day": "2026-03-06"}}}, "c")
EXAMPLE = Example(CASE, Criterion("K", "In time?"), LABEL)
PERFECT = ReviewOutcome(
    "MET", 1.0, "The last day was 2026-03-06, and the claim came 30 days after it.",
    (GOLD,), (RULE,), ("claim.submitted", "trip.last_day"), ("2026-04-05", "2026-03-06"),
    ("claim.submitted", "trip.last_day"), ("MET",), f"[handbook.md#1] Time limits\n{RULE}",
)  # fmt: skip


def test_the_weights_are_those_of_the_metric() -> None:
    assert WEIGHTS == {"citations": 0.4, "coherence": 0.3, "calibration": 0.2, "status": 0.1}


def test_everything_right_is_worth_one() -> None:
    score = review(EXAMPLE, PERFECT)
    assert score.parts == {"citations": 1.0, "coherence": 1.0, "calibration": 1.0, "status": 1.0}
    assert score.total == pytest.approx(1.0)
    assert score.feedback == "The verdict MET is right."


@pytest.mark.parametrize(
    ("worse", "part"),
    [
        ({"quotes": (ELSEWHERE,), "claimed": (OTHER,), "shown": OTHER}, "citations"),
        ({"quotes": (GOLD, ELSEWHERE), "claimed": (RULE, OTHER), "shown": RULE + OTHER}, "citations"),
        ({"claimed": (RULE, "Claims come roughly in a month")}, "citations"),
        ({"quotes": (), "claimed": ()}, "citations"),
        ({"shown": ""}, "coherence"),
        ({"proposed": ("NOT_MET", "MET")}, "coherence"),
        ({"fields": ("claim.submitted",)}, "coherence"),
        ({"claimed_fields": (*PERFECT.claimed_fields, "claim.colour")}, "coherence"),
        ({"rationale": "Fine."}, "coherence"),
        ({"rationale": f"{PERFECT.rationale} So it is NOT_MET."}, "coherence"),
        ({"confidence": 0.7}, "calibration"),
        ({"status": "NOT_MET", "proposed": ("NOT_MET",)}, "status"),
    ],
)
def test_each_fault_costs_where_it_belongs(worse: dict[str, Any], part: str) -> None:
    score = review(EXAMPLE, replace(PERFECT, **worse))
    assert score.parts[part] < 1
    assert score.total < 1


def test_made_up_quotes_cost_more_than_none_of_them() -> None:
    honest, invented = replace(PERFECT), replace(PERFECT, claimed=(RULE, "In all cases a month is quite enough time"))
    assert citation_accuracy(LABEL, invented) < citation_accuracy(LABEL, honest)


def test_half_of_the_deciding_sentence_is_worth_less_than_all_of_it() -> None:
    half = replace(GOLD, end=GOLD.start + len(RULE) // 2, quote=RULE[: len(RULE) // 2])
    assert citation_accuracy(LABEL, replace(PERFECT, quotes=(half,), claimed=(half.quote,))) == pytest.approx(2 / 3)


def test_a_quote_is_compared_as_it_is_searched() -> None:
    spaced = "“A  claim for a trip\nshall be submitted within 30 days after the last day of the trip.”"
    assert citation_accuracy(LABEL, replace(PERFECT, claimed=(spaced,))) == 1.0
    assert coherence(LABEL, replace(PERFECT, claimed=(spaced,))) == 1.0


def test_a_parent_names_the_facts_below_it() -> None:
    label = replace(LABEL, facts=("claim", "trip.last_day"))
    assert coherence(label, PERFECT) == 1.0


def test_calibration_is_best_for_who_says_what_is_so() -> None:
    """A proper score: over many verdicts of which 7 in 10 are right, no other confidence beats .7."""
    wrong = replace(PERFECT, status="NOT_MET")

    def expected(sure: float) -> float:
        each = [review(EXAMPLE, replace(one, confidence=sure)).parts["calibration"] for one in (PERFECT, wrong)]
        return 0.7 * each[0] + 0.3 * each[1]

    assert max((expected(sure / 100), sure) for sure in range(101))[1] == 70


@given(
    st.sampled_from(["MET", "NOT_MET", "UNCERTAIN"]),
    st.floats(0, 1),
    st.lists(st.sampled_from([GOLD, ELSEWHERE]), max_size=3),
    st.lists(st.sampled_from([RULE, OTHER, "Something else entirely"]), max_size=3),
    st.lists(st.sampled_from(["claim.submitted", "claim", "nothing"]), max_size=3),
)
def test_every_part_is_from_0_to_1(
    status: Any, sure: float, quotes: list[QuoteSpan], claimed: list[str], fields: list[str]
) -> None:
    outcome = ReviewOutcome(
        status, sure, "x", tuple(quotes), tuple(claimed), tuple(fields), (), tuple(fields), (status,), ""
    )
    score = review(EXAMPLE, outcome)
    assert all(0 <= value <= 1 for value in score.parts.values())
    assert score.total == pytest.approx(weigh_parts(score.parts))
    assert 0 <= score_unlabelled(outcome).total <= 1


def test_feedback_says_what_was_wrong_and_what_would_have_been_right() -> None:
    label = GoldLabel(
        "UNCERTAIN", (GOLD,), ("claim.submitted",), ("trip.last_day",), "Nobody says when.", "absent_fact"
    )
    outcome = ReviewOutcome("MET", 0.99, "Fine.", (ELSEWHERE,), (OTHER, "Roughly a month"), proposed=("MET",))
    said = review(replace(EXAMPLE, label=label), outcome).feedback
    for words in (
        "UNCERTAIN is right: Nobody says when.",
        "What makes it hard: absent fact",
        "does not say: trip.last_day",
        "not word for word: 'Roughly a month'",
        "The sentence that decides was not quoted",
        "not searched first",
        "not named as evidence: claim.submitted",
        "Confidence was 0.99 for a verdict that is wrong",
    ):
        assert words in said


def test_an_outcome_is_read_from_a_results_json_whatever_the_model_wrote_into_it() -> None:
    result = {
        "status": "UNCERTAIN", "confidence": 0.4, "rationale": "x", "citations": [], "reason_code": "LOW_CONFIDENCE",
        "evidence": [{"field": "a", "value": True}],
        "trace": [
            {"kind": "action", "tool": "policy_search", "arguments": {"query": "x"}},
            {"kind": "observation", "text": "shown before", "tool": "policy_search"},
            {"kind": "action", "tool": "finish", "arguments": {"citations": "none", "evidence": [1, {"field": "a"}]}},
            {"kind": "observation", "text": "shown after", "tool": "finish"},
            {"kind": "action", "tool": "finish", "arguments": {"status": "MET", "citations": [{"quote": "q"}, {}]}},
        ],
    }  # fmt: skip
    outcome = outcome_of(result)
    assert (outcome.shown, outcome.claimed, outcome.proposed) == ("shown before", ("q",), ("MET",))
    assert (outcome.claimed_fields, outcome.values) == (("a",), ("true",))


def test_any_metric_by_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_metrics.py").write_text("def sure(example, outcome):\n    return outcome.confidence\nnumber = 3\n")
    package = tmp_path / "own-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1\n")
    (package / "entry_points.txt").write_text("[circumspect.metrics]\nsureness = own_metrics:sure\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("own_metrics:sure", "sureness"):
        assert apply_metric(find_metric(name), EXAMPLE, PERFECT).total == 1.0
    for name, said in (("nobody", "No metric"), ("own_metrics:gone", "loaded"), ("own_metrics:number", "not a func")):
        with pytest.raises(ConfigError, match=said):
            find_metric(name)


@pytest.mark.parametrize("given", [math.nan, math.inf, -0.1, 1.5])
def test_a_metric_that_gives_no_score_is_told(given: float) -> None:
    with pytest.raises(ValueError, match="not from 0 to 1"):
        apply_metric(lambda example, outcome: given, EXAMPLE, PERFECT)
