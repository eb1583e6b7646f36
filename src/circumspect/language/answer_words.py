"""The words that answers are made of: a message -> its known phrases and values, in order, each with its kind.

`phrases.txt` of each language has them. Languages of different scripts are read together; of those that share a script
one is read at a time, because a word of one may be another in the next.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from circumspect.language.folding import fold_words
from circumspect.language.pack import LanguagePack, join_patterns, pack, packs, packs_read_with
from circumspect.language.phrases import BREAK, shorten_word, words
from circumspect.values import Language

AnswerPhrase = tuple[str, ...]
_QUOTED = re.compile(r"[\"“”„«»]([^\"“”„«»]*)[\"“”„«»]|(?<!\w)'([^']*)'(?!\w)")
_REPEATED = 2
"""So many words of a question before a value may be repeated with it."""
_SIGNS = re.compile(r"[#№$€£₪₽%+]")
_WORD_PARTS = re.compile(r"[_\W]+|(?<=[a-z])(?=[A-Z])")


class UnknownWord(Exception):
    """A word of the message is in no list of the languages that it is read in."""


def is_question(text: str) -> bool:
    return any(sign in text for sign in "?？؟")


def find_parts(
    text: str, values: Collection[str], table: AnswerTable, asked: str = "", wished: Collection[str] = ()
) -> list[tuple[str, str]] | None:
    """The message as (kind, name) of its parts, with a `BREAK` between clauses; None where it quotes somebody. A word
    that no list has says nothing where it stands before a value in the question that was `asked`, too.

    Raises `UnknownWord` for one that the table does not know.
    """
    known = {tuple(read_value(word) for word in words(fold_words(value)) if word != BREAK) for value in values}
    known.discard(())
    plain = _strip_quotes(_inner_quotes().sub("", fold_words(text)), known)
    phrases = {tuple(words(fold_words(phrase))) for phrase in wished}
    return None if plain is None else list(_parts(words(plain), known, table, asked, phrases))


def _parts(
    said: list[str],
    values: Collection[AnswerPhrase],
    table: AnswerTable,
    asked: str,
    wished: Collection[AnswerPhrase],
) -> Iterator[tuple[str, str]]:
    """The message as known phrases and values, longest first: (kind, name) for each."""
    said = [table.find_spelling(word) for word in said]
    at = 0
    while at < len(said):
        if said[at] == BREAK:
            yield BREAK, ""
            at += 1
            continue
        length, kind, name = table.longest(said, at)
        value = _longest_value(said, at, values, glued=bool(table.joined))
        if value > max(length, 1) or (value and kind in ("", "filler", "act", "thing", "want")):
            length, kind, name = value, "value", " ".join(map(read_value, said[at : at + value]))
        asked_for = _longest_value(said, at, wished)
        if asked_for > length or (asked_for and not kind):
            length, kind, name = asked_for, "wished", " ".join(said[at : at + asked_for])
        if not kind and said[at] in _find_words_before(words(fold_words(asked)), values):
            length, kind, name = 1, "filler", said[at]
        if not kind:
            raise UnknownWord
        yield kind, name
        at += length


def _find_words_before(said: list[str], values: Collection[AnswerPhrase]) -> Iterator[str]:
    """What a question calls its values: "for order" of "should I pay back the money for order 12345?"."""
    for at in range(len(said)):
        if _longest_value(said, at, values):
            for word in reversed(said[max(0, at - _REPEATED) : at]):
                if not word.isalpha():
                    break
                yield word


def _longest_value(said: list[str], at: int, values: Collection[AnswerPhrase], *, glued: bool = False) -> int:
    """How many words from here on are exactly one of the values. Where small words are glued to the next one, "to" may
    stand before a value of several words."""
    best = 0
    for value in values:
        place, matched = at, 0
        while matched < len(value) and place < len(said):
            if said[place] != BREAK:
                if read_value(said[place]) != value[matched] and not (
                    glued and matched == 0 and len(value) > 1 and _is_glued(said[place], value[0])
                ):
                    break
                matched += 1
            place += 1
        if matched == len(value):
            best = max(best, place - at)
    return best


def _is_glued(word: str, first: str) -> bool:
    """One letter stands before the word, of those languages that have but one case. The next may be doubled then."""
    return word[1:] in (first, first[:1] + first) and first.isalpha() and first.upper() == first


@lru_cache(maxsize=1024)
def read_value(word: str) -> str:
    """A value without the signs around it: #12345 is 12345, $20.50 and 20,50 € are 20.5."""
    bare = _SIGNS.sub("", word) or word
    if not bare[:1].isdigit():
        return bare
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", bare):
        bare = bare.replace(",", "")
    elif re.fullmatch(r"(\d+|\d{1,3}(\.\d{3})+),\d{1,2}", bare):
        bare = bare.replace(".", "").replace(",", ".")
    return re.sub(r"\.0+$|(\.\d*?[1-9])0+$", r"\1", bare)


