"""Two sentences that answer a question -> whether something tells that they are about different things.

Another branch, year, season, day of the week, group of people, kind of the same thing: where each names its own, or one
names one that the other lacks, both may be true.
"""

from __future__ import annotations

import re
from functools import cache

from circumspect.knowledge.answer_terms import is_among, list_terms
from circumspect.knowledge.answering import Answering
from circumspect.knowledge.asked_question import AskedQuestion, list_asking_terms, stem_lines
from circumspect.knowledge.conflicts import is_other_case, list_differing_terms, list_general_terms, list_names
from circumspect.knowledge.listed_cases import list_facts_of, read_said_of
from circumspect.knowledge.said_no import says_no
from circumspect.knowledge.stated_facts import list_labels
from circumspect.knowledge.stated_values import StatedValueKind, is_same_value
from circumspect.knowledge.terms import stem_word, stop_words, telling_words, words
from circumspect.language.detection import find_language
from circumspect.language.folding import INNER_MARKS
from circumspect.language.pack import compile_words, packs

_WORD = re.compile(rf"[^\W\d_][\w{INNER_MARKS}-]*|[^\w\s]")
_PLAIN_WORD = re.compile(r"[^\W\d_][\w-]+")
_VARYING: frozenset[StatedValueKind] = frozenset(("time", "money", "percentage", "duration", "count", "yes or no"))
"""Kinds that are a rule on most days and something else on some."""
_AMOUNTS: frozenset[StatedValueKind] = frozenset(("money", "percentage", "duration", "count", "measure", "range"))
_WHOLE: tuple[tuple[StatedValueKind, int], ...] = (("weekday", 7), ("month", 12))
_NOUNS_HAVE_CAPITALS = "de"
"""In this language a capital makes no name."""


def is_told_apart(left: Answering, right: Answering, kind: StatedValueKind, asked: AskedQuestion) -> bool:
    return (
        _is_other_label(left, right, kind, asked)
        or _is_other_year(left, right, kind, asked)
        or (_is_other_time(left, right, kind, asked) and not _is_same_day(left, right))
        or _is_other_title(left, right, asked)
        or _is_other_name(left, right, kind)
        or _is_other_group(left, right, kind, asked)
        or _is_other_sort(left, right, asked)
        or (kind == "place" and _is_other_occupant(left, right, asked))
    )


def is_other_general_case(left: Answering, right: Answering, asked: AskedQuestion) -> bool:
    """Where a question has only general words, a general word is enough to be about something else: to return goods, or
    the money for them."""
    return any(
        is_among(one, side.own) and not is_among(one, other.words | asked.words)
        for one in _cases()
        for side, other in ((left, right), (right, left))
    )


def _is_other_label(left: Answering, right: Answering, kind: StatedValueKind, asked: AskedQuestion) -> bool:
    """Branch 3 and branch 7, or a branch that is not the one that was asked about."""
    here, there, wanted = (list_labels(side) for side in (left.facts, right.facts, asked.stated))
    if any(wanted[label] - side.get(label, wanted[label]) for side in (here, there) for label in wanted):
        return True
    return kind != "place" and any(not here[label] & there[label] for label in here.keys() & there.keys())


def _is_other_year(left: Answering, right: Answering, kind: StatedValueKind, asked: AskedQuestion) -> bool:
    here, there = left.list_amounts("year"), right.list_amounts("year")
    wanted = _list_asked(asked, "year")
    if wanted and any(side and not side & wanted for side in (here, there)):
        return True
    if kind == "date" and (_is_of_another_year(left, there) or _is_of_another_year(right, here)):
        return True
    return kind != "year" and bool(here - there and there - here)


