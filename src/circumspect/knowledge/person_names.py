"""Text -> the names of people in it, as values that can be compared.

Where a script has capitals, two or more words with one are a name, and so is one behind a title ("Dr. Levi"). One word
with a capital, or two in a script that has none, are a name behind a colon or a word that leads up to it ("led by").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from circumspect.knowledge.answer_terms import is_among
from circumspect.knowledge.stated_values import StatedValue
from circumspect.knowledge.terms import stem_word, stop_words, words
from circumspect.language.pack import join_words, packs

_WORD = re.compile(r"[^\W\d_][\w'’-]+")
_BETWEEN = re.compile(r" (?:[^\W\d_]\. )?")
_ALIKE = 4
"""Names of which so many letters are the same are one name, inflected."""


@dataclass(frozen=True, slots=True)
class _NamePatterns:
    title: re.Pattern[str]
    led_to: re.Pattern[str]


@cache
def _patterns() -> _NamePatterns:
    told = [one.conflicts for one in packs()]
    title = join_words(one.honorific for one in told)
    before = join_words(one.before_name for one in told)
    word = _WORD.pattern
    return _NamePatterns(
        title=re.compile(rf"(?<!\w){title}\s+(?P<name>{word}(?: {word})?)"),
        led_to=re.compile(rf"(?:(?<!\w)|(?<=\w)(?=[:–—])){before}\s+(?P<name>{word}(?: {word})?)(?!\w)"),
    )


def list_person_names(text: str, about: frozenset[str], stated: Iterable[StatedValue]) -> list[StatedValue]:
    """`about` are the words of the question, reduced: what was asked about is no name, nor is a weekday."""
    for one in stated:
        text = text[: one.start] + "|" * (one.end - one.start) + text[one.end :]
    return [*_titled(text)] or [*_capitals(text, about)] or [*_led_to(text, about)]


def is_same_name(one: StatedValue, other: StatedValue) -> bool:
    """They have a word in common: "Helga Brandt" and "Ms Brandt"."""
    return any(
        left == right or (len(left) > _ALIKE and left[:_ALIKE] == right[:_ALIKE] and abs(len(left) - len(right)) <= 2)
        for left in one.unit.split()
        for right in other.unit.split()
    )


def _titled(text: str) -> Iterator[StatedValue]:
    for hit in _patterns().title.finditer(text):
        if said := [word for word in _WORD.finditer(text, *hit.span("name")) if not word[0][0].islower()]:
            yield _name(said[:1] if _is_caseless(said[0][0]) else said)


def _capitals(text: str, about: frozenset[str]) -> Iterator[StatedValue]:
    """Words in a row; an initial between them ends nothing."""
    run: list[re.Match[str]] = []
    for word in _WORD.finditer(text):
        if not word[0][0].isupper() or _is_known(word[0], text, about):
            continue
        if run and not _BETWEEN.fullmatch(text[run[-1].end() : word.start()]):
            if len(run) > 1:
                yield _name(run)
            run = []
        run.append(word)
    if len(run) > 1:
        yield _name(run)


def _led_to(text: str, about: frozenset[str]) -> Iterator[StatedValue]:
    for hit in _patterns().led_to.finditer(text):
        said = [*_WORD.finditer(text, *hit.span("name"))]
        if not _is_caseless(hit["name"]):
            said = [word for word in said[:1] if word[0][0].isupper()]
        elif len(said) == 1:
            continue
        if said and not any(_is_known(word[0], text, about) for word in said):
            yield _name(said)


def _is_known(word: str, text: str, about: frozenset[str]) -> bool:
    plain = words(word)
    return not plain or plain[0] in stop_words(text) or is_among(stem_word(plain[0]), about)


def _is_caseless(word: str) -> bool:
    return word.upper() == word.lower()


def _name(said: Sequence[re.Match[str]]) -> StatedValue:
    plain = " ".join(word for one in said for word in words(one[0]))
    return StatedValue("name", plain, 0, said[0].start(), said[-1].end(), " ".join(one[0] for one in said))