def _strip_quotes(text: str, values: Collection[AnswerPhrase]) -> str | None:
    """The text with quotation marks taken off the values. Any other words in quotation marks are somebody else's."""
    for quoted in _QUOTED.finditer(text):
        inside = quoted[1] or quoted[2] or ""
        if tuple(read_value(word) for word in words(inside) if word != BREAK) not in values:
            return None
    return _QUOTED.sub(lambda quoted: (quoted[1] or "").strip() or quoted[2] or "", text)


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """The phrases of the languages that a message is read in by their first word, longest first."""

    by_first: dict[str, list[tuple[AnswerPhrase, str]]]
    groups: dict[tuple[str, str], frozenset[str]]
    words: frozenset[str]
    dangling: frozenset[str]
    not_last: frozenset[str]
    """A "not" that may stand at the end of its clause and turn what went before."""
    drawn_out: frozenset[str]
    """Words that may be written with their letters repeated. Not all: "too" is not "to", "off" is not "of"."""
    joined: tuple[str, ...]
    """What an "and" looks like that is written together with the next word."""

    def find_spelling(self, word: str) -> str:
        """The known word that this one stands for, drawn out or with an "and" before it; or itself."""
        if word in self.words:
            return word
        if short := next((way for way in shorten_word(word) if way in self.drawn_out), None):
            return short
        bare = (word.removeprefix(small) for small in self.joined if word.startswith(small))
        return next((rest for rest in bare if rest in self.words), word)

    def find_groups(self, kind: str, phrase: str) -> frozenset[str]:
        """The actions or things that a phrase may name."""
        return self.groups.get((kind, phrase), frozenset())

    def find_groups_of_call(self, kind: str, values: Collection[str]) -> frozenset[str]:
        """Those that a call is about, by the words of its tool and of its values."""
        named = {fold_words(part) for value in values for part in _WORD_PARTS.split(value) if part}
        return frozenset(group for word in named for group in self.find_groups(kind, word))

    def longest(self, said: list[str], at: int) -> tuple[int, str, str]:
        for phrase, kind in self.by_first.get(said[at], ()):
            if tuple(said[at : at + len(phrase)]) == phrase:
                return len(phrase), kind, " ".join(phrase)
        return 0, "", ""


_DRAWN_OUT = ("yes", "ok", "go", "no", "nope")
_REFUSING = ("no", "nope", "not", "halt", "keep", "correction")
_KINDS = (*_DRAWN_OUT, *_REFUSING, "sign", "want", "doubt", "unsure", "only", "blocker", "filler")


@cache
def _inner_quotes() -> re.Pattern[str]:
    """A sign that is a quotation mark elsewhere, between two letters of a language that writes it there."""
    return re.compile(
        join_patterns(
            f"(?<=[{one.script.letters}]){re.escape(sign)}(?=[{one.script.letters}])"
            for one in packs()
            for sign in one.about.quote_inside_words
        )
    )


@cache
def find_tables(language: Language) -> tuple[AnswerTable, ...]:
    """One table for each language of the conversation's script, its own first, with all of other scripts in each."""
    first = packs_read_with(language)
    script = pack(language).script
    rest = (packs_read_with(one.code) for one in packs() if one.script is script and one.code != language)
    return tuple(map(_table, (first, *rest)))


@cache
def _table(languages: tuple[LanguagePack, ...]) -> AnswerTable:
    kinds: dict[AnswerPhrase, str] = {}
    groups: dict[tuple[str, str], frozenset[str]] = {}
    for language in packs():
        for heading, phrases in language.phrases.items():
            kind, _, group = heading.partition(" ")
            if not (kind in ("act", "thing") if group else kind in _KINDS):
                continue
            for line in phrases:
                parts = tuple(line.split())
                if language in languages:
                    kinds.setdefault(parts, kind)
                if group:
                    # Of all languages: a tool's name is English whatever the answer is in.
                    key = (kind, " ".join(parts))
                    groups[key] = groups.get(key, frozenset()) | {group}
    by_first: dict[str, list[tuple[AnswerPhrase, str]]] = {}
    for phrase in sorted(kinds, key=len, reverse=True):
        by_first.setdefault(phrase[0], []).append((phrase, kinds[phrase]))
    answers = (phrase[0] for phrase, kind in kinds.items() if len(phrase) == 1 and kind in _DRAWN_OUT)
    courtesies = (phrase[0] for phrase, kind in kinds.items() if kind == "filler" and len(phrase[0]) > 3)
    return AnswerTable(
        by_first,
        groups,
        words=frozenset(word for phrase in kinds for word in phrase),
        dangling=frozenset(phrase for language in languages for phrase in language.phrases["dangling"]),
        not_last=frozenset(phrase for language in languages for phrase in language.phrases["not last"]),
        drawn_out=frozenset((*answers, *courtesies)),
        joined=tuple(small for language in languages for small in language.about.glued_and),
    )
