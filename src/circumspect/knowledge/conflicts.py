"""conflicts: passages -> pairs of statements that give different values for the same thing.

Pure, and cautious: a false alarm sends a customer to a person for nothing, so two statements are a conflict only when
nothing explains the difference. They are about the same thing when they share the words that say what about, next to
the value and in the section's title; the difference is explained by a word one of them lacks that tells cases apart
("express", "for students", a name, another number), by another anchor ("of payment", "of delivery"), by bounds that
point in opposite directions, or by amounts so far apart that they must measure different things.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from circumspect.knowledge.passages import cut, sentences
from circumspect.knowledge.stated_values import StatedValue, StatedValueKind, values
from circumspect.knowledge.terms import stem_word, telling_words, words
from circumspect.knowledge.tree import KnowledgeDocument, TextSpan
from circumspect.language.folding import INNER_MARKS
from circumspect.language.pack import Lines, join_words, packs


class Quoted(Protocol):
    """What is read of a passage; `search.Passage` is one."""

    @property
    def document(self) -> str: ...
    @property
    def section(self) -> str: ...
    @property
    def path(self) -> tuple[str, ...]: ...
    @property
    def span(self) -> TextSpan: ...
    @property
    def text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ConflictEvidence:
    """`quote` is the whole sentence, at `span` of the document; `value` is the value as written."""

    document: str
    section: str
    span: TextSpan
    quote: str
    value: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """`subject` is the words that both sides share, for a person to read."""

    kind: StatedValueKind
    subject: str
    left: ConflictEvidence
    right: ConflictEvidence


@dataclass(frozen=True, slots=True)
class _Claim:
    evidence: ConflictEvidence
    value: StatedValue
    near: frozenset[str]
    first: str
    wording: tuple[str, ...]
    title: frozenset[str]
    above: frozenset[str]
    telling: frozenset[str]
    condition: frozenset[str]
    numbers: frozenset[tuple[str, str, float]]
    units: frozenset[str]
    anchor: frozenset[str]
    side: str
    bound: str
    strict: bool
    years: frozenset[str]
    """Said in the sentence beside the value, or in a title above it."""
    names: frozenset[str]
    """In the titles above it."""


def find_conflicts(passages: Iterable[Quoted]) -> list[Conflict]:
    """Every pair, in the order of the passages. One section does not contradict itself: a list of cases looks so."""
    claims = [claim for passage in passages for claim in _claims(passage)]
    found: list[Conflict] = []
    seen: set[tuple[ConflictEvidence, ConflictEvidence]] = set()
    for index, left in enumerate(claims):
        for right in claims[index + 1 :]:
            key = (left.evidence, right.evidence)
            if key in seen or not _contradict(left, right):
                continue
            seen.add(key)
            found.append(Conflict(left.value.kind, _subject(left, right), left.evidence, right.evidence))
    return found


@dataclass(frozen=True, slots=True)
class _Piece:
    document: str
    section: str
    path: tuple[str, ...]
    span: TextSpan
    text: str


def conflicts_among(documents: Iterable[KnowledgeDocument]) -> list[Conflict]:
    """Conflicts anywhere in a set of documents; compares everything with everything, so for checking, not for turns."""
    return find_conflicts(
        _Piece(one.id, piece.section.id, piece.section.path, piece.span, one.quote(piece.span))
        for one in documents
        for piece in cut(one)
    )


# --- what a sentence claims -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _ClaimPatterns:
    """What limits a value, in any of the languages."""

    clause: re.Pattern[str]
    least: re.Pattern[str]
    least_after: re.Pattern[str]
    most: re.Pattern[str]
    before: re.Pattern[str]
    after: re.Pattern[str]
    condition: re.Pattern[str]
    supposed: re.Pattern[str]


@cache
def _patterns() -> _ClaimPatterns:
    spoken = [one.documents for one in packs()]

    def build(pattern: str, lists: Iterable[Lines]) -> re.Pattern[str]:
        return re.compile(pattern.replace("{}", join_words(lists)), re.IGNORECASE)

    up_to_value = r"{}[\s\u05be-]*$"
    return _ClaimPatterns(
        clause=build(r"[,;:()–—]\s|\s{}\s|\s\|\s", (one.clause for one in spoken)),
        least=build(up_to_value, (one.at_least for one in spoken)),
        least_after=build(r"^\s*{}", (one.at_least_after for one in spoken)),
        most=build(up_to_value, (one.at_most for one in spoken)),
        before=build(r"^\W*{}(?!\w)", (one.before for one in spoken)),
        after=build(r"^\W*{}(?!\w)", (one.after for one in spoken)),
        condition=build(r"(?<!\w){}(?!\w)(?P<what>[^,;.:()|]*)", (one.condition for one in spoken)),
        supposed=build(r"(?<!\w){}(?!\w)", (one.example for one in spoken)),
    )


_WRITTEN = re.compile(rf"[^\W\d_][\w{INNER_MARKS}-]*")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_TITLE_WORD = re.compile(r"(?<=[^\s.!?:|]) ([^\W\d_][\w-]+)")
_NAME = re.compile(r"(?<=[^\s.!?:|«\"(])\s[«\"(]?([^\W\d_][\w-]+)")


def _claims(passage: Quoted) -> Iterable[_Claim]:
    title = _telling(" ".join(passage.path[-1:]))
    # The first title is the document's own, the last is the section's.
    above = _telling(" ".join(passage.path[1:-1]))
    for sentence in sentences(passage.text):
        text = passage.text[sentence.start : sentence.end]
        if text.startswith("#") or _patterns().supposed.search(text):
            continue
        span = TextSpan(passage.span.start + sentence.start, passage.span.start + sentence.end)
        inside = values(text)
        wording = tuple(words(text)) if inside else ()
        for value in inside:
            evidence = ConflictEvidence(passage.document, passage.section, span, text, value.written)
            yield _claim(evidence, value, inside, title, above, wording, passage.path)


def _claim(
    evidence: ConflictEvidence,
    value: StatedValue,
    inside: Sequence[StatedValue],
    title: frozenset[str],
    above: frozenset[str],
    wording: tuple[str, ...],
    headings: tuple[str, ...],
) -> _Claim:
    text = evidence.quote
    alike = [other for other in inside if other.kind == value.kind]
    listed = len(alike) > 1 or "|" in text
    start, end = find_clause(text, value) if listed and "|" not in text else (0, len(text))
    # What leads up to the first of several values is said of them all.
    head = text[: alike[0].start] if listed and alike[0] is not value else ""
    clause = f"{_clause_head(head)} {_without(text, inside, start, end)}"
    after = text[value.end : end]
    before = text[max(0, value.start - 40) : value.start]
    telling = _telling(clause)
    # German writes "Stunden" with a capital, and nothing is called so.
    unnamed = _without(text, [other for other in inside if other.kind == "duration"], start, end)
    names = frozenset(stem_word(name.casefold()) for name in _NAME.findall(unnamed) if name[0].isupper())
    conditions = frozenset(term for what in _patterns().condition.findall(clause) for term in _telling(what))
    side = "before" if _patterns().before.match(after) else "after" if _patterns().after.match(after) else ""
    return _Claim(
        evidence,
        value,
        near=telling,
        first=next(iter(_list_subject_terms(clause)), ""),
        wording=wording,
        title=title,
        above=above,
        telling=(telling & list_differing_terms()) | names,
        condition=conditions,
        numbers=frozenset((other.kind, other.unit, other.amount) for other in inside if other is not value),
        units=frozenset(term for word in words(clause) if (term := stem_word(word)) in _units()),
        anchor=frozenset([stem_word(word) for word in telling_words(after.split(",")[0])][:2]) if side else frozenset(),
        side=side,
        bound=read_bound(before, after),
        strict=listed,
        years=list_years(f"{' '.join(headings)} {_without(text, inside, 0, len(text))}"),
        names=list_names(headings),
    )


def list_years(text: str) -> frozenset[str]:
    return frozenset(_YEAR.findall(text))


def list_names(headings: Iterable[str]) -> frozenset[str]:
    """Words of titles that are written like names: in the middle, with a capital."""
    found = (word for heading in headings for word in _TITLE_WORD.findall(heading))
    return frozenset(word.casefold() for word in found if word[0].isupper())


def find_clause(text: str, value: StatedValue) -> tuple[int, int]:
    """Where the clause around a value begins and ends."""
    marks = [(mark.start(), mark.end()) for mark in _patterns().clause.finditer(text)]
    start = max((end for _, end in marks if end <= value.start), default=0)
    return start, min((start_ for start_, _ in marks if start_ >= value.end), default=len(text))


def _clause_head(head: str) -> str:
    return re.split(r"[,;:]\s", head)[0]


def _without(text: str, inside: Sequence[StatedValue], start: int, end: int) -> str:
    """The clause less its values, whose numbers and units are no subject."""
    pieces, at = [], start
    for value in inside:
        if start <= value.start and value.end <= end:
            pieces.append(text[at : value.start])
            at = max(at, value.end)
    return " ".join((*pieces, text[at:end]))


def read_bound(before: str, after: str) -> str:
    """ "least" or "most", where what stands around a value says so."""
    if _patterns().least.search(before) or _patterns().least_after.match(after):
        return "least"
    return "most" if _patterns().most.search(before) else ""


def is_before(text: str, value: StatedValue) -> bool:
    """It is told back from something: "24 hours before it begins"."""
    return _patterns().before.match(text[value.end :]) is not None


def is_tied(text: str, value: StatedValue) -> bool:
    """A span of time that is told from something, or has an end: "two hours after the pool", "within 3 days"."""
    after = text[value.end :]
    return bool(
        _patterns().before.match(after)
        or _patterns().after.match(after)
        or read_bound(text[max(0, value.start - 40) : value.start], after)
    )


def _list_subject_terms(text: str) -> Iterable[str]:
    reduced = (stem_word(word) for word in telling_words(text) if not word[0].isdigit())
    return dict.fromkeys(term for term in reduced if term not in list_general_terms())


def _telling(text: str) -> frozenset[str]:
    return frozenset(_list_subject_terms(text))


def _stems(lists: Iterable[Lines]) -> frozenset[str]:
    return frozenset(stem_word(word) for lines in lists for line in lines for word in words(line))


@cache
def list_general_terms() -> frozenset[str]:
    """Words, reduced, that are too general to tell one subject from another."""
    return _stems(one.documents.general for one in packs()) - list_differing_terms()


@cache
def list_differing_terms() -> frozenset[str]:
    """Words, reduced, that tell one case from another."""
    return _stems(one.documents.telling for one in packs())


@cache
def list_rates() -> frozenset[str]:
    """Of these, words for how often: one is said for another."""
    return _stems(one.documents.rates for one in packs())


@cache
def _units() -> frozenset[str]:
    return _stems(one.documents.units for one in packs())


# --- whether two claims contradict each other -----------------------------------------------------------------------

_FARTHEST = 6.0


def _contradict(left: _Claim, right: _Claim) -> bool:
    here, there = left.evidence, right.evidence
    if (here.document, here.section) == (there.document, there.section) or left.wording == right.wording:
        return False
    return _differ(left.value, right.value) and _same_thing(left, right) and not _is_explained(left, right)


def _differ(left: StatedValue, right: StatedValue) -> bool:
    """Different amounts of the same measure, near enough to measure the same thing."""
    if left.kind != right.kind:
        return False
    if left.kind == "count":
        return (
            stem_word(left.unit) == stem_word(right.unit)
            and left.amount != right.amount
            and _near(left.amount, right.amount)
        )
    if left.kind == "date":
        return left.unit == right.unit and left.amount != right.amount
    if left.kind == "duration":
        if left.unit == right.unit == "working days":
            return left.amount != right.amount and _near(left.amount, right.amount)
        # Five working days are a week; a month has 30 or 31 days.
        one, two = (
            value.amount * 24 * 7 / 5 if value.unit == "working days" else value.amount for value in (left, right)
        )
        return abs(one - two) > 0.04 * max(one, two) and _near(one, two)
    return left.unit == right.unit and left.amount != right.amount and _near(left.amount, right.amount)


def _near(one: float, two: float) -> bool:
    low, high = sorted((one, two))
    return low > 0 and high / low <= _FARTHEST


def _same_thing(left: _Claim, right: _Claim) -> bool:
    shared = left.near & right.near
    crossed = shared | (left.title & (right.near | right.title)) | (right.title & left.near)
    if not left.near or not right.near:
        # "30 days." under a title that says what of.
        bare = min((left, right), key=lambda claim: len(claim.near))
        return len(bare.wording) <= 4 and bool(left.title & right.title) and (left.near | right.near) <= crossed
    # A title that both have says nothing about a word that only one of them has.
    only_left = left.near - right.near - (right.title - left.title)
    only_right = right.near - left.near - (left.title - right.title)
    if not only_left and not only_right:
        return len(crossed) >= 2 or len(shared) == 1
    if left.evidence.document == right.evidence.document or left.strict or right.strict:
        return False
    if not only_left or not only_right:
        if left.first not in right.near | right.title and right.first not in left.near | left.title:
            return False
        return len(crossed) >= 2 and len(only_left | only_right) <= len(shared)
    common = shared | (left.anchor & right.anchor)
    return len(common) >= 4 and len(common) >= 0.5 * min(len(left.near), len(right.near))


def is_other_case(left: frozenset[str], right: frozenset[str]) -> bool:
    """Each has years, or names, that the other has not."""
    return bool(left - right and right - left)


def _is_explained(left: _Claim, right: _Claim) -> bool:
    if is_other_case(left.years, right.years) or is_other_case(left.names, right.names):
        return True
    for one, other in ((left, right), (right, left)):
        known = other.near | other.title
        if one.telling - known:
            return True
        lacking = one.condition - known
        if lacking and len(lacking) * 2 > len(one.condition):
            return True
    if left.title & list_differing_terms() and right.title & list_differing_terms():
        elsewhere = (left.title & list_differing_terms()) - right.title - right.near
        otherwise = (right.title & list_differing_terms()) - left.title - left.near
        if elsewhere and otherwise:
            return True
    here, there = left.above, right.above
    if left.evidence.document == right.evidence.document:
        here, there = here | left.title, there | right.title
    if here - there - right.near and there - here - left.near:
        return True
    if left.units and right.units and left.units != right.units:
        return True
    if left.anchor and right.anchor and not left.anchor & right.anchor:
        return True
    if left.side and right.side and left.side != right.side:
        return True
    if {left.bound, right.bound} == {"least", "most"}:
        return True
    return bool(left.numbers and right.numbers and not left.numbers & right.numbers)


def _subject(left: _Claim, right: _Claim) -> str:
    shared = (left.near | left.title) & (right.near | right.title)
    return list_written(shared, left.evidence.quote) or " ".join(sorted(shared))


def list_written(terms: frozenset[str], *texts: str) -> str:
    """Reduced words as the first of the texts that has any of them writes them, for a person to read."""
    for text in texts:
        said = (token for token in _WRITTEN.findall(text) if any(stem_word(word) in terms for word in words(token)))
        if told := " ".join(dict.fromkeys(said)):
            return told
    return ""