def _is_of_another_year(side: Answering, years: frozenset[float]) -> bool:
    """ "In 2025 it began on 5 July" says nothing against a date that has its own year."""
    own = {one.amount // 10_000 for one in side.own_facts if one.kind == "date" and one.unit == "date"}
    return bool(own and years) and own.isdisjoint(years)


def _list_asked(asked: AskedQuestion, kind: StatedValueKind) -> frozenset[float]:
    return frozenset(one.amount for one in asked.stated if one.kind == kind)


def _is_other_time(left: Answering, right: Answering, kind: StatedValueKind, asked: AskedQuestion) -> bool:
    """Another weekday, month or season, or one beside none."""
    for name, whole in _WHOLE:
        if kind == name or (kind == "date" and name == "month"):
            continue
        here, there = (_list_told(side, kind, name) for side in (left, right))
        here, there = (frozenset() if len(side) >= whole else side for side in (here, there))
        if (here and there and not here & there) or (bool(here) != bool(there) and kind in _VARYING):
            return True
        wanted = _list_asked(asked, name)
        if wanted and any(side and not side & wanted for side in (here, there)):
            return True
    here_seasons, there_seasons = (_list_periods(side.words) for side in (left, right))
    if here_seasons - there_seasons and there_seasons - here_seasons:
        return True
    seasons = [_list_periods(side.words if _is_seasonal(side, asked) else side.own) for side in (left, right)]
    return seasons[0] != seasons[1] and kind in _VARYING


def _list_periods(told: frozenset[str]) -> frozenset[str]:
    return frozenset(one for one in _periods() if is_among(one, told))


def _is_seasonal(side: Answering, asked: AskedQuestion) -> bool:
    """Its title names a season and nothing but what was asked about: "Kiosk in winter", not "Summer in the city"."""
    return all(one in _periods() or is_among(one, asked.words) for one in _list_title_terms(side.path[-1:]))


def _is_same_day(left: Answering, right: Answering) -> bool:
    """Both name the same date: then it is one event."""
    dates = [[one for one in side.facts if one.kind == "date"] for side in (left, right)]
    return any(is_same_value(one, other) for one in dates[0] for other in dates[1])


def _is_other_title(left: Answering, right: Answering, asked: AskedQuestion) -> bool:
    """Titles of what was asked about that go on differently, like those of two branches."""
    here, there = (_list_title_terms(side.path) for side in (left, right))
    if not any(is_among(one, asked.words) for one in here & there):
        return False
    own = [
        {one for one in here if not is_among(one, right.words)},
        {one for one in there if not is_among(one, left.words)},
    ]
    return all(own)


def _list_title_terms(path: tuple[str, ...]) -> frozenset[str]:
    told = (stem_word(word) for title in path for word in telling_words(title) if not word[0].isdigit())
    return frozenset(one for one in told if one not in _title_words() and one not in list_general_terms())


def _is_other_name(left: Answering, right: Answering, kind: StatedValueKind) -> bool:
    """Each has names of its own, in its titles or in the sentence. An amount with a name is of that case alone: what
    shipping costs, and what shipping to Norway does."""
    if is_other_case(*(_list_capitals(side, side.path) for side in (left, right))):
        return True
    if kind in ("name", "place"):
        return False
    own = [
        any(not is_among(stem_word(one), other.words) for one in _list_capitals(side, (side.plain,)))
        for side, other in ((left, right), (right, left))
    ]
    return any(own) if kind in ("money", "percentage", "duration") else all(own)


def _list_capitals(side: Answering, texts: tuple[str, ...]) -> frozenset[str]:
    # Few words do not tell their language: the titles and the sentence together do.
    if find_language(" ".join((*side.path, side.evidence.quote))) == _NOUNS_HAVE_CAPITALS:
        return frozenset()
    found = frozenset[str]()
    for text in texts:
        small = stop_words(text)
        telling = [word for word in _PLAIN_WORD.findall(text) if word.casefold() not in small]
        # "House Rules": where every word has a capital it says nothing.
        if len(telling) > 1 and all(word[0].isupper() for word in telling):
            continue
        found |= frozenset(one for one in list_names((text,)) if stem_word(one) not in _title_words())
    return found


def _is_other_group(left: Answering, right: Answering, kind: StatedValueKind, asked: AskedQuestion) -> bool:
    """Whom or which of several it is said of. A rule and its exception are two cases, where amounts are asked for."""
    # A small word of this language may be a case in another: "man kann" is no man.
    small = [_general() | stop_words(side.evidence.quote) for side in (left, right)]
    told = [
        [word for word in words(read_said_of(side, kind, _tells_case)) if word not in small[at]]
        for at, side in enumerate((left, right))
    ]
    own = [
        {term for word in told[at] if (term := stem_word(word)) in _cases() and not is_among(term, other.words)}
        for at, other in ((0, right), (1, left))
    ]
    # "From 12 years" and "children from 12 years" are the same.
    if all(own) or asked.of_age:
        return all(own)
    named = any(one in _cases() for one in left.covered & right.covered)
    if own[0 if says_no(left, asked) else 1] if kind == "yes or no" else any(own) and not named:
        return True
    above = [
        {one for one in _list_title_terms(side.path) & _cases() if not is_among(one, other.words)}
        for side, other in ((left, right), (right, left))
    ]
    if all(above) or (any(above) and kind in ("money", "percentage") and not named):
        return True
    # Words that are as often what something is about as which of several it is.
    weak = [
        {
            term
            for word in told[at]
            if (term := stem_word(word)) in list_differing_terms() and not is_among(term, other.words | asked.words)
        }
        for at, other in ((0, right), (1, left))
    ]
    return any(weak) if kind in _AMOUNTS else all(weak)


def _list_told(side: Answering, kind: StatedValueKind, wanted: StatedValueKind) -> frozenset[float]:
    above = side.facts[len(side.own_facts) :]
    return frozenset(one.amount for one in (*list_facts_of(side, kind, wanted), *above) if one.kind == wanted)


def _tells_case(text: str) -> bool:
    return any(stem_word(word) in _cases() for word in words(text))


def _is_other_sort(left: Answering, right: Answering, asked: AskedQuestion) -> bool:
    """The same noun with another word beside it on each side: a pottery course and a chess course."""
    here, there = _list_sorts(left, asked), _list_sorts(right, asked)
    return any(
        not any(is_among(one, right.words) for one in here[noun])
        and not any(is_among(one, left.words) for one in there[noun])
        for noun in here.keys() & there.keys()
    )


def _is_other_occupant(left: Answering, right: Answering, asked: AskedQuestion) -> bool:
    """The clinic was asked about, and the laboratory is on the third floor."""
    for side, other in ((left, right), (right, left)):
        placed = [one.value.start for one in side.list_said("place")]
        before = list_terms(side.evidence.quote[: min(placed, default=0)])
        named = {one for one in before if not is_among(one, other.words | asked.words)}
        if named and other.covered - side.covered:
            return True
    return False


def _list_sorts(side: Answering, asked: AskedQuestion) -> dict[str, set[str]]:
    tokens = _WORD.findall(side.plain)
    small = stop_words(side.plain)
    found: dict[str, set[str]] = {}
    for at, token in enumerate(tokens):
        noun = _find_noun(token, asked)
        for step in _list_steps(token) if noun else ():
            beside = words(tokens[at + step]) if 0 <= at + step < len(tokens) else []
            if len(beside) != 1 or beside[0] in small or _verbs().fullmatch(beside[0]):
                continue
            term = stem_word(beside[0])
            if term in list_general_terms() or term in list_asking_terms() or is_among(term, asked.words):
                continue
            found.setdefault(noun, set()).add(term)
    return found


def _find_noun(token: str, asked: AskedQuestion) -> str:
    plain = words(token)
    if len(plain) != 1:
        return ""
    forms = frozenset((stem_word(plain[0]), plain[0][:5]))
    return next((one for one in asked.subject if is_among(one, forms)), "")


def _list_steps(token: str) -> list[int]:
    sides = next((one.conflicts.kind_stands for one in packs() if one.script.letter.match(token)), ())
    return [-1 if side == "before" else 1 for side in sides]


@cache
def _cases() -> frozenset[str]:
    return stem_lines(one.conflicts.cases for one in packs()) - list_asking_terms()


@cache
def _general() -> frozenset[str]:
    """As written: "more" and "big" are one word in some languages, reduced."""
    return frozenset(word for one in packs() for line in one.documents.general for word in words(line))


@cache
def _periods() -> frozenset[str]:
    return stem_lines(one.conflicts.periods for one in packs())


@cache
def _title_words() -> frozenset[str]:
    return stem_lines(one.conflicts.title_words for one in packs())


@cache
def _verbs() -> re.Pattern[str]:
    return compile_words(one.conflicts.verb_ends for one in packs())
