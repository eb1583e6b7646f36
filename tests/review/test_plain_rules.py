"""The grammar of plain rules: a sentence is read completely or not at all."""

from __future__ import annotations

from fractions import Fraction

import pytest

from circumspect.review.plain_rules import read_question, read_rule
from circumspect.review.units import find_unit


@pytest.mark.parametrize(
    ("sentence", "limits"),
    [
        ("A crate must weigh at most 20 kg.", [("at_most", 20)]),
        ("Crates must not weigh\nmore than 20 kg each.", [("at_most", 20)]),
        ("The fee may not exceed 1,250.50 euro.", [("at_most", Fraction("1250.5"))]),
        ("A pilot must be at least 21 years old.", [("at_least", 21)]),
        ("A table may seat up to twelve guests.", [("at_most", 12)]),
        ("The depth shall not be below 3 m.", [("at_least", 3)]),
        ("The humidity must be between 40 % and 60 % inclusive.", [("at_least", 40), ("at_most", 60)]),
        ("A report is filed within 5 business days after the inspection.", [("at_most", 5)]),
        ("The maximum weight of a parcel is 20 kg.", [("at_most", 20)]),
        ("The minimum age is 18 years.", [("at_least", 18)]),
        ("A group must have at most 12 people.", [("at_most", 12)]),
        ("A plank must not be longer than 300 cm.", [("at_most", 300)]),
        ("A ramp must be at least 90 cm wide.", [("at_least", 90)]),
    ],
)
def test_a_plain_sentence_is_read_with_its_bound(sentence: str, limits: list[tuple[str, int]]) -> None:
    rule = read_rule(sentence)
    assert rule is not None
    assert list(rule.limits) == limits


@pytest.mark.parametrize(
    "sentence",
    [
        "A crate must weigh at most 20 kg unless the foreman agrees.",
        "A crate must weigh at most 20 kg, glass 10 kg.",
        "A crate must weigh at most 20 kg (30 kg in winter).",
        "If it is fragile a crate must weigh at most 20 kg.",
        "A crate must weigh at most 20 kg per person.",
        "A crate must weigh at most 20 kg and be dry.",
        "A crate must weigh at most 20 kg or 45 lb.",
        "Only a crate must weigh at most 20 kg.",
        "No crate shall weigh more than 20 kg.",
        "A crate should weigh at most 20 kg.",
        "A crate may weigh at least 20 kg.",
        "A crate must weigh at most 1.000 kg.",
        "A crate must weigh at most 20,5 kg.",
        "A crate must not weigh at most 20 kg.",
        "The humidity must be between 40 % and 60 %.",
        "Eine Kiste darf höchstens 20 kg wiegen.",
        "Crates above 20 kg need a permit.",
        "The maximum weight of a parcel was 20 kg.",
        "The maximum weight of a parcel is usually 20 kg.",
        "The maximum weight of a parcel is 20 kg from May.",
        "A stay must not be longer than 14 days.",
        "A ramp must not be longer than 2 m wide.",
        "A group must have had at most 12 people.",
        "- A crate must weigh at most 20 kg.",
        "A crate must weigh at most 20 kg" + " of" * 400,
    ],
)
def test_whatever_else_a_sentence_says_makes_it_unread(sentence: str) -> None:
    assert read_rule(sentence) is None


@pytest.mark.parametrize(
    ("criterion", "about"),
    [
        ("The crate's weight is allowed.", {"crate", "weight"}),
        ("The claim was submitted in time.", {"claim", "submit"}),
        ("The crate is within the permitted weight limit.", {"crate", "weight"}),
    ],
)
def test_a_criterion_that_asks_whether_a_bound_is_kept_is_read(criterion: str, about: set[str]) -> None:
    question = read_question(criterion)
    assert question is not None
    assert question.about == about


@pytest.mark.parametrize(
    "criterion",
    [
        "The claim was not submitted in time.",
        "The claim is late.",
        "The crate's weight is above the limit.",
        "The crate needs a permit.",
        "The claim was submitted in time and signed.",
        "Is the crate's weight allowed?",
        "No crate is allowed.",
    ],
)
def test_any_other_criterion_is_left_to_a_reader(criterion: str) -> None:
    assert read_question(criterion) is None


def test_units_are_exact_and_currencies_are_not_converted() -> None:
    kilo, pound, euro, dollar = (find_unit(name) for name in ("kilograms", "lb", "€", "USD"))
    assert kilo is not None
    assert pound is not None
    assert euro is not None
    assert dollar is not None
    assert (kilo.measures, 100000 * pound.factor) == (pound.measures, 45359237)
    assert euro.measures != dollar.measures
    assert find_unit("furlongs") is None
