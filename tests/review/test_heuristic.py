"""The heuristic controller: decides what is plainly there, abstains with the sentences to read, invents nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.review.conftest import IN_TIME, POLICY, RULE, case, document

from circumspect.reasons import ReasonCode
from circumspect.review.case_files import read_case
from circumspect.review.heuristic import heuristic
from circumspect.review.shelf import Shelf
from circumspect.review.values import Criterion, Field, ReviewCase


def test_the_last_day_of_a_period_is_in_time(shelf: Shelf) -> None:
    result = heuristic(case(), IN_TIME, shelf)
    assert (result.status, result.reason_code) == ("MET", None)
    assert [one.quote for one in result.citations] == [RULE]
    assert {one.field for one in result.evidence} == {"claim.submitted", "trip.last_day"}
    assert result.controller == "heuristic"
    assert result.calls == ()


def test_a_day_too_late_is_left_open_where_an_exception_refers_to_the_rule(shelf: Shelf) -> None:
    result = heuristic(case(claim__submitted="2026-04-06"), IN_TIME, shelf)
    assert (result.status, result.reason_code) == ("UNCERTAIN", ReasonCode.EXCEPTION_POSSIBLE)
    assert "sick leave" in result.citations[1].quote


def test_a_day_too_late_is_not_met_where_there_is_no_exception() -> None:
    plain = Shelf([document(POLICY[: POLICY.index("### 1.3")])])
    result = heuristic(case(claim__submitted="2026-04-06"), IN_TIME, plain)
    assert (result.status, result.reason_code) == ("NOT_MET", None)


def test_a_fact_that_is_absent_is_neither_yes_nor_no(shelf: Shelf) -> None:
    result = heuristic(case(trip__last_day=None), IN_TIME, shelf)
    assert (result.status, result.reason_code) == ("UNCERTAIN", ReasonCode.FACT_ABSENT)
    assert RULE in [one.quote for one in result.citations]


def test_a_rule_with_a_condition_nobody_looked_at_is_not_met_by_its_number_alone() -> None:
    text = "# Rules\n\n## Screening\n\nA request shall include a negative screening result from a sample taken no more than 365 days before the request is received.\n"
    criterion = Criterion("s", "The screening is recent enough.", facts=("screening", "request.received"))
    facts = {"screening": {"sample_taken_on": "2026-01-01"}, "request": {"received": "2026-02-01"}}
    result = heuristic(read_case({"id": "c", "facts": facts}, "f"), criterion, Shelf([document(text)]))
    assert (result.status, result.reason_code) == ("UNCERTAIN", ReasonCode.FACT_ABSENT)
    assert "negative" in result.rationale


def test_sentences_with_nearly_the_same_words_are_told_apart_by_what_the_case_is_of() -> None:
    text = (
        "# Notes\n\n## New requests\n\nFor a new request, the notes shall be dated no more than 90 days before the request is received.\n\n"
        "## Renewals\n\nFor a renewal, the notes shall be dated no more than 120 days before the request is received.\n"
    )
    criterion = Criterion(
        "n",
        "The notes are recent enough for the kind of request.",
        facts=("notes.dated", "request.kind", "request.received"),
    )

    def status(kind: str) -> str:
        facts = {"notes": {"dated": "2026-01-01"}, "request": {"kind": kind, "received": "2026-04-11"}}
        return heuristic(read_case({"id": "c", "facts": facts}, "f"), criterion, Shelf([document(text)])).status

    assert (status("new"), status("renewal")) == ("NOT_MET", "MET")
    assert status("other") == "UNCERTAIN"


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


def test_examples_are_not_rules() -> None:
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
