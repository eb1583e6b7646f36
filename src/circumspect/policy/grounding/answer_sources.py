"""Sentences of an answer that nothing bears out: a source [n] that was not shown, a price that no text has.

Sums are compared with everything that the answer was made from. One that follows from two of those by adding, taking
away or counting is believed.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from circumspect.language.folding import fold
from circumspect.language.sentences import split_sentences
from circumspect.policy.grounding.stated_figures import find_numbers, find_sums

_CITED = re.compile(r"\[(\d{1,2})\]")
_MOST = 200
"""So many different numbers of the texts are looked at for one that a sum could follow from."""


def find_unsourced(reply: str, numbers: Collection[int], known: str | None) -> tuple[str, ...]:
    """The sentences with a source that is none of `numbers`, or a sum that does not follow from `known`. Without
    anything that was looked up (None) sums are let be."""
    if not any(map(str.isdigit, reply)):
        return ()
    given = None if known is None else frozenset(find_numbers(fold(known)))
    return tuple(one for one in split_sentences(reply) if _is_unsourced(one, numbers, given))


def _is_unsourced(sentence: str, numbers: Collection[int], given: frozenset[float] | None) -> bool:
    if any(int(number) not in numbers for number in _CITED.findall(sentence)):
        return True
    return given is not None and any(not _follows(one, given) for one in find_sums(fold(sentence)))


def _follows(value: float, given: frozenset[float]) -> bool:
    if value in given or any(value / times in given for times in range(2, 13)):
        return True
    some = sorted(given)[:_MOST]
    return any(round(value - one, 2) in given or round(value + one, 2) in given for one in some)
