"""What a sentence states plainly, and what it comes to for the facts of a case."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from circumspect.review.bounds import DateBound, Period, Quantity, StatedBound, bounds
from circumspect.review.case_files import read_case
from circumspect.review.comparisons import compare
from circumspect.review.linking import facts_of
from circumspect.review.values import Criterion


def one(sentence: str) -> StatedBound:
    (found,) = bounds(sentence)
    return found


@pytest.mark.parametrize(
    ("sentence", "relation", "amount", "unit", "way"),
    [
        ("It shall be sent within 14 calendar days after the first dose.", "at_most", 14, "day", "after"),
        ("It shall be sent no later than 2 business days after arrival.", "at_most", 2, "business day", "after"),
        ("A flight shall be booked at least 7 days before departure.", "at_least", 7, "day", "before"),
        ("It is dated no more than 12 months before the day of departure.", "at_most", 12, "month", "before"),
        ("A test taken more than 1,000 days before admission is void.", "above", 1000, "day", "before"),
        ("The visit shall be not older than 6 weeks before the request.", "at_most", 6, "week", "before"),
    ],
)
def test_a_period_is_read_with_its_direction(sentence: str, relation: str, amount: float, unit: str, way: str) -> None:
    found = one(sentence)
    assert isinstance(found, Period)
    assert (found.relation, found.amount, found.unit, found.way) == (relation, amount, unit, way)


@pytest.mark.parametrize(
    ("sentence", "relation", "amount", "unit"),
    [
        ("The score shall be 12 or more.", "at_least", 12, ""),
        ("The T-score shall be -2.5 or lower.", "at_most", -2.5, ""),
        ("The price shall not exceed 140.00 euro.", "at_most", 140, "euro"),
        ("Equipment of 15 kg or more is carried.", "at_least", 15, "kg"),
        ("It weighs more than 30 kg.", "above", 30, "kg"),
        ("The level shall be below 5 micrograms.", "below", 5, "micrograms"),
        ("An affected surface of 10 per cent or more is needed.", "at_least", 10, "per cent"),
    ],
)
def test_a_quantity_is_read_with_its_unit(sentence: str, relation: str, amount: float, unit: str) -> None:
    found = one(sentence)
    assert isinstance(found, Quantity)
    assert (found.relation, found.amount, found.unit) == (relation, amount, unit)


def test_a_date_and_a_pair_of_bounds() -> None:
    found = one("It applies to requests that are received on or after 1 March 2026.")
    assert found == DateBound("at_least", date(2026, 3, 1), "It applies to requests that are received ")
    both = bounds("It shall be received no more than 60 and no fewer than 10 calendar days before it expires.")
    assert [(b.relation, b.amount, b.unit) for b in both if isinstance(b, Period)] == [
        ("at_most", 60, "day"),
        ("at_least", 10, "day"),
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "See section 3.1.",
        "Table 2 lists them.",
        "Chapter 8 applies.",
        "There were 3 of them.",
        "On 31 February 2026.",
        "",
        "No number.",
    ],
)
def test_a_number_that_bounds_nothing_is_no_bound(sentence: str) -> None:
    assert bounds(sentence) == ()


def held(sentence: str, **facts: Any) -> str:
    plain = {name.replace("__", "."): value for name, value in facts.items()}
    case = read_case({"id": "c", "facts": plain}, "f")
    (bound,) = bounds(sentence)
    return compare(bound, sentence, facts_of(case, Criterion("k", "t"))).holds


BOOKED = "A flight shall be booked at least 14 days before departure."
SENT = "The claim shall be sent within 1 month after the last day of the trip."


@pytest.mark.parametrize(
    ("holds", "sentence", "facts"),
    [
        ("yes", BOOKED, {"flight__booked_on": "2026-02-03", "flight__departure": "2026-02-17"}),
        ("no", BOOKED, {"flight__booked_on": "2026-02-04", "flight__departure": "2026-02-17"}),
        ("open", BOOKED, {"flight__booked_on": "2026-02-18", "flight__departure": "2026-02-17"}),
        ("absent", BOOKED, {"flight__booked_on": "2026-02-03"}),
        ("yes", SENT, {"claim__sent": "2026-02-28", "trip__last_day": "2026-01-31"}),
        ("no", SENT, {"claim__sent": "2026-03-01", "trip__last_day": "2026-01-31"}),
        (
            "yes",
            SENT,
            {"claim__sent": "2026-02-28T23:59", "trip__last_day": "2026-01-31", "trip__first_day": "2026-01-01"},
        ),
        ("absent", SENT, {"claim__sent": "2026-02-30", "trip__last_day": "2026-01-31"}),
    ],
)
def test_days_and_months_are_counted_with_the_last_one_included(
    holds: str, sentence: str, facts: dict[str, Any]
) -> None:
    assert held(sentence, **facts) == holds


def test_business_days_near_the_limit_are_left_open_because_holidays_are_not_known() -> None:
    rule = "The approval shall be given no later than 2 business days after the trip begins."
    friday = {"trip__begins": "2026-05-15"}
    assert held(rule, approval__given="2026-05-19", **friday) == "open"
    assert held(rule, approval__given="2026-06-19", **friday) == "no"


def test_a_phrase_that_fits_two_facts_means_neither() -> None:
    rule = "The report shall be sent within 3 days after delivery."
    assert held(rule, report__sent="2026-01-05", north__delivery="2026-01-03", south__delivery="2026-01-01") == "absent"


def test_a_fact_in_another_unit_is_not_meant() -> None:
    rule = "Equipment of 15 kg or more shall be carried."
    assert held(rule, equipment_kg=15) == "yes"
    assert held(rule, equipment_km=15) == "absent"


def test_every_item_of_a_list_has_to_hold() -> None:
    rule = "The price of each night shall not exceed 140.00 euro."
    assert held(rule, hotel__price_of_each_night=[140.0, 120.0]) == "yes"
    assert held(rule, hotel__price_of_each_night=[140.01, 90.0]) == "no"


@pytest.mark.parametrize(
    ("holds", "born"), [("yes", "2008-03-18"), ("no", "2008-03-19"), ("yes", "1950-01-01"), ("absent", None)]
)
def test_an_age_is_counted_to_the_day_that_the_sentence_names(holds: str, born: str | None) -> None:
    rule = "The member shall be at least 18 years of age on the day on which the request is received."
    facts = {"member__date_of_birth": born} if born else {"member__name": "x"}
    assert held(rule, request__received="2026-03-18", **facts) == holds


def test_an_amount_relative_to_another_is_left_open() -> None:
    rule = "The score shall be at least 50 per cent lower than at baseline."
    assert held(rule, score=60) == "open"
