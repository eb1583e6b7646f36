"""Word lists with inflection: `<language>/<name>.txt` -> patterns, matched against a text made of whole words.

One phrase a line under a [heading]. In a phrase `*` stands for the rest of a word, `...` for up to four words of the
same clause, `a/b` for either (`+` joins words of one side), a trailing `?` for a word that may be left out, and `@name`
for any line under the heading [=name]. Matching is by whole words: "sue" is not found in "issue". Where a language
writes small words together with the next one, a word of three letters or more is found behind them too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from circumspect.errors import ConfigError
from circumspect.language.files import read_lists
from circumspect.language.folding import fold_words
from circumspect.language.pack import Lines, join_patterns, pack, packs
from circumspect.language.phrases import words
from circumspect.language.registry import Language

_IN_WORD = r"[^|\s]"


def as_matchable(text: str) -> str:
    """The text as the patterns read it: words in one spelling, a space around each, `|` between clauses."""
    return f" {' '.join(words(fold_words(text)))} "


def pick_languages(text: str, language: Language) -> tuple[Language, ...]:
    """The languages whose lists apply: the conversation's, and every one whose letters occur. People mix them."""
    return tuple(one.code for one in packs() if one.code == language or one.script.letter.search(text))


@cache
def patterns(name: str, language: Language) -> Mapping[str, re.Pattern[str]]:
    """A pattern for every heading of a list. A heading without phrases matches nothing."""
    headings = _headings(name, language)
    parts = {heading[1:]: lines for heading, lines in headings.items() if heading.startswith("=")}
    return {
        heading: compile_phrases(lines, parts, pack(language).wishes.denied_inside)
        for heading, lines in headings.items()
        if lines and not heading.startswith("=")
    }


def compile_phrases(
    phrases: tuple[str, ...], parts: Mapping[str, tuple[str, ...]] | None = None, denials: Lines = ()
) -> re.Pattern[str]:
    """One pattern that finds any of the phrases in a text from `as_matchable`, over no gap that holds a denial."""
    gap = compile_gap(denials)
    ways = (_phrase(phrase, parts or {}, gap) for phrase in sorted(set(phrases), key=len, reverse=True))
    return re.compile(rf"(?<= )(?:{'|'.join(ways)})")


def compile_gap(denials: Lines) -> str:
    """What `...` stands for: up to four words of the clause, none of which denies what the phrase says."""
    refused = f"(?!{join_patterns(denials)} )" if denials else ""
    return rf"(?:{refused}{_IN_WORD}+ ){{0,4}}"


def _phrase(phrase: str, parts: Mapping[str, tuple[str, ...]], gap: str) -> str:
    return "".join(gap if word == "..." else _word(word, phrase, parts) for word in phrase.split())


def _word(word: str, phrase: str, parts: Mapping[str, tuple[str, ...]]) -> str:
    optional = word.endswith("?") and len(word) > 1
    ways: list[str] = []
    for way in word.removesuffix("?").split("/") if word != "/" else (word,):
        if not way.startswith("@"):
            ways.append(_exact(way))
        elif way[1:] in parts:
            ways += [" ".join(map(_exact, line.split())) for line in parts[way[1:]]]
        else:
            raise ConfigError(f"'{phrase}' names the list '{way}', which is not there.", fix=f"Add [={way[1:]}].")
    return f"(?:(?:{'|'.join(ways)}) ){'?' if optional else ''}"


def _exact(word: str) -> str:
    # A message is read without its hyphens.
    spaced = re.sub(r"(?<=\w)[-+](?=\w)", " ", word)
    escaped = re.escape(spaced).replace(r"\*", f"{_IN_WORD}*").replace("\\ ", " ")
    return next((before for letters, before in _glued() if letters.match(word)), "") + escaped


@cache
def _headings(name: str, language: Language) -> Mapping[str, tuple[str, ...]]:
    return {heading: tuple(map(as_written, lines)) for heading, lines in read_lists(language, name).items()}


def as_written(line: str) -> str:
    """A line of a list read like a message, so that it may be written as people write."""
    return " ".join(word if word == "..." else fold_words(word) for word in line.split())


def spell_glued(word: str) -> tuple[str, ...]:
    """A word as it may stand in a text: alone, and together with each small word of one letter."""
    before = next((small for letter, small in _glued_letters() if letter.match(word)), ())
    return (word, *(f"{small}{word}" for small in before))


@cache
def _glued_letters() -> tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]:
    found = []
    for one in packs():
        glued = re.compile(join_patterns(one.about.glued)) if one.about.glued else None
        if glued is not None:
            letters = filter(one.script.letter.match, map(chr, range(0x10000)))
            found.append((one.script.letter, tuple(small for small in letters if glued.fullmatch(small))))
    return tuple(found)


@cache
def _glued() -> tuple[tuple[re.Pattern[str], str], ...]:
    """By language: its words of three letters or more, and what may be written together with them."""
    return tuple(
        (re.compile(f"[{one.script.letters}]{{3,}}"), f"{join_patterns(one.about.glued)}?")
        for one in packs()
        if one.about.glued
    )
