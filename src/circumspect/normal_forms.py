"""normalise: any text -> one of Unicode's normal forms, in time that grows with its length only.

`unicodedata.normalize` brings the marks on a letter into their order one by one: twice as many on one letter take four
times as long, with Python's lock held, and 20,000 characters a second. No writing has more than thirty, so a longer row
is parted first as Unicode's own stream-safe text format does it (UAX #15, section 13): with a sign that nobody sees.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Literal

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
MOST_MARKS = 30
PARTING = "\u034f"
"""COMBINING GRAPHEME JOINER: marks are not moved across it."""
_HARMLESS = 200
"""A text that short is in order before it is looked through."""
_PLACES = range(0x300, 0x1F000)
"""Where marks are: a test looks at all the others."""
_TO_MARKS = "\u0f73\u0f75\u0f81\uff9e\uff9f"
"""No marks, and each is written as some."""


def normalise(form: Form, text: str) -> str:
    if text.isascii():
        return text
    # A row that is too long has a mark at every step of its length.
    if len(text) > _HARMLESS and _mark().search(text[:: MOST_MARKS + 1]):
        text = _long_row().sub(rf"\g<0>{PARTING}", text)
    return unicodedata.normalize(form, text)


def is_mark(sign: str) -> bool:
    """Whether it, or what it is written as, is put into order among the marks of the letter before."""
    return unicodedata.combining(sign) > 0 or sign in _TO_MARKS


@cache
def _marks() -> str:
    return "".join(sign for sign in map(chr, _PLACES) if is_mark(sign))


@cache
def _mark() -> re.Pattern[str]:
    return re.compile(f"[{_marks()}]")


@cache
def _long_row() -> re.Pattern[str]:
    return re.compile(f"[{_marks()}]{{{MOST_MARKS}}}(?=[{_marks()}])")
