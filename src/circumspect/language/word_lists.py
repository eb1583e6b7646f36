"""Word lists with inflection: `<language>/<name>.txt` -> patterns, matched against a text made of whole words.

One phrase a line under a [heading]. In a phrase `*` stands for the rest of a word, `...` for up to four words of the
same clause, `a/b` for either (`+` joins words of one side), a trailing `?` for a word that may be left out, and `@name`
for any line under the heading [=name]. Matching is by whole words: "sue" is not found in "issue". Hebrew glues its
small words to the next one ("and", "the", "to"), so a Hebrew word of three letters or more is found behind them too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

from circumspect.errors import ConfigError
from circumspect.language.phrases import normalise_text, words
from circumspect.values import Language

_IN_WORD = r"[^|\s]"
_GAP = rf"(?:{_IN_WORD}+ ){{0,4}}"
_HEBREW = re.compile(r"[א-ת]{3,}")
_GLUED = "(?:[ושהכלבמ]|ול|וה|וש|שה|של|כש|מה|לה|וב|ומ){0,1}"
_SCRIPTS: tuple[tuple[Language, re.Pattern[str]], ...] = (
    ("en", re.compile(r"[a-z]", re.IGNORECASE)),
    ("he", re.compile(r"[\u05d0-\u05ea]")),
    ("ru", re.compile(r"[\u0400-\u052f]")),
)


def as_matchable(text: str) -> str:
    """The text as the patterns read it: words in one spelling, a space around each, `|` between clauses."""
    return f" {' '.join(words(normalise_text(text)))} "


def pick_languages(text: str, language: Language) -> tuple[Language, ...]:
    """The languages whose lists apply: the conversation's, and every one whose letters occur. People mix them."""
    return tuple(one for one, letters in _SCRIPTS if one == language or letters.search(text))


@cache
def patterns(name: str, language: Language) -> Mapping[str, re.Pattern[str]]:
    """A pattern for every heading of a list. A heading without phrases matches nothing."""
    headings = _headings(name, language)
    parts = {heading[1:]: lines for heading, lines in headings.items() if heading.startswith("=")}
    return {
        heading: compile_phrases(lines, parts)
        for heading, lines in headings.items()
        if lines and not heading.startswith("=")
    }


def compile_phrases(phrases: tuple[str, ...], parts: Mapping[str, tuple[str, ...]] | None = None) -> re.Pattern[str]:
    """One pattern that finds any of the phrases in a text from `said`."""
    ways = (_phrase(phrase, parts or {}) for phrase in sorted(set(phrases), key=len, reverse=True))
    return re.compile(rf"(?<= )(?:{'|'.join(ways)})")


def _phrase(phrase: str, parts: Mapping[str, tuple[str, ...]]) -> str:
    return "".join(_word(word, phrase, parts) for word in phrase.split())


def _word(word: str, phrase: str, parts: Mapping[str, tuple[str, ...]]) -> str:
    if word == "...":
        return _GAP
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
    return _GLUED + escaped if _HEBREW.match(word) else escaped


@cache
def _headings(name: str, language: Language) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    heading = ""
    file = resources.files("circumspect.language").joinpath(language, f"{name}.txt")
    for raw in file.read_text("utf-8").splitlines():
        line = raw.strip()
        if line.startswith("[") and line.endswith("]"):
            heading = line[1:-1]
            found.setdefault(heading, [])
        elif line and not line.startswith("#"):
            # Read like a message, so that a list may be written as people write.
            found.setdefault(heading, []).append(
                " ".join(word if word == "..." else normalise_text(word) for word in line.split())
            )
    return {title: tuple(lines) for title, lines in found.items()}
