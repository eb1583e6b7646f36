"""Without a model nothing is decided but what is proved: one thing that was not read, anywhere, and there is no verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.review.conftest import document

from circumspect.review.case_files import read_case
from circumspect.review.heuristic import heuristic
from circumspect.review.shelf import Shelf
from circumspect.review.values import Criterion, CriterionResult

RULE = "A crate must weigh at most 20 kg."
ALLOWED = "The crate's weight is allowed."
RULES = Path(__file__).parent / "rules"
OTHERS = (
    "A crate may be heavier where the foreman agreed.",
    "This does not hold in winter.",
    "Glass is weighed without its packing.",
    "For couriers the figure is 30 kg.",
    "Members are exempt.",
    "Saturdays count as working days.",
    "The weight is rounded down to full tens.",
    "Until further notice nothing on this page is applied.",
    "Section 2 prevails.",
    "Das gilt nicht für Glas.",
    "В праздники правило не действует.",
    "* see the annex",
    "| crate | 40 kg |",
    "1. Pallets are not crates.",
    "All figures may be exceeded by a tenth.",
)


def decide(policy: str, facts: dict[str, Any], criterion: str = ALLOWED, **more: Any) -> CriterionResult:
    case = read_case({"id": "c", "facts": facts, **more}, "case")
    return heuristic(case, Criterion("k", criterion), Shelf([document(policy, "policy.md")]))


@pytest.mark.parametrize(("weight", "status"), [(20, "MET"), (20.5, "NOT_MET"), (3, "MET")])
def test_a_rule_that_stands_alone_is_decided(weight: float, status: str) -> None:
    result = decide(f"## 3.1 Weight\n\n{RULE}\n", {"crate": {"weight_kg": weight}})
    assert (result.status, [one.quote for one in result.citations]) == (status, [RULE])
    assert [(one.field, one.value) for one in result.evidence] == [("crate.weight_kg", weight)]


@given(
    st.lists(st.sampled_from(OTHERS), min_size=1, max_size=4),
    st.sampled_from(["\n", " ", "\n\n", "\n\n## 9 Crates\n\n", "\n\n# Weight\n\n"]),
    st.booleans(),
    st.integers(0, 60),
)
def test_with_any_other_sentence_anywhere_nothing_is(others: list[str], join: str, first: bool, weight: int) -> None:
    said = [*others, RULE] if first else [RULE, *others]
    result = decide(f"## 3.1 Weight\n\n{join.join(said)}\n", {"crate": {"weight_kg": weight}})
    assert result.status == "UNCERTAIN"
    assert result.citations


@pytest.mark.parametrize(
    ("policy", "facts"),
    [
        ("## 3.1 Weight\n\nA crate must\nweigh at most 20 kg unless\nthe foreman agreed.\n", {"crate": {"weight_kg": 25}, "foreman": {"agreed": True}}),
        (f"## Crates of glass\n\n{RULE}\n", {"crate": {"weight_kg": 25}}),
        (f"## Weight\n\n{RULE}\n\n## Weight in winter does not matter\n", {"crate": {"weight_kg": 25}}),
        (f"## Weight\n\n{RULE} A full crate must weigh at most 30 kg.\n", {"crate": {"weight_kg": 25}}),
        ("A sealed crate must weigh at most 20 kg.\n", {"crate": {"weight_kg": 25}}),
        ("A sealed crate must weigh at most 20 kg.\n", {"crate": {"weight_kg": 25, "sealed": False}}),
        (f"{RULE}\n", {"crate": {"weight_kg": 25, "corrected_weight_kg": 18}}),
        (f"{RULE}\n", {"crate": {"weight_kg": 25, "net_kg": 18}}),
        (f"{RULE}\n", {"crates": [{"weight_kg": 25}, {"weight_kg": 18}]}),
        (f"{RULE}\n", {"crate": {"weight": 25}}),
        (f"{RULE}\n", {"crate": {"weight_eur": 25}}),
        (f"{RULE}\n", {"crate": {"weight_kg": -4}}),
        (f"{RULE}\n", {"crate": {"weight_kg": None}}),
        (f"{RULE}\n", {"crate": {"weight_kg": "about 25"}}),
        (f"{RULE}\n", {"crate": {"weight_kg": 25, "remark": "the scale was broken that day"}}),
        (f"{RULE}\n", {"box": {"weight_kg": 25, "crate": "no"}}),
    ],
)  # fmt: skip
def test_whatever_is_not_read_of_the_policy_or_the_case_leaves_it_open(policy: str, facts: dict[str, Any]) -> None:
    assert decide(policy, facts).status == "UNCERTAIN"


def test_a_free_text_of_the_case_is_not_read_and_so_nothing_is_decided() -> None:
    note = {"name": "note", "text": "Weighed again: 19 kg."}
    assert decide(f"{RULE}\n", {"crate": {"weight_kg": 25}}, documents=[note]).status == "UNCERTAIN"


def test_a_fact_that_the_criterion_names_and_no_rule_uses_leaves_it_open() -> None:
    case = read_case({"id": "c", "facts": {"crate": {"weight_kg": 25}, "foreman": {"agreed": True}}}, "case")
    criterion = Criterion("k", ALLOWED, facts=("crate", "foreman"))
    assert heuristic(case, criterion, Shelf([document(f"{RULE}\n")])).status == "UNCERTAIN"


FILED = "A report must be filed within {} after the inspection."


@pytest.mark.parametrize(
    ("period", "inspection", "filed", "status"),
    [
        ("30 days", "2026-03-06", "2026-04-05", "MET"),
        ("30 days", "2026-03-06", "2026-04-06", "NOT_MET"),
        ("2 weeks", "2026-03-06", "2026-03-21", "NOT_MET"),
        ("1 month", "2026-01-15", "2026-02-15", "MET"),
        ("1 month", "2026-01-31", "2026-02-28", "UNCERTAIN"),
        ("5 business days", "2026-03-06", "2026-03-09", "MET"),
        ("5 business days", "2026-03-06", "2026-03-12", "UNCERTAIN"),
        ("5 business days", "2026-03-06", "2026-04-12", "UNCERTAIN"),
        ("48 hours", "2026-03-06", "2026-03-09", "UNCERTAIN"),
        ("30 days", "2026-03-06", "2026-03-01", "UNCERTAIN"),
        ("30 days", "2026-03-06", "2026-04-05T23:30", "UNCERTAIN"),
    ],
)
def test_days_are_counted_and_what_a_calendar_leaves_open_stays_open(
    period: str, inspection: str, filed: str, status: str
) -> None:
    facts = {"report": {"filed": filed}, "inspection": {"date": inspection}}
    result = decide(FILED.format(period), facts, "The report was filed in time.")
    assert result.status == status


@pytest.mark.parametrize(
    ("rule", "criterion", "facts", "status"),
    [
        ("The maximum weight of a parcel is 20 kg.", "The parcel's weight does not exceed the limit.", {"parcel": {"weight_kg": 18}}, "MET"),
        ("The maximum weight of a parcel is 20 kg.", "The parcel does not exceed the maximum weight.", {"parcel": {"weight_kg": 21}}, "NOT_MET"),
        ("The distance of a trip must be at most 300 km.", "The distance of the trip complies with the limit.", {"trip": {"distance_km": 250}}, "MET"),
        ("A plank must not be longer than 3 m.", "The length of the plank is within the limit.", {"plank": {"length_cm": 310}}, "NOT_MET"),
        ("A group must have at most 12 people.", "The people of the group are within the limit.", {"group": {"people": 12}}, "MET"),
        # Whether a least is exceeded is no question of whether it is kept.
        ("The age must be at least 18 years.", "The age does not exceed the limit.", {"age": 30}, "UNCERTAIN"),
    ],
)  # fmt: skip
def test_a_bound_is_decided_in_the_ways_that_people_write_it(rule, criterion, facts, status) -> None:
    assert decide(f"# Rules\n\n{rule}\n", facts, criterion).status == status


def test_a_wrapped_sentence_is_quoted_whole() -> None:
    wrapped = "The crate of a courier may be heavier\nthan others are, provided that the\nforeman agreed."
    result = decide(f"## 3.1 Weight\n\n{wrapped} {RULE}\n", {"crate": {"weight_kg": 25}})
    assert wrapped in [one.quote for one in result.citations]


@pytest.mark.parametrize("file", sorted(RULES.glob("*.json")), ids=lambda path: path.stem)
def test_no_verdict_is_wrong_on_rules_by_people_who_did_not_write_the_code(file: Path) -> None:
    rules = json.loads(file.read_text("utf-8"))
    found = {one["id"]: decide(one["policy_text"], one["facts"], one["criterion"]) for one in rules}
    decided = [one for one in rules if found[one["id"]].status != "UNCERTAIN"]
    assert [one["id"] for one in decided if found[one["id"]].status != one["truth"]] == []
    assert decided
