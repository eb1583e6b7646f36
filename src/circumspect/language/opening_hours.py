"""Opening hours as a business wrote them -> the same in another language: days, "to", "and", "closed on holidays".

What may surprise: it is all or nothing. Hours with a word that no list has stay as they were written, so that
nobody reads half a sentence in each of two languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache

from circumspect.language.detection import find_language
from circumspect.language.pack import join_patterns, pack, packs, split_pairs
from circumspect.language.registry import Language

_LONGEST = 500
_A_WEEK = 7
_NAMED = re.compile(r"\([^()]{1,60}\)")
"""A place or the like, which is the same in every language."""
_WORD = re.compile(r"[^\W\d_]")


@lru_cache(maxsize=256)
def say_hours(hours: str, language: Language) -> str:
    """In the words of the language, where all of the words are known."""
    if not hours or len(hours) > _LONGEST or find_language(hours) == language:
        return hours
    if _WORD.search(_NAMED.sub(" ", _known_words().sub(" ", _days().sub(" ", hours)))):
        return hours
    days, words = pack(language).values.weekday_names, _list_said(language)
    told = _days().sub(lambda hit: days[int((hit.lastgroup or "d1")[1:]) - 1], hours)
    return _known_words().sub(lambda hit: words[_list_known()[hit[0].casefold()]], told)


@cache
def _days() -> re.Pattern[str]:
    said = (join_patterns(_list_forms(day)) for day in range(_A_WEEK))
    return re.compile("|".join(rf"(?<!\w)(?P<d{day}>{one})(?!\w)" for day, one in enumerate(said, 1)))


def _list_forms(day: int) -> Iterable[str]:
    """All that a document may write, and the short forms that stand before a time: "Thu 9:00"."""
    for one in packs():
        name = one.values.weekday_names[day]
        yield one.values.weekdays[day]
        yield from (rf"{re.escape(name[:letters])}(?=\.? \d)" for letters in (3, 2) if " " not in name)


@cache
def _list_said(language: Language) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for key, word in split_pairs(pack(language).values.schedule):
        found.setdefault(key, word)
    return found


@cache
def _list_known() -> Mapping[str, str]:
    """By the word as it is written in any language, what it says."""
    return {word.casefold(): key for one in packs() for key, word in reversed(split_pairs(one.values.schedule))}


@cache
def _known_words() -> re.Pattern[str]:
    longest = sorted((word for word in _list_known() if word[0].isalpha()), key=len, reverse=True)
    return re.compile(rf"(?<!\w){join_patterns(map(re.escape, longest))}(?!\w)", re.IGNORECASE)
