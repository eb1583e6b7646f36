"""Text in one spelling, so that what was typed can be compared with what is known.

Two spellings, because two things are compared. `fold` is for values and patterns: compatibility forms, case, digits of
other scripts, dashes, quotes, invisible characters and white space are evened out, and nothing that could tell two
values apart is lost. `fold_words` is for what people say: it also drops vowel points and accents written apart, reads
letters that people exchange (ё and е) as one, and writes short forms out ("don't" is "do not").
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

from circumspect.language.pack import packs, split_pairs
from circumspect.normal_forms import normalise

DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
APOSTROPHES = "\u2018\u2019\u201a\u201b\u2032\u00b4\u05f3"
QUOTES = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u05f4"
INNER_MARKS = "'\u2019\u05f3\u05f4\""
"""May stand inside a word."""
HIDDEN = "\u00ad\u034f\u061c\u115f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
"""The inside of a character class: signs that nobody sees, where words and orders are hidden."""
POINTS = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7"
"""The same of marks above and below letters that leave the word what it is."""

_HEBREW_HYPHEN = "\u05be"
_SIGNS = {
    **dict.fromkeys(DASHES + _HEBREW_HYPHEN, "-"),
    **dict.fromkeys(APOSTROPHES, "'"),
    **dict.fromkeys(QUOTES, '"'),
}
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_UNSEEN = re.compile(f"[{POINTS}{HIDDEN}\U0001f3fb-\U0001f3ff]")
_SPOKEN_SIGNS = dict.fromkeys("\u2019\u2018\u02bc`\u00b4\u05f3\uff07\u201b\u2032", "'") | {
    "\u05f4": '"',
    _HEBREW_HYPHEN: " ",
}


def fold(text: str) -> str:
    """The spelling in which values are compared and patterns are written: lower case, single blanks."""
    if not text.isascii():
        # The compatibility form of № is "No", which would grow together with the number behind it.
        text = normalise("NFKC", text.replace("№", "#"))
        text = _FOREIGN.sub(_even_out, text).replace("`", "'")
    text = text.casefold()
    return text if text.isalnum() else " ".join(text.split())


def even_out_signs(text: str) -> str:
    """What somebody was shown, as others write it down again: other quotation marks, dashes and blanks, in bold, with
    signs that nobody sees lost on the way. Letters, their case and digits stay."""
    text = normalise("NFKC", text)
    text = "".join(_SIGNS.get(sign, sign) for sign in text if sign not in "*`" and unicodedata.category(sign) != "Cf")
    return " ".join(text.replace("'", '"').replace('\\"', '"').split())


def _even_out(run: re.Match[str]) -> str:
    return "".join(map(_plain, run.group()))


@lru_cache(maxsize=4096)
def _plain(sign: str) -> str:
    """Dashes and quotes in one form, digits of any script as 0-9; invisible characters (joiners, marks) as nothing."""
    if (same := _SIGNS.get(sign)) is not None:
        return same
    if (digit := unicodedata.decimal(sign, None)) is not None:
        return str(digit)
    return "" if unicodedata.category(sign) == "Cf" else sign


def fold_words(text: str) -> str:
    """The text without what does not change its meaning: case, vowel points, marks of direction, ways of writing."""
    if text.isascii():
        text = text.lower()
    else:
        # The compatibility form of № is "No", which would turn a number into a refusal.
        text = normalise("NFKC", text.replace("№", "#")).lower().translate(_same_letters())
        text = _UNSEEN.sub("", text)
    if "'" in text:
        for short, long in _short_forms():
            text = short.sub(long, text)
    return text


@cache
def _same_letters() -> dict[int, str]:
    return str.maketrans(_SPOKEN_SIGNS | dict(pair for one in packs() for pair in split_pairs(one.about.same_letters)))


@cache
def _short_forms() -> tuple[tuple[re.Pattern[str], str], ...]:
    # The longer first: "geht's" is "geht es" before every other "'s" is an "is".
    lines = sorted((line for one in packs() for line in one.about.short_forms), key=len, reverse=True)
    return tuple((re.compile(short), long.replace("_", " ")) for short, long in split_pairs(lines))
