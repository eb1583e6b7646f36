"""What an amount is paid or counted for: text and a value in it -> "hours", "person"; a question -> the spans of time.

A price for an hour is no answer to what a day costs, although every word of it is right.
"""

from __future__ import annotations

import re
from functools import cache

from circumspect.knowledge.answer_terms import is_among
from circumspect.knowledge.stated_values import StatedValue
from circumspect.knowledge.terms import stem_word
from circumspect.language.pack import join_patterns, join_words, packs

_NEAR = 40
_TIMES = ("minutes", "hours", "days", "weeks", "months", "years")
_NIGHTS = "nights"


def read_rate(text: str, value: StatedValue, asked: frozenset[str]) -> str:
    hit = _per().match(text[value.end : value.end + _NEAR])
    if hit is None or hit.lastgroup is None:
        # "One visit: 9 euros", unless it was asked what a visit costs.
        before = (one["other"] for one in _each().finditer(text[: value.start]))
        return next((_cut(one) for one in before if not is_among(stem_word(one.casefold()), asked)), "")
    return hit.lastgroup if hit.lastgroup != "other" else _cut(hit["other"])


def list_asked_times(question: str) -> frozenset[str]:
    """The spans of time that a question names an amount for: "per day", "for a whole day"."""
    return frozenset(_merge(hit.lastgroup) for hit in _asked().finditer(question) if hit.lastgroup)


def read_time(text: str, value: StatedValue) -> str:
    """The span of time that an amount is said to be for, or none."""
    hit = _per_time().match(text[value.end : value.end + _NEAR])
    return _merge(hit.lastgroup) if hit and hit.lastgroup else ""


def _merge(name: str) -> str:
    """A night at a hotel is a day of it."""
    return "days" if name == _NIGHTS else name


def _cut(noun: str) -> str:
    return stem_word(noun.casefold())[:4]


def _list_units() -> tuple[str, ...]:
    return tuple(f"(?P<{name}>{join_words(one.values.unit[name] for one in packs())})" for name in _TIMES)


def _list_times() -> str:
    return join_patterns((*_list_units(), f"(?P<{_NIGHTS}>{join_words(one.conflicts.nights for one in packs())})"))


@cache
def _per() -> re.Pattern[str]:
    told = [one.conflicts for one in packs()]
    what = join_patterns((*_list_units(), f"(?P<other>{join_words(one.per_what for one in told)})"))
    return re.compile(rf"\s*(?:/|{join_words(one.per for one in told)})\s*-?{what}(?!\w)", re.IGNORECASE)


@cache
def _per_time() -> re.Pattern[str]:
    told = [one.conflicts for one in packs()]
    per, whole = join_words(one.per for one in told), join_words(one.whole for one in told)
    return re.compile(rf"\s*(?:/|{per})\s*-?(?:{whole}\s)?{_list_times()}(?!\w)", re.IGNORECASE)


@cache
def _asked() -> re.Pattern[str]:
    told = [one.conflicts for one in packs()]
    per, whole = join_words(one.per for one in told), join_words(one.whole for one in told)
    lead = rf"(?:(?:/|(?<!\w){per})\s*-?(?:{whole}\s)?|(?<!\w){whole}\s)"
    return re.compile(rf"{lead}{_list_times()}(?!\w)", re.IGNORECASE)


@cache
def _each() -> re.Pattern[str]:
    told = [one.conflicts for one in packs()]
    each = join_words(one.each for one in told)
    return re.compile(rf"(?<!\w){each}\s(?P<other>{join_words(one.per_what for one in told)})(?!\w)", re.IGNORECASE)
