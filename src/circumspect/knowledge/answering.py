"""A passage and what was asked -> its sentences that answer, each with the values that are asked for.

A sentence answers when it has the words that say of what was asked, in itself, in the titles above it, in the question
of a list of questions that it stands behind, or, behind "it", in the sentence before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

from circumspect.knowledge.answer_terms import is_among, is_compounded, list_terms, read_words
from circumspect.knowledge.asked_question import AskedQuestion, TimeEnd, goes_on, stem_lines
from circumspect.knowledge.conflicts import ConflictEvidence, Quoted, find_clause, is_before, read_bound
from circumspect.knowledge.passages import sentences
from circumspect.knowledge.person_names import list_person_names
from circumspect.knowledge.rates import read_rate
from circumspect.knowledge.stated_facts import list_facts, without_facts
from circumspect.knowledge.stated_values import StatedValue, StatedValueKind, number, read_number_word
from circumspect.knowledge.terms import stem_word, stop_words, words
from circumspect.knowledge.tree import TextSpan
from circumspect.language.folding import fold
from circumspect.language.pack import join_words, packs

_QUESTION = re.compile(r"\?[\"'”»)*_]*\s+")
_PLAIN = re.compile(r"[^\W\d_]+")
_ROW = re.compile(r"^[ \t*|-]*+(?P<label>[^\W\d_][^:\n.?!]{1,60}):[ \t]++(?=\S)", re.MULTILINE)
_BARE_AMOUNT = re.compile(r":[ \t]++(?P<amount>\d{1,6}(?:[.,]\d{1,2})?)(?:[ \t]*+$|\s*+\n)", re.MULTILINE)
_LONGEST = 1000
"""Characters of a sentence. What is longer is no statement but a list that lost its lines."""
_NEAR = 40
"""Characters beside a value in which its limits are said."""
_SHORT = 12
"""Words of a sentence that only its title says the subject of."""
_A_YEAR = 8766.0
"""Hours, as durations are counted."""
_LONG_CUE = 5
"""Letters of a word that may stand further from its time: "opens on weekdays at 8"."""


@dataclass(frozen=True, slots=True)
class SaidValue:
    """A value with what the words around it make of it."""

    value: StatedValue
    end: TimeEnd
    bound: str
    ahead: bool
    """So long before something: "24 hours before it begins"."""
    per: str
    """What an amount is paid or counted for: "hours", "person"."""


@dataclass(frozen=True, slots=True)
class Answering:
    """A sentence that is about what was asked."""

    evidence: ConflictEvidence
    path: tuple[str, ...]
    said: tuple[SaidValue, ...]
    """Of the kinds that were asked for, in the clauses that are about it."""
    own_facts: tuple[StatedValue, ...]
    """All that it states."""
    facts: tuple[StatedValue, ...]
    """And what its titles state."""
    own: frozenset[str]
    words: frozenset[str]
    """Its own and those above it."""
    terms: frozenset[str]
    covered: frozenset[str]
    """The words of the question that it has."""
    plain: str
    """The sentence without its values."""

    def list_said(self, kind: StatedValueKind) -> list[SaidValue]:
        return [one for one in self.said if one.value.kind == kind]

    def list_amounts(self, kind: StatedValueKind) -> frozenset[float]:
        return frozenset(one.amount for one in self.facts if one.kind == kind)

    def show(self, kind: StatedValueKind) -> ConflictEvidence:
        """With the values in question; a yes or a no is the whole sentence."""
        written = ", ".join(dict.fromkeys(one.value.written for one in self.list_said(kind)))
        return replace(self.evidence, value=written or self.evidence.quote)


def is_enough(covered: frozenset[str], asked: AskedQuestion) -> bool:
    """Half of the words, and all where there are one or two, or any of them may be what is asked for."""
    least = len(asked.subject) if len(asked.subject) <= 2 or asked.is_open else (len(asked.subject) + 1) // 2
    return len(covered) >= least and asked.required <= covered


def list_answering(passage: Quoted, asked: AskedQuestion) -> Iterator[Answering]:
    above = " ".join(passage.path)
    titles = read_words(above)
    nearest = read_words(passage.path[-1]) if passage.path else frozenset[str]()
    behind, previous = frozenset[str](), frozenset[str]()
    for span in _split_questions(passage.text):
        text = passage.text[span.start : span.end]
        if text.lstrip().startswith("#") or len(text) > _LONGEST:
            continue
        own = read_words(text)
        if text.rstrip(" *_\"'”»").endswith("?"):
            behind, previous = own, own
            continue
        told = own | behind | (previous if goes_on(text) else frozenset())
        here = told | titles
        covered = frozenset(one for one in asked.subject if is_among(one, here) or is_compounded(one, here))
        previous = own
        if not is_enough(covered, asked) or not _speaks_of_it(text, told, nearest, asked):
            continue
        facts = list_facts(text)
        if "name" in asked.kinds:
            facts = (*facts, *list_person_names(text, asked.words, facts))
        plain = without_facts(text, facts)
        if "name" in asked.kinds and not _has_role(plain, asked):
            continue
        place = TextSpan(passage.span.start + span.start, passage.span.start + span.end)
        yield Answering(
            ConflictEvidence(passage.document, passage.section, place, text, text),
            passage.path,
            tuple(_read_said(text, facts, asked)),
            facts,
            (*facts, *list_facts(above)),
            told,
            told | titles,
            list_terms(plain),
            covered,
            plain,
        )


def _split_questions(text: str) -> Iterator[TextSpan]:
    """Sentences; a question and what stands behind it in the same line are two."""
    for span in sentences(text):
        for row in _split_rows(text, span):
            start = row.start
            for mark in _QUESTION.finditer(text, row.start, row.end):
                yield TextSpan(start, mark.end())
                start = mark.end()
            if start < row.end:
                yield TextSpan(start, row.end)


def _split_rows(text: str, span: TextSpan) -> Iterator[TextSpan]:
    """Lines of a price list are read one by one: "Replacement key: 50". Those of a timetable belong together."""
    rows = [hit for hit in _ROW.finditer(text, span.start, span.end) if not list_facts(hit["label"])]
    starts = [hit.start() for hit in rows] if len(rows) > 1 else []
    for start, end in pairwise(dict.fromkeys((span.start, *starts, span.end))):
        yield TextSpan(start, end)


def _speaks_of_it(text: str, told: frozenset[str], title: frozenset[str], asked: AskedQuestion) -> bool:
    if any(is_among(one, told) for one in asked.subject):
        return True
    return all(is_among(one, title) for one in asked.subject) and len(words(text)) <= _SHORT


def _has_role(plain: str, asked: AskedQuestion) -> bool:
    """Who founded it does not say who leads it. "Events: Tom Ahrens" says it without a word."""
    if not any(is_among(one, asked.words) for one in list_roles()):
        return True
    told = [stem_word(word) for word in words(plain)]
    return not list_roles().isdisjoint(told) or all(is_among(one, asked.words) for one in list_terms(plain))


def _read_said(text: str, facts: Sequence[StatedValue], asked: AskedQuestion) -> Iterable[SaidValue]:
    facts = (*facts, *_list_bare_prices(text, facts, asked), *_list_bare_ages(text, facts, asked))
    for kind in asked.kinds:
        alike = [one for one in facts if one.kind == kind]
        for one in _keep_asked(text, alike, facts, asked):
            value = _read_age(one) if asked.of_age else one
            yield SaidValue(
                value,
                read_end(text, one, facts),
                _read_bound(text, one),
                is_before(text, one),
                read_rate(text, one, asked.words),
            )


def _list_bare_prices(text: str, facts: Sequence[StatedValue], asked: AskedQuestion) -> Iterator[StatedValue]:
    """A price list says once, or nowhere, in which currency: "Replacement key: 50"."""
    if "money" not in asked.kinds or asked.yes_or_no or any(one.kind == "money" for one in facts):
        return
    for hit in _BARE_AMOUNT.finditer(text):
        yield StatedValue("money", "", number(hit["amount"]), *hit.span("amount"), hit["amount"])


def _list_bare_ages(text: str, facts: Sequence[StatedValue], asked: AskedQuestion) -> Iterator[StatedValue]:
    """ "Children under eight": a number in words that counts nothing."""
    if not asked.of_age or any(one.kind in asked.kinds for one in facts):
        return
    small = stop_words(text)
    for hit in _PLAIN.finditer(text):
        amount, behind = read_number_word(hit[0]), _PLAIN.match(text, hit.end() + 1)
        if amount > 1 and (behind is None or behind[0].casefold() in small):
            yield StatedValue("count", "", amount, *hit.span(), hit[0])


def _read_age(value: StatedValue) -> StatedValue:
    """ "You must be 16" says years."""
    if value.kind != "count" or value.unit:
        return value
    return replace(value, kind="duration", unit="hours", amount=value.amount * _A_YEAR)


def _keep_asked(
    text: str, alike: Sequence[StatedValue], facts: Sequence[StatedValue], asked: AskedQuestion
) -> Sequence[StatedValue]:
    """Of several values of one kind those in the clauses that have most of what was asked."""
    counted = [one for one in alike if one.kind == "count" and one.unit and is_among(stem_word(one.unit), asked.words)]
    if counted:
        return counted
    if len(alike) < 2 or alike[0].kind in ("weekday", "month", "range") or "|" in text:
        return alike
    days = {one.amount for one in asked.stated if one.kind == "weekday"}
    # "Monday to Friday 9:00, Saturday 10:00": the clause before has the words, and this one the day.
    of_day = [one for one in alike if days and days & _list_days_of(text, one, facts)]
    scored = [(score_clause(text, one, facts, asked), one) for one in of_day or alike]
    best = max(score for score, _ in scored)
    return [one for score, one in scored if score == best]


def score_clause(text: str, value: StatedValue, facts: Sequence[StatedValue], asked: AskedQuestion) -> int:
    start, end = _find_row_clause(text, value, facts)
    there = read_words(text[start:end])
    days = {one.amount for one in asked.stated if one.kind == "weekday"}
    return sum(is_among(one, there) for one in asked.subject) + bool(days & _list_days_of(text, value, facts))


def _find_row_clause(text: str, value: StatedValue, facts: Sequence[StatedValue]) -> tuple[int, int]:
    """The day that begins the next line of a timetable is of that line."""
    start, end = find_clause(text, value)
    told = [one.start for one in facts if one.kind == "weekday" and value.end <= one.start < end]
    return start, min((at for at in told if "\n" in text[value.end : at]), default=end)


def _list_days_of(text: str, value: StatedValue, facts: Sequence[StatedValue]) -> set[float]:
    """The weekdays that a value is said of: in its clause, or else before it."""
    start, end = _find_row_clause(text, value, facts)
    named = {one.amount for one in facts if one.kind == "weekday" and start <= one.start < end}
    return named or _list_days_before(value, facts)


def _list_days_before(value: StatedValue, facts: Sequence[StatedValue]) -> set[float]:
    """The last weekdays that lead up to a value: "Sunday: 10:00", "On Sundays members pay 8 euros and guests 12"."""
    before = [one for one in facts if one.kind == "weekday" and one.end <= value.start]
    ends = [one.end for one in facts if one.kind == value.kind and before and one.end <= before[-1].start]
    return {one.amount for one in before if one.start >= max(ends, default=0)}


# --- what the words around a value make of it -----------------------------------------------------------------------


def read_end(text: str, value: StatedValue, facts: Sequence[StatedValue]) -> TimeEnd:
    """Whether a time or a date begins something or ends it."""
    if value.kind not in ("date", "time"):
        return ""
    following = next((one for one in facts if one.kind == value.kind and one.start >= value.end), None)
    if following and _through().fullmatch(text[value.end : following.start]):
        return "begin"
    leading = [one for one in facts if one.kind == value.kind and one.end <= value.start]
    if leading and _through().fullmatch(text[leading[-1].end : value.start]):
        return "end"
    # "By Friday, 12 June": the day belongs to its date.
    days = [one for one in facts if one.kind == "weekday" and one.end <= value.start]
    start = days[-1].start if days and not text[days[-1].end : value.start].strip(" ,") else value.start
    head = fold(without_facts(text[:start], (one for one in facts if one.end <= start)))[-2 * _NEAR :]
    found: tuple[int, TimeEnd] = (-1, "")
    for end, pattern in _cues().items():
        for hit in pattern.finditer(head):
            between, is_long = head[hit.end() :], len(hit.group()) >= _LONG_CUE
            if len(between.split()) <= (5 if is_long else 2) and (is_long or "|" not in between):
                found = max(found, (hit.start(), end))
    return found[1]


def speaks_of_end(text: str) -> bool:
    """In a word that may stand anywhere: "the deadline", not "by"."""
    return any(len(hit.group()) >= _LONG_CUE for hit in _cues()["end"].finditer(fold(text)))


def _read_bound(text: str, value: StatedValue) -> str:
    return read_bound(text[max(0, value.start - _NEAR) : value.start], text[value.end : value.end + _NEAR])


@cache
def _through() -> re.Pattern[str]:
    said = join_words(one.conflicts.range for one in packs())
    return re.compile(rf"\s*(?:[-–—]|{said})(?:\s*\w{{1,5}})?\s*-?", re.IGNORECASE)


@cache
def _cues() -> dict[TimeEnd, re.Pattern[str]]:
    return {
        "begin": re.compile(rf"(?<!\w){join_words(one.conflicts.begins for one in packs())}(?!\w)"),
        "end": re.compile(rf"(?<!\w){join_words(one.conflicts.ends for one in packs())}(?!\w)"),
    }


@cache
def list_roles() -> frozenset[str]:
    return stem_lines(one.conflicts.roles for one in packs())
