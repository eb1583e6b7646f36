"""A reply -> what it says about orders: that one was cancelled or not, that nobody knows, that a colleague has it.

The reply's own outcome and reason codes are read, and every sentence of the catalogue in every language, because that is
what the user reads. A sentence that names an order is about that order; any other is about the one that was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from tests.faults.history import Told

from circumspect.language import catalogue
from circumspect.language.registry import LANGUAGES

Claim = Literal["done", "not done", "not yet", "asks", "unknown", "passed on"]

CLAIMS: dict[str, tuple[Claim, ...]] = {
    "done": ("done",),
    "done-before": ("done",),
    "tool-failed": ("not done",),
    "tool-refused": ("not done",),
    "dropped": ("not done",),
    "approval-denied": ("not done",),
    "claim-replaced": ("not done",),
    "nothing-to-confirm": ("not done",),
    "question-unanswered": ("not done",),
    "failed-store": ("not done",),
    "escalated": ("passed on", "not done"),
    "approval-needed": ("passed on", "not yet"),
    "escalated-after-action": ("passed on",),
    "handed-over": ("passed on",),
    "colleague-told": ("passed on",),
    "outcome-unknown": ("unknown",),
    "not-verified": ("unknown",),
    "under-way": ("unknown",),
    "confirm-question": ("asks",),
    "confirm-question-write": ("asks",),
    "confirm-again-expired": ("asks",),
    "confirm-again-mismatch": ("asks",),
}
"""What the sentences of the catalogue say about a call."""
NOTICES = ("interrupted-notice", "told-notice")
STATES: dict[str, Claim] = {"state-succeeded": "done", "state-failed": "not done", "state-unknown": "unknown"}
OUTCOMES: dict[str, Claim] = {"acted": "done", "failed": "not done", "escalated": "passed on"}
REASONS: dict[str, Claim] = {"OUTCOME_UNKNOWN": "unknown", "ESCALATED_TO_HUMAN": "passed on"}

_MARK = "\ue000"
_ISOLATES = re.compile("[\u2066-\u2069]")
_ORDER = re.compile(r"(?<!\d)\d{5,}(?!\d)")


@dataclass(frozen=True)
class Saying:
    claim: Claim
    order: str


def read(told: Told) -> frozenset[Saying]:
    """Everything that an answer says about orders."""
    return frozenset(_read(told))


def _read(told: Told) -> Iterator[Saying]:
    own = told.said.order
    if told.final and own:
        if told.outcome in OUTCOMES:
            yield Saying(OUTCOMES[told.outcome], own)
        for reason in told.reasons:
            if reason in REASONS:
                yield Saying(REASONS[reason], own)
    text = _ISOLATES.sub("", told.reply)
    for pattern, claims in _patterns():
        for found in pattern.finditer(text):
            named = _ORDER.search(found[0])
            for claim in claims:
                if order := named[0] if named else own:
                    yield Saying(claim, order)


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], tuple[Claim, ...]], ...]:
    made = []
    for language in LANGUAGES:
        made += [
            (_pattern(catalogue.say(language, key, action=_MARK, problem=_MARK)), said) for key, said in CLAIMS.items()
        ]
        for notice in NOTICES:
            for state, claim in STATES.items():
                text = catalogue.say(language, notice, action=_MARK, state=catalogue.say(language, state))
                made.append((_pattern(text), (claim,)))
    return tuple(made)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(r"(?<!\w)" + re.escape(_ISOLATES.sub("", text)).replace(_MARK, "[^\n]*?"))
