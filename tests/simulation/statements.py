"""What a reply says of a call: that it was done, that it was not, or that a colleague knows of it.

Read with the words of our own catalogue, so that whoever changes these changes what is looked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from circumspect.language import catalogue

StatementKind = Literal["done", "not done", "colleague"]

_KEYS: dict[StatementKind, tuple[str, ...]] = {
    "done": ("done", "done-before", "interrupted-notice/state-succeeded", "told-notice/state-succeeded"),
    "not done": (
        "dropped", "tool-failed", "tool-refused", "interrupted-notice/state-failed", "approval-denied",
        "approval-needed", "escalated", "claim-replaced", "failed-store", "nothing-to-confirm", "question-unanswered",
    ),
    "colleague": (
        "outcome-unknown", "interrupted-notice/state-unknown", "not-verified", "under-way", "escalated",
        "escalated-after-action", "approval-needed", "handed-over", "colleague-told",
    ),
}  # fmt: skip
_BLANK = "\N{OBJECT REPLACEMENT CHARACTER}"
_MODELS_OWN = r"Order \d+ (?:is|has been) (?:cancelled|refunded|annotated)\."
_ORDER = re.compile(r"\d{5}")


@dataclass(frozen=True, slots=True)
class Statement:
    kind: StatementKind
    order: str
    text: str


def read_statements(text: str, about: str) -> list[Statement]:
    """What names no order is about the one that the user spoke of."""
    found = [
        Statement(kind, order[0] if (order := _ORDER.search(hit[0])) else about, hit[0])
        for kind in _KEYS
        for hit in _pattern(kind).finditer(text)
    ]
    spoken_of = {one.order for one in found if one.kind == "done" or _names_order(one, "colleague")}
    return [one for one in found if one.order not in spoken_of or not _is_of_the_past(one)]


def _is_of_the_past(one: Statement) -> bool:
    """What was refused first and tried again later was both; that nothing can be done now denies nothing that was."""
    return _names_order(one, "not done") or one.text == _say("failed-store")


def _names_order(one: Statement, kind: StatementKind) -> bool:
    return one.kind == kind and one.order in one.text


@cache
def _pattern(kind: StatementKind) -> re.Pattern[str]:
    patterns = [".*?".join(map(re.escape, _say(key).split(_BLANK))) for key in _KEYS[kind]]
    return re.compile("|".join([*patterns, *([_MODELS_OWN] if kind == "done" else [])]))


def _say(key: str) -> str:
    key, _, state = key.partition("/")
    values = {"action": _BLANK, "problem": _BLANK, "state": catalogue.say("en", state) if state else ""}
    return catalogue.say("en", key, **values)
