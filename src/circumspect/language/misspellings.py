"""Words that matter and are typed in a hurry: text in lower case -> the same text with them spelled right.

Only words on the list are mended, and only where one letter is wrong, missing, doubled or swapped with the next. What
is read this way is a wish that the user is asked about, never a yes.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from circumspect.language.pack import packs

_WORD = re.compile(r"[^\W\d_]{4,}")


@lru_cache(maxsize=1024)
def mend_spelling(low: str) -> str:
    return _WORD.sub(lambda hit: _spell(hit[0]), low)


@lru_cache(maxsize=4096)
def _spell(word: str) -> str:
    known, alike = _known()
    if word in known or word in alike:
        return word
    return next((one for one in known if _is_slip(word, one)), word)


def _is_slip(word: str, meant: str) -> bool:
    """One slip of the finger apart. Short words differ by that much and are words of their own."""
    if abs(len(word) - len(meant)) > 1 or word == meant or len(meant) < _SHORTEST:
        return False
    same = next((at for at, (one, other) in enumerate(zip(word, meant, strict=False)) if one != other), len(meant))
    rest, meant_rest = word[same:], meant[same:]
    swapped = rest[:2] == meant_rest[1::-1] and rest[2:] == meant_rest[2:]
    return swapped or meant_rest[1:] in (rest, rest[1:]) or meant_rest == rest[1:]


_SHORTEST = 5


@cache
def _known() -> tuple[tuple[str, ...], frozenset[str]]:
    meant = tuple(word for one in packs() for word in one.wanted.misspelt)
    return meant, frozenset(word for one in packs() for word in one.wanted.real_words)
