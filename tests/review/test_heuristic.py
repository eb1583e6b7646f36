"""The heuristic controller: decides what is plainly there, abstains with the sentences to read, invents nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.review.conftest import IN_TIME, POLICY, RULE, case, document

from circumspect.reasons import ReasonCode
from circumspect.review.heuristic import heuristic
from circumspect.review.shelf import Shelf
from circumspect.review.values import Criterion, Field, ReviewCase


def test_the_last_day_of_a_period_is_in_time(plain_shelf: Shelf) -> None:
    result = heuristic(case(), IN_TIME, plain_shelf)
    assert (result.status, result.reason_code) == ("MET", None)
    assert [one.quote for one in result.citations] == [RULE]
    assert {one.field for one in result.evidence} == {"claim.submitted", "trip.last_day"}
    assert result.controller == "heuristic"
    assert result.calls == ()


def test_a_day_too_late_is_not_met_where_there_is_nothing_else(plain_shelf: Shelf) -> None:
    result = heuristic(case(claim__submitted="2026-04-06"), IN_TIME, plain_shelf)
    assert (result.status, result.reason_code) == ("NOT_MET", None)


@pytest.mark.parametrize("day", ["2026-04-05", "2026-04-06"])
def test_where_more_is_said_than_code_reads_the_rule_is_shown_and_not_applied(shelf: Shelf, day: str) -> None:
    result = heuristic(case(claim__submitted=day), IN_TIME, shelf)
    assert (result.status, result.reason_code) == ("UNCERTAIN", ReasonCode.EXCEPTION_POSSIBLE)
    assert result.citations[0].quote == RULE
    assert len(result.citations) > 1


def test_a_fact_that_is_absent_is_neither_yes_nor_no(plain_shelf: Shelf) -> None:
    result = heuristic(case(trip__last_day=None), IN_TIME, plain_shelf)
    assert (result.status, result.reason_code) == ("UNCERTAIN", ReasonCode.FACT_ABSENT)
    assert RULE in [one.quote for one in result.citations]


def test_with_nothing_to_go_by_it_says_so_and_shows_what_it_read(shelf: Shelf) -> None:
    result = heuristic(case(), Criterion("x", "The colour of the claim is pleasant."), shelf)
    assert (result.status, result.reason_code) == ("UNCERTAIN", ReasonCode.ABSTAINED)
    result = heuristic(case(), Criterion("x", "Zebras."), shelf)
    assert result.citations == ()


def test_a_criterion_that_says_what_is_not_to_be_is_left_to_a_reader(shelf: Shelf) -> None:
    negative = Criterion("x", "The claim was not submitted in time.", facts=IN_TIME.facts)
    result = heuristic(case(), negative, shelf)
    assert (result.status, result.reason_code) == ("UNCERTAIN", ReasonCode.ABSTAINED)
    assert result.citations


def test_a_heading_that_says_more_than_the_rule_leaves_it_open() -> None:
    text = f"# Handbook\n\n## 1 Examples\n\n{RULE}\n"
    assert heuristic(case(), IN_TIME, Shelf([document(text)])).status == "UNCERTAIN"


VALUES: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20) | st.dates().map(str)
)


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    st.text(max_size=60),
    st.dictionaries(st.sampled_from([*case().fields, "x.y", "0.1", "..."]), VALUES, min_size=1, max_size=6),
)
def test_whatever_the_case_and_the_criterion_quotes_and_facts_are_real(
    shelf: Shelf, text: str, facts: dict[str, Any]
) -> None:
    given_case = ReviewCase("c", {name: Field(value) for name, value in facts.items()})
    for criterion in (Criterion("k", text), Criterion("k", f"{IN_TIME.text} {text}", facts=IN_TIME.facts)):
        result = heuristic(given_case, criterion, shelf)
        for citation in result.citations:
            assert POLICY[citation.start : citation.end] == citation.quote
        for one in result.evidence:
            assert facts[one.field] == one.value
        assert result.status == "UNCERTAIN" or result.citations


@pytest.mark.parametrize("text", ["x", "# Only a title", "1 2 3 | 4", "No more than 5 days before.", "shall " * 50])
def test_odd_documents_do_no_harm(text: str) -> None:
    one = document(text, "odd.md")
    assert heuristic(case(), IN_TIME, Shelf([one])).status == "UNCERTAIN"
