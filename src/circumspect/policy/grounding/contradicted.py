"""Numbers of a call that contradict the user's: they gave one, and the call has another that follows from nothing.

In come the facts of a call and where its values come from; out come the arguments to ask about.

What may surprise: this only speaks where there is nothing to choose. With two numbers that no other argument carries, a
number in words, or one that a result has or that adding, taking away, multiplying or a share gives, the model may have
reckoned.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from circumspect.policy.facts import Facts
from circumspect.policy.grounding.actions import words_of
from circumspect.policy.grounding.tracing import OriginLedger, Traced
from circumspect.policy.grounding.words import bag

_NUMBER = re.compile(r"(?:(?<![\w.,:/#№+-])|(?<=[\u05d0-\u05ea]-))(\d{1,9}(?:[.,]\d{1,2})?)(?![\w:/]|[.,-]\w)")
_UNITS = bag("cents cent minor pence minutes minute seconds second hours hour days day weeks months ms")
_FACTORS = (60, 3600, 24, 7, 12, 30, 100, 1000)
_MOST = 400
_CLOSE = 0.011


def find_contradicted(facts: Facts, ledger: OriginLedger, traced: Sequence[Traced]) -> list[Traced]:
    derived = [one for one in traced if one.kind == "number" and one.origin == "derived"]
    if not derived or not (said := _find_only_number(ledger, traced)):
        return []
    known = frozenset(_numbers_known(ledger))
    return [one for one in derived if not _follows(one, said, known)]


def _find_only_number(ledger: OriginLedger, traced: Sequence[Traced]) -> float | None:
    """The one number of the newest message with numbers that no other argument carries."""
    used = {str(one.value) for one in traced if one.origin != "derived"}
    for _, reading in reversed(ledger.words):
        found = dict.fromkeys(hit[1] for hit in _NUMBER.finditer(reading.text))
        free = {_read(one) for one in found if one not in used and not any(one in each for each in used)}
        if free:
            return free.pop() if len(free) == 1 else None
    return None


def _read(written: str) -> float:
    return float(written.replace(",", "."))


def _numbers_known(ledger: OriginLedger) -> Iterator[float]:
    for _, result in ledger.grounds:
        for _, text in result.leaves:
            for hit in _NUMBER.finditer(text):
                yield _read(hit[1])


def _follows(one: Traced, said: float, known: Collection[float]) -> bool:
    value = float(str(one.value))
    if _UNITS.intersection(words_of(one.argument)) and any(
        abs(value - said * factor) < _CLOSE or abs(value * factor - said) < _CLOSE for factor in _FACTORS
    ):
        return True
    for other in sorted(known)[:_MOST]:
        share = other * said / 100
        ways = (other, other + said, other - said, said - other, other * said, share, other + share, other - share)
        if any(abs(value - way) < _CLOSE for way in ways):
            return True
    return False
