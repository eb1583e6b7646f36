"""A small policy, a case and a model that plays a reviewer from a script."""

from __future__ import annotations

from typing import Any

import pytest
from tests.models.conftest import _no_surroundings, opened, provider, server, waits  # noqa: F401
from tests.stores.conftest import postgres  # noqa: F401

from circumspect.knowledge.read_document import read_document
from circumspect.knowledge.tree import KnowledgeDocument
from circumspect.review.case_files import read_case
from circumspect.review.shelf import Shelf
from circumspect.review.values import Criterion, ReviewCase
from circumspect.values import ModelReply, ModelUsage, ToolCall

POLICY = """\
# Claims handbook

## 1 Time limits

### 1.1 Claims for a trip

A claim for a trip shall be submitted within 30 days after the last day of the trip.

### 1.2 Claims for a purchase

A claim for a purchase shall be submitted within 45 days after the date of purchase.

### 1.3 Sick leave

If a claimant is on sick leave on the last day of the period in section 1.1, the claim may be submitted until 15 days
after the return to work.

## 2 Hotels

The price of a night shall not exceed 140.00 euro. A hotel bill is required for every night, whatever the amount.

## 3 Long-term parking

Long-term parking is reimbursed up to 60.00 euro.
"""
RULE = "A claim for a trip shall be submitted within 30 days after the last day of the trip."
CASE = {
    "id": "C-1",
    "title": "A trip to the coast",
    "facts": {
        "claim": {"kind": "trip", "submitted": "2026-04-05"},
        "trip": {"last_day": "2026-03-06"},
        "hotel": {"price_of_night": 140.0},
        "items": [{"kind": "rail", "amount": 61.4}, {"kind": "taxi", "amount": 18.5}],
    },
}
IN_TIME = Criterion("K-1", "The claim was submitted in time.", facts=("claim.kind", "claim.submitted", "trip.last_day"))


def document(text: str = POLICY, name: str = "handbook.md") -> KnowledgeDocument:
    return read_document(text.encode(), name)


def case(**facts: Any) -> ReviewCase:
    """The case with other facts: a dotted name with double underscores, None takes one away."""
    plain = read_case(CASE, "case")
    fields = dict(plain.fields)
    for name, value in facts.items():
        dotted = name.replace("__", ".")
        if value is None:
            fields.pop(dotted)
        else:
            fields |= read_case({"id": "x", "facts": {dotted: value}}, "case").fields
    return ReviewCase(plain.id, fields, plain.policy, plain.title)


PLAIN = f"# Claims handbook\n\n## 1 Time limits\n\n### 1.1 Claims for a trip\n\n{RULE}\n"
"""Nothing but the rule: all of it can be read."""


@pytest.fixture
def plain_shelf() -> Shelf:
    return Shelf([document(PLAIN)])


@pytest.fixture
def shelf() -> Shelf:
    return Shelf([document()])


def reply(*calls: ToolCall, text: str = "", tokens: tuple[int, int] = (100, 20)) -> ModelReply:
    usage = ModelUsage("scripted", tokens[0], tokens[1], cost_usd=0.001)
    return ModelReply(text, usage, calls, "tool_calls" if calls else "stop")


def call(tool: str, id_: str = "call_1", **arguments: Any) -> ToolCall:
    return ToolCall(tool, arguments, id_)


def finish(status: str = "MET", id_: str = "call_9", **arguments: Any) -> ToolCall:
    given = {
        "status": status,
        "confidence": 0.9,
        "rationale": "30 days after 6 March is 5 April.",
        "citations": [{"quote": RULE, "document": "handbook.md"}],
        "evidence": [{"field": "claim.submitted", "value": "2026-04-05"}],
    }
    return ToolCall("finish", {**given, **arguments}, id_)
