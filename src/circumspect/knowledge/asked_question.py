"""A question -> what it asks for and of what.

"How much is a ticket for students?" asks for money, of a ticket, in the case of students. What was asked for says which
values of two documents are compared, so that a contradiction that nobody asked about is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from circumspect.knowledge.answer_terms import list_question_terms, list_terms, read_words
from circumspect.knowledge.stated_facts import list_facts, without_facts
from circumspect.knowledge.stated_values import StatedValue, StatedValueKind
from circumspect.knowledge.terms import stem_word, words
from circumspect.language.folding import fold
from circumspect.language.pack import Lines, join_glued_and, join_words, packs
from circumspect.language.sentences import split_sentences

TimeEnd = Literal["", "begin", "end"]

_AMOUNTS: tuple[StatedValueKind, ...] = ("money", "percentage", "count", "measure", "duration", "range")
_TIMES: tuple[StatedValueKind, ...] = ("date", "time", "weekday", "month", "year")
_KINDS: dict[str, tuple[StatedValueKind, ...]] = {
    "price": ("money", "percentage"),
    "measure": ("measure", "range", "count"),
    "duration": ("duration", "range", "date", "time", "month", "year"),
    "age": ("range", "duration", "count"),
    "amount": _AMOUNTS,
    "count": ("count", "range", "measure"),
    "when": (*_TIMES, "duration"),
    "hours": ("time", "weekday", "range"),
    "past": ("date", "month", "year"),
    "day": ("weekday", "date", "month"),
    "mail": ("mail",),
    "phone": ("phone", "count"),
    "name": ("name",),
    "place": ("place",),
}
_INSTEAD = {
    "price": ("amount",),
    "measure": ("amount",),
    "duration": ("amount", "count"),
    "age": ("amount", "when"),
    "hours": ("when", "duration"),
    "count": ("amount",),
    "past": ("when", "hours", "duration"),
    "day": ("when",),
    "mail": ("place", "phone"),
}
"""What is not meant where the first is asked for: "how much does it cost" begins like "how much"."""
_LONGEST = 600
_FIRST, _LAST = 3, 2
"""Words in which a pronoun says that the sentence goes on about the same: "it opens", "after that"."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    subject: frozenset[str]
    """The words that say of what, reduced."""
    required: frozenset[str]
    """Those of them that a condition begins with: "if I lose my card"."""
    kinds: tuple[StatedValueKind, ...]
    yes_or_no: bool
    of_age: bool
    is_open: bool
    """What kind of thing is asked for cannot be told: "What languages does the guide speak?"."""
    end: TimeEnd
    of_clock: bool
    """A time of the day is asked for: "what time" and not "when"."""
    words: frozenset[str]
    stated: tuple[StatedValue, ...]


def read_question(question: str) -> AskedQuestion:
    """Of a long message its beginning."""
    question = question[:_LONGEST]
    stated, folded = list_facts(question), fold(question)
    told = without_facts(question, (one for one in stated if one.kind in _TIMES))
    subject = (list_question_terms(told) - list_asking_terms()) or list_question_terms(question)
    asked = {name for name in _KINDS if _wants()[name].search(folded)}
    asked -= {other for name in asked for other in _INSTEAD.get(name, ())}
    yes = not asked and _wants()["yes"].search(folded) is not None
    kinds = tuple(dict.fromkeys(kind for name in _KINDS if name in asked for kind in _KINDS[name]))
    if yes:
        kinds = tuple(dict.fromkeys(one.kind for one in stated if one.kind in (*_AMOUNTS, *_TIMES)))
    elif not asked:
        kinds = (*_AMOUNTS, *_TIMES)
    begin, end = (_wants()[name].search(folded) is not None for name in ("begin", "end"))
    return AskedQuestion(
        subject,
        _list_required(folded) & subject,
        kinds,
        yes or not asked,
        "age" in asked,
        not asked and not yes,
        "" if begin == end else "begin" if begin else "end",
        _wants()["clock"].search(folded) is not None,
        read_words(question),
        stated,
    )


def find_asking(message: str) -> str:
    """What asks in a message that also greets and tells; all of it, where that goes on about what was told before."""
    told = split_sentences(message[:_LONGEST])
    asking = [one for one in told if one.endswith("?")]
    if not asking or len(asking) == len(told) or any(map(goes_on, asking)):
        return message
    return " ".join(asking) if any(read_question(one).subject for one in asking) else message


def goes_on(text: str) -> bool:
    """A pronoun says that it is about what the sentence before is about."""
    told = words(text)
    return any(stem_word(word) in _pronouns() for word in (*told[:_FIRST], *told[-_LAST:]))


def _list_required(folded: str) -> frozenset[str]:
    hits = (hit for hit in _conditions().finditer(folded) if not _only_asks(hit))
    return frozenset(filter(None, (next(iter(_list_in_order(hit["what"])), "") for hit in hits)))


def _only_asks(condition: re.Match[str]) -> bool:
    """ "Until when" begins a question; "and if" and "what do I pay when" begin a condition."""
    leading = words(condition.string[: condition.start()])
    return len(leading) < _FIRST - 1 and _wants()["when"].fullmatch(condition["how"]) is not None


def _list_in_order(text: str) -> Iterable[str]:
    telling = list_terms(text)
    return (term for word in words(text) if (term := stem_word(word)) in telling)


@cache
def _conditions() -> re.Pattern[str]:
    return re.compile(rf"\s(?P<how>{join_words(one.documents.condition for one in packs())})\s(?P<what>[^,;.:()?]*)")


@cache
def _wants() -> dict[str, re.Pattern[str]]:
    names = (*_KINDS, "yes", "begin", "end", "clock")
    joined = join_glued_and()
    return {
        name: re.compile(rf"(?<!\w){joined}{join_words(one.conflicts.wants[name] for one in packs())}(?!\w)")
        for name in names
    }


def stem_lines(lists: Iterable[Lines]) -> frozenset[str]:
    return frozenset(stem_word(word) for lines in lists for line in lines for word in words(line))


@cache
def _pronouns() -> frozenset[str]:
    return stem_lines(one.conflicts.pronouns for one in packs())


@cache
def list_asking_terms() -> frozenset[str]:
    """Words, reduced, that say what kind of thing is asked for."""
    return stem_lines(one.conflicts.asking for one in packs())


@cache
def list_asking_words() -> frozenset[str]:
    """The same as they are written: reduced, "delivery" and "send" are one word in Hebrew."""
    return frozenset(word for one in packs() for line in one.conflicts.asking for word in words(line))
