"""spam_score: a message -> how much it looks like spam, 0 to 1, and why.

Advertising words, links, capitals, repetition, keyboard mash. No single harmless habit reaches the .7 at which a turn
is blocked: a link, capitals and three exclamation marks together are still a customer in a hurry.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from circumspect.language.pack import join_patterns, join_words, packs
from circumspect.language.word_lists import as_matchable, patterns, pick_languages
from circumspect.values import Language

LONGEST = 20_000
_LINK = re.compile(
    r"https?://\S+|www\.\S+|\b(?:bit\.ly|t\.me|goo\.gl|tinyurl\.com|wa\.me)/\S+|\b[\w-]{1,63}\.(?:ru|com|xyz|top|click|info|biz"
    r"|shop|online)/\S+",
    re.IGNORECASE,
)
_ADDRESS = ("://", "@", "www.")
_HANDLE = re.compile(r"(?<!\S)@[a-z]\w{3,}", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]+")
_SHOUT = re.compile(r"!{3,}|[$€₽₪]{2,}|🔥{2,}|💰+")
WEIGHTS: Mapping[str, tuple[float, ...]] = {
    "promo": (0.4, 0.65, 0.8, 0.9),
    "links": (0.25, 0.45, 0.5, 0.6),
    "handle": (0.3,),
    "capitals": (0.2,),
    "shouting": (0.15,),
    "repetition": (0.75,),
    "gibberish": (0.75,),
}
"""How much each sign counts, by how often it is seen; the last one for all that come after."""


def spam_score(text: str, language: Language) -> float:
    """1 minus the product of what each sign leaves over: signs add up, and never beyond 1."""
    left = 1.0
    for weight in signs(text, language).values():
        left *= 1.0 - weight
    return round(1.0 - left, 3)


def signs(text: str, language: Language) -> dict[str, float]:
    """The signs that were seen, with their weights."""
    text = text[:LONGEST]
    counts = {
        "promo": _promises(text, language),
        "links": len(_LINK.findall(text)),
        "handle": len(_HANDLE.findall(text)),
        "capitals": int(_is_mostly_capitals(text)),
        "shouting": len(_SHOUT.findall(text)),
        "repetition": int(_is_repetitive(text)),
        "gibberish": int(_is_gibberish(text)),
    }
    return {name: WEIGHTS[name][min(seen, len(WEIGHTS[name])) - 1] for name, seen in counts.items() if seen}


def _promises(text: str, language: Language) -> int:
    heard = as_matchable(text)
    return len(
        {hit[0] for one in pick_languages(text, language) for hit in patterns("guardian", one)["promo"].finditer(heard)}
    )


def _is_mostly_capitals(text: str) -> bool:
    letters = [letter for letter in _LETTER.findall(text) if letter.lower() != letter.upper()]
    return len(letters) >= 15 and sum(map(str.isupper, letters)) > 0.7 * len(letters)


def _is_repetitive(text: str) -> bool:
    words = [word.lower() for word in _WORD.findall(text)]
    if len(words) >= 8 and Counter(words).most_common(1)[0][1] > 0.6 * len(words):
        return True
    lines = [line.strip() for line in text.splitlines() if len(line.strip()) > 10]
    if len(lines) >= 4 and Counter(lines).most_common(1)[0][1] > 0.6 * len(lines):
        return True
    # One phrase over and over: few different words in a long message.
    return len(words) >= 30 and len(set(words)) < 0.2 * len(words)


def _is_gibberish(text: str) -> bool:
    plain = " ".join(part for part in text.split() if not any(sign in part for sign in _ADDRESS))
    words = [word.lower() for word in _WORD.findall(plain) if len(word) >= 4]
    odd = sum(map(_odd, words))
    return odd > 0.5 * len(words) and (odd >= 3 or any(len(word) >= 9 for word in words if _odd(word)))


def _odd(word: str) -> bool:
    """Nobody's word: neighbouring keys, or a heap of consonants. Where no vowels are written only the keys tell."""
    keys = _keyboard()
    near = sum(first + second in keys.near for first, second in pairwise(word))
    if len(word) >= 5 and near >= 0.6 * (len(word) - 1):
        return True
    if keys.without_vowels.match(word):
        return False
    return bool(keys.consonants.search(keys.one_sound.sub("x", word))) or not keys.vowel.search(word)


@dataclass(frozen=True, slots=True)
class _Keyboard:
    """The letters of all languages."""

    near: frozenset[str]
    """Two keys side by side, either way."""
    vowel: re.Pattern[str]
    consonants: re.Pattern[str]
    """Five in a row."""
    one_sound: re.Pattern[str]
    """Several that count as one."""
    without_vowels: re.Pattern[str]
    """A letter of a script in which vowels are not written."""


@cache
def _keyboard() -> _Keyboard:
    spoken = [one.about for one in packs()]
    ways = [way for one in spoken for row in one.keyboard for way in (row, row[::-1])]
    unwritten = [f"[{one.script.letters}]" for one in packs() if not one.about.vowels]
    return _Keyboard(
        near=frozenset(pair for way in ways for pair in map("".join, pairwise(way))),
        vowel=re.compile(f"[{''.join(letters for one in spoken for letters in one.vowels)}]"),
        consonants=re.compile(f"[{''.join(letters for one in spoken for letters in one.consonants)}]{{5,}}"),
        one_sound=re.compile(join_words(one.one_sound for one in spoken)),
        without_vowels=re.compile(join_patterns(unwritten)),
    )
