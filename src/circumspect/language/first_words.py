"""Which of many patterns can begin at a word: patterns -> an index, so that most are never tried.

A pattern is read as far as its first word: a run of letters and digits, or one other sign. What may surprise: only
notation that is certain is read. Whatever is not may begin with any word, and is tried everywhere. Of those that are
tried at a place, the first still counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

TOKEN = re.compile(r"\w+|[^\w ]|(?<!\w) ")
"""What a pattern can begin with in a folded text. A blank behind a word begins nothing."""


class FirstWord(NamedTuple):
    """What a match begins with."""

    text: str
    whole: bool
    """The word ends there; otherwise more of it may follow."""


FirstWords = frozenset[FirstWord] | None
"""None is any word."""


def find_first_words(pattern: str) -> FirstWords:
    """Every word that a match of the pattern can begin with."""
    try:
        found, _ = _read_branches(pattern, 0)
    except _UnreadError:
        return None
    if any(not one.text for one in found):
        return None
    return frozenset(FirstWord(one.text, one.end == "whole") for one in found)


def find_needed_words(pattern: str) -> FirstWords:
    """Words of which a text has one at least wherever the pattern matches: what it begins with or, where that may be
    any word, what stands behind it."""
    return find_first_words(_OPEN_WORD.sub("", pattern))


_OPEN_WORD = re.compile(r"(?<![\w)\]?*+}])(?:\(\?:\\w\+ \)\?|\\w\+[a-z]*(?='))")
"""Any word that may stand first, or stands before an apostrophe."""


class WordIndex:
    """The places of patterns in a row by the words that they can begin with."""

    def __init__(self, found: Iterable[FirstWords]) -> None:
        self._whole: dict[str, list[int]] = {}
        self._begun: dict[str, list[int]] = {}
        self.anywhere: list[int] = []
        for place, words in enumerate(found):
            if words is None:
                self.anywhere.append(place)
            for word in words or ():
                (self._whole if word.whole else self._begun).setdefault(word.text, []).append(place)
        self._longest = max(map(len, self._begun), default=0)

    def look_up(self, token: str) -> Sequence[int]:
        """The places of those that can begin at a token, in their order."""
        found = {*self.anywhere, *self._whole.get(token, ())}
        for length in range(1, min(len(token), self._longest) + 1):
            found.update(self._begun.get(token[:length], ()))
        return sorted(found)


class _UnreadError(ValueError):
    """Notation that is not read here."""


class _Beginning(NamedTuple):
    text: str
    end: Literal["goes on", "open", "whole"]
    """What follows still belongs to the word; is not known; begins another."""


_Beginnings = frozenset[_Beginning]
_NOTHING = _Beginning("", "goes on")
_LOOKS = ("(?=", "(?!", "(?<=", "(?<!")
_GROUP = re.compile(r"\((?!\?)|\(\?:|\(\?P<\w+>")
_QUANTIFIER = re.compile(r"(?:[?*+]|\{(\d*)(?:,(\d*))?\})[?+]?")
_CLASS = re.compile(r"\[([^\\\]^\[-]+)\]")
_ANY_CLASS = re.compile(r"\[\^?(?:\\.|[^\\])(?:\\.|[^\\\]])*\]")
_SPECIAL = frozenset(".^$*+?{}[]\\|()")
_PLAIN = re.compile(r"[^\\\[\]()|]+")
"""What can be skipped in one go."""
_LETTERS = re.compile(r"(?:[^\W_](?![?*+{]))+")
"""Letters and digits that stand there once each."""
_NEVER = "(?!)"
_WORD_END = r"(?!\w)"
_FIRST = re.compile(r"\w+|\W")
_MANY = 500
"""With more beginnings than these, what follows is not read."""


def _read_branches(pattern: str, at: int) -> tuple[_Beginnings, int]:
    """What the alternatives from here on begin with, and where they end."""
    found: set[_Beginning] = set()
    while True:
        beginnings, at = _read_sequence(pattern, at)
        found |= beginnings
        if pattern[at : at + 1] != "|":
            return frozenset(found), at
        at += 1


def _read_sequence(pattern: str, at: int) -> tuple[_Beginnings, int]:
    known: set[_Beginning] = set()
    begun = {""}
    while at < len(pattern) and pattern[at] not in "|)":
        if not begun:
            plain = _PLAIN.match(pattern, at)
            at = plain.end() if plain else _skip(pattern, at)
            continue
        if pattern.startswith(_NEVER, at):
            begun = set()
            continue
        if pattern.startswith(_WORD_END, at):
            known |= {_Beginning(one, "whole") for one in begun if one}
            begun &= {""}
            at += len(_WORD_END)
            continue
        item, at = _read_item(pattern, at)
        joined = [_join(one, following) for one in begun for following in item]
        if len(joined) > _MANY:
            joined = [one._replace(end="open") if one.end == "goes on" and one.text else one for one in joined]
        known.update(one for one in joined if one.end != "goes on")
        begun = {one.text for one in joined if one.end == "goes on"}
    return frozenset((*known, *(_Beginning(one, "goes on") for one in begun))), at


def _join(begun: str, following: _Beginning) -> _Beginning:
    text = begun + following.text
    if not text:
        return following
    first = text if text.isalnum() else _FIRST.match(text)[0]  # type: ignore[index]
    if len(first) < len(text) or not (first.isalnum() or first.replace("_", "a").isalnum()):
        return _Beginning(first, "whole")
    return _Beginning(text, following.end)


def _read_item(pattern: str, at: int) -> tuple[_Beginnings, int]:
    """What stands here begins with, the sign behind it that says how often included."""
    if letters := _LETTERS.match(pattern, at):
        return frozenset((_Beginning(letters[0], "goes on"),)), letters.end()
    if pattern[at] in "^$" or pattern.startswith(_LOOKS, at):
        return frozenset((_NOTHING,)), _skip(pattern, at)
    if group := _GROUP.match(pattern, at):
        found, end = _read_branches(pattern, group.end())
        end += 1
    elif hit := _CLASS.match(pattern, at):
        found, end = _all_of(hit[1]), hit.end()
    elif pattern[at] == "\\":
        found, end = _read_escape(pattern[at + 1 : at + 2]), at + 2
    elif pattern[at] not in _SPECIAL:
        found, end = _all_of(pattern[at]), at + 1
    elif pattern[at] in ".[":
        found, end = frozenset((_Beginning("", "open"),)), _skip(pattern, at)
    else:
        raise _UnreadError
    if hit := _QUANTIFIER.match(pattern, end):
        end = hit.end()
        often = hit[0][0] in "*+" or (hit[0][0] == "{" and (hit[1], hit[2]) not in (("0", "1"), ("1", None), ("", "1")))
        if often:
            found = frozenset(one._replace(end="open") if one.end == "goes on" and one.text else one for one in found)
        if hit[0][0] in "?*" or hit[1] in ("", "0"):
            found |= {_NOTHING}
    return found, end


def _all_of(signs: Iterable[str]) -> _Beginnings:
    return frozenset(_Beginning(sign, "goes on") for sign in signs)


def _read_escape(sign: str) -> _Beginnings:
    if sign == "d":
        return _all_of("0123456789")
    if sign in "Ws":
        return frozenset((_Beginning("", "whole"),))
    if sign in "wS":
        return frozenset((_Beginning("", "open"),))
    if sign.isalnum():
        raise _UnreadError
    return _all_of(sign)


def _skip(pattern: str, at: int) -> int:
    """Where what stands here ends; what it says does not matter."""
    depth = 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            at += 2
        elif sign == "[":
            if not (hit := _ANY_CLASS.match(pattern, at)):
                raise _UnreadError
            at = hit.end()
        else:
            depth += {"(": 1, ")": -1}.get(sign, 0)
            at += 1
        if depth <= 0:
            return at
    raise _UnreadError
