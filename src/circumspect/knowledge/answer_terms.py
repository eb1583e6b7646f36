"""The words of questions and answers, and which of them a text has: reduced, without small and general ones.

Stems of one word differ between a noun and its verb, so that words also count as the same where they begin alike.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache, lru_cache
from itertools import pairwise, takewhile
from typing import Literal

from circumspect.knowledge.conflicts import list_differing_terms, list_general_terms
from circumspect.knowledge.terms import stem_word, stop_words, telling_words, words
from circumspect.language.detection import find_language
from circumspect.language.folding import fold
from circumspect.language.pack import Lines, join_glued_and, join_patterns, join_words, pack, packs, split_pairs
from circumspect.values import Language

_CITED = re.compile(r"\[(\d{1,3})\]")
_OF_THE_SAME = 0.5
_ALIKE = 5
"""Words that begin with the same letters, so many, are forms of one word."""
_INFLECTED = 7
"""Letters of a word that may have something inserted."""
_LEAST_STEM = 3
_FEW_THINGS = 3


def share(said: Collection[str], told: frozenset[str]) -> float:
    if not said:
        return 1.0
    return sum(is_among(one, told) for one in said) / len(said)


def is_among(term: str, told: frozenset[str]) -> bool:
    return term in told or term[:_ALIKE] in told


def list_question_terms(question: str) -> frozenset[str]:
    """What a question is about: its words less those that only ask."""
    # "How long" only asks; "what is the cancellation fee" also says what for.
    told = _asking_amount().sub(lambda hit: hit[0] if hit[0].count(" ") > 1 else " ", fold(question))
    return list_terms(told) - _list_asking_terms()


def list_cases(question: str, asked: Collection[str]) -> frozenset[str]:
    """Those of its words that tell one case from another. English lists these in every form, and words that share a
    stem with one are others: "used" tells, "use" does not, nor does "opening" for the sake of "opened"."""
    cases = list_differing_terms().intersection(asked)
    if find_language(question) != "en":
        return cases
    written = {word.removesuffix("'s") for word in words(fold(question))}
    return cases & {stem_word(word) for word in written if not _case_words().isdisjoint((word, word.removesuffix("s")))}


def list_deeds(question: str) -> frozenset[str]:
    """What somebody does in it, reduced: documents may call that otherwise. What it is done to they have to name."""
    told, subjects = words(fold(question)), _list_grammar("subjects", find_language(question) or "en")
    return frozenset(stem_word(after) for before, after in pairwise(told) if before in subjects)


def list_unnamed_things(question: str, about: Collection[str], told: frozenset[str]) -> frozenset[str]:
    """Those of its things that a text does not name. Where words are inflected the last letter of a stem may go, and of
    many things one may be written in a form that we do not know."""
    missing = frozenset(one for one in list_named_things(question) & frozenset(about) if not is_among(one, told))
    if not _verb_ends(find_language(question) or "en"):
        return missing
    if len(about) > _FEW_THINGS:
        return frozenset()
    return frozenset(
        one for one in missing if not any(word.startswith(one[: max(_LEAST_STEM, len(one) - 1)]) for word in told)
    )


def list_named_things(question: str) -> frozenset[str]:
    """Words, reduced, behind an article or the like; in a language without these all that do not end like a verb."""
    language = find_language(question) or "en"
    if verbs := _verb_ends(language):
        nouns = (word for word in telling_words(question) if not verbs.fullmatch(word))
        return frozenset(map(stem_word, nouns)) - list_deeds(question)
    determiners, auxiliaries = (_list_grammar(name, language) for name in ("determiners", "auxiliaries"))
    small, told, found = stop_words(question), words(fold(question)), set[str]()
    for at, word in enumerate(told):
        if word not in determiners:
            continue
        chain = list(takewhile(lambda one: one not in small, told[at + 1 :]))
        # "Does the shop open": behind the thing stands what it does.
        if len(chain) > 1 and at and told[at - 1] in auxiliaries:
            chain.pop()
        found.update(map(stem_word, chain))
    return frozenset(found)


@cache
def _list_grammar(name: Literal["subjects", "determiners", "auxiliaries"], language: Language) -> frozenset[str]:
    lines: Lines = getattr(pack(language).documents, name)
    return frozenset(fold(word) for line in lines for word in line.split())


def is_opposed(question: str, place: str) -> bool:
    """The place says "within" where "outside" was asked, and nothing of that."""
    asked, there = frozenset(words(question)), frozenset(words(place))
    return any(
        asked & one and there & other and not asked & other and not there & one for one, other in _list_opposites()
    )


@cache
def _list_opposites() -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    pairs = [
        (frozenset(words(left)), frozenset(words(right)))
        for one in packs()
        for left, right in split_pairs(one.documents.opposites)
    ]
    return (*pairs, *((right, left) for left, right in pairs))


@cache
def _verb_ends(language: Language) -> re.Pattern[str] | None:
    lines = pack(language).conflicts.verb_ends
    return re.compile(rf"(?<!\w){join_patterns(lines)}") if lines else None


@cache
def list_parts_of_the_day() -> frozenset[str]:
    return frozenset(
        stem_word(word) for one in packs() for line in one.documents.parts_of_the_day for word in words(line)
    )


@cache
def _case_words() -> frozenset[str]:
    return frozenset(word for one in packs() for line in one.documents.telling for word in words(line))


@cache
def _asking_amount() -> re.Pattern[str]:
    lines = join_words(one.documents.asks_amount for one in packs())
    return re.compile(rf"(?<!\w){join_glued_and()}{lines}(?!\w)")


def asks_amount(question: str) -> bool:
    return _asking_amount().search(fold(question)) is not None


def asks_share(question: str) -> bool:
    """How many per cent."""
    return _percent().search(fold(question)) is not None


@cache
def _percent() -> re.Pattern[str]:
    return re.compile(rf"(?:{join_patterns(line for one in packs() for line in one.values.percent)})", re.IGNORECASE)


@cache
def _list_asking_terms() -> frozenset[str]:
    return frozenset(stem_word(word) for one in packs() for line in one.about.question_words for word in words(line))


def asks_nothing_new(question: str, text: str) -> bool:
    """A question back is made of the words of the message: whoever wrote that would write it again."""
    return share(list_question_terms(question), read_words(text)) >= _OF_THE_SAME


def list_terms(text: str) -> frozenset[str]:
    """The words that tell something, reduced, without numbers."""
    small, general = stop_words(text), list_general_terms()
    reduced = (stem_word(one) for one in words(_CITED.sub(" ", text)) if one not in small and one[0].isalpha())
    return frozenset(one for one in reduced if one not in general)


@lru_cache(maxsize=64)
def read_words(text: str) -> frozenset[str]:
    """Every word of the texts, reduced, and the beginnings of the longer ones."""
    return frozenset(form for one in words(text) for form in _list_forms(one))


def _list_forms(word: str) -> Iterable[str]:
    reduced = stem_word(word)
    yield reduced
    if len(word) >= _ALIKE:
        yield word[:_ALIKE]
    if len(word) >= _INFLECTED and (hit := _inserted().match(word)):
        yield (hit["kept"] + word[hit.end() :])[:_ALIKE]


def is_compounded(term: str, told: frozenset[str]) -> bool:
    """A word that languages write as one is told in two: "die Kündigungsfrist" as "kann mit einer Frist gekündigt
    werden". The last part stands alone, and what comes before it is a word's beginning."""
    if len(term) < 2 * _ALIKE:
        return False
    heads = (one for one in told if len(one) >= _ALIKE and len(one) <= len(term) - _ALIKE and term.endswith(one))
    return any(term[:_ALIKE] in told - {head, head[:_ALIKE]} for head in heads)


@cache
def _inserted() -> re.Pattern[str]:
    return re.compile(join_patterns(line for one in packs() for line in one.conflicts.inserted))
