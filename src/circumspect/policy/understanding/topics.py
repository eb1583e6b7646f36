"""Sensitive topics in a message, and whether it asks about them or makes a demand: text -> topics.

"What is your refund policy?" is a question that documents answer. "I want my money back or I call my lawyer" is for a
person. Word lists per language decide (`sensitive.txt` of each), sentence by sentence: a phrase that is a
demand by itself, or the words of a topic beside "I want" and its kin, unless the sentence is framed as a question.

The one choice that may surprise: a denied wish is no topic at all. "I don't want a refund, just my parcel" is about
the parcel. And a demand anywhere outweighs a question elsewhere in the same message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from circumspect.language.pack import join_words, packs
from circumspect.language.sentences import split_sentences
from circumspect.language.word_lists import as_matchable, compile_phrases, patterns, pick_languages
from circumspect.values import Language

Stance = Literal["asks", "demands"]

LONGEST = 20_000
_BEFORE = 48
_FRAMES = frozenset(("asks", "supposes", "demands"))


@dataclass(frozen=True, slots=True)
class SensitiveTopic:
    """A topic that was found. `words` are the message's own words that gave it away."""

    name: str
    stance: Stance
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExtraTopic:
    """A topic of a tenant's own. Phrases are written as in the lists: `*` is the rest of a word, `a/b` either.

    `demands` are phrases that are a demand by themselves; without any, "I want" and its kin beside `phrases` are.
    """

    name: str
    phrases: tuple[str, ...]
    demands: tuple[str, ...] = ()


def topics(text: str, language: Language, extra: Sequence[ExtraTopic] = ()) -> tuple[SensitiveTopic, ...]:
    """Every sensitive topic of the message, demands first, each once."""
    found: dict[str, tuple[Stance, dict[str, None]]] = {}
    for sentence in split_sentences(text[:LONGEST], "anywhere"):
        heard = as_matchable(sentence)
        for one in pick_languages(sentence, language):
            for name, stance, words in _in_sentence(heard, one, extra):
                before, kept = found.get(name, ("asks", {}))
                found[name] = ("demands" if "demands" in (stance, before) else "asks", kept | dict.fromkeys(words))
    listed = [SensitiveTopic(name, stance, tuple(words)) for name, (stance, words) in found.items()]
    return tuple(sorted(listed, key=lambda topic: topic.stance == "asks"))


def list_demands(found: Sequence[SensitiveTopic]) -> tuple[str, ...]:
    """The names of the topics that are for a person."""
    return tuple(topic.name for topic in found if topic.stance == "demands")


def _in_sentence(
    heard: str, language: Language, extra: Sequence[ExtraTopic]
) -> Iterator[tuple[str, Stance, tuple[str, ...]]]:
    lists = patterns("sensitive", language)
    asked = lists["asks"].search(heard) is not None
    supposed = asked and lists["supposes"].search(heard) is not None
    wished = not asked and bool(_find_undenied(lists["demands"], heard))
    for name, topic, demand in _topics(language, extra):
        words = _find_undenied(topic, heard)
        strong = _find_undenied(demand, heard) if demand else ()
        if words or strong:
            demands = (strong and not supposed) or wished
            yield name, "demands" if demands else "asks", tuple(dict.fromkeys((*strong, *words)))


def _topics(
    language: Language, extra: Sequence[ExtraTopic]
) -> Iterator[tuple[str, re.Pattern[str], re.Pattern[str] | None]]:
    lists = patterns("sensitive", language)
    for name, pattern in lists.items():
        if name not in _FRAMES and not name.endswith(" demands"):
            yield name, pattern, lists.get(f"{name} demands")
    for topic in extra:
        yield topic.name, _own(topic.phrases), _own(topic.demands) if topic.demands else None


def _own(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return compile_phrases(
        tuple(as_matchable(phrase).strip() if phrase.isalpha() else phrase.lower() for phrase in phrases)
    )


@cache
def _denied() -> re.Pattern[str]:
    lists = [one.wishes for one in packs()]
    denial, gap = join_words(one.topic_denied for one in lists), join_words(one.topic_denied_gap for one in lists)
    return re.compile(rf" {denial}(?: {gap})* \Z")


def _find_undenied(pattern: re.Pattern[str], heard: str) -> tuple[str, ...]:
    """What the pattern finds and nobody denies."""
    return tuple(
        hit[0].strip()
        for hit in pattern.finditer(heard)
        if not _denied().search(heard, max(0, hit.start() - _BEFORE), hit.start())
    )
