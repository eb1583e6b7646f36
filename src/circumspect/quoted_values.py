"""Values in a sentence, so that nothing in a value can pass for the sentence, or hide.

A number, a code, a date or one short word stands as it is: "cancel order 12345". Everything else is quoted in the
language's own marks, and what nobody would see is spelled out: `⟨U+202E⟩` for a sign that turns letters around, `⏎` for
a line break, `␣` for a blank beside a blank. Two different values never look the same.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from circumspect.language.folding import QUOTES
from circumspect.language.pack import pack
from circumspect.values import Language

Marks = tuple[str, str]
_PLAIN = re.compile(r"[#+$€£₪₽-]?\w(?:[\w.:/@+-]{0,38}\w)?[%€₪₽]?|\d[\d.:/-]{2,15} \d\d:\d\d(?::\d\d)?")
_INVISIBLE_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0⟨⏎␣")
"""Letters, marks and symbols that show nothing; and our own signs, which must stay ours."""
_PICTURE = "[\u203c-\u3299\U0001f000-\U0001faff]"
_PICTURE_JOINT = re.compile(f"(?<={_PICTURE})\ufe0f|(?:(?<={_PICTURE})|(?<=\ufe0f))\u200d(?={_PICTURE})")
"""The invisible parts of an emoji."""
_LOST_BLANK = re.compile(r"^ | (?= |$)")
_QUOTE = re.compile(rf'(?<!\\)(\\*)(["{QUOTES}](?!(?<=[\u05d0-\u05ea].)[\u05d0-\u05ea])|$)')
"""With the backslashes before it. Between two Hebrew letters it belongs to the word."""
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"


def is_plain(text: str) -> bool:
    """Nobody takes it for more than a value: one short word of letters and digits, or a date with a time."""
    return _PLAIN.fullmatch(text) is not None and spell_out(text) == text


def quote_value(text: str, language: Language, marks: Marks | None = None) -> str:
    """The value as it stands in a sentence of that language; with `marks`, in these whatever it is."""
    if marks is None and is_plain(text):
        return _isolate(text, language)
    opening, closing = marks or marks_of(language)
    # A quotation mark inside gets a backslash, so that no value ends before its end.
    inside = _QUOTE.sub(lambda hit: hit[1] * 2 + (f"\\{hit[2]}" if hit[2] else ""), spell_out(text))
    return _isolate(f"{opening}{inside}{closing}", language)


def quote_block(text: str, language: Language) -> str:
    """A long value whole, one line a line, each behind a bar that no value can draw for itself."""
    return "\n".join(f"│ {_isolate(line, language)}" for line in spell_out(text).replace("⏎", "⏎\n").split("\n"))


def marks_of(language: Language) -> Marks:
    opening, closing = pack(language).about.quotation_marks
    return opening, closing


def spell_out(text: str) -> str:
    """The text on one line, with a visible sign for everything that shows none."""
    if not (text.isascii() and text.isprintable()):
        kept = {hit.start() for hit in _PICTURE_JOINT.finditer(text)}
        text = "".join(sign if at in kept else _show_sign(sign) for at, sign in enumerate(text))
    return _LOST_BLANK.sub("␣", text)


@lru_cache(maxsize=4096)
def _show_sign(sign: str) -> str:
    if sign == "\n":
        return "⏎"
    category = unicodedata.category(sign)
    hidden = category[0] == "C" or (category[0] == "Z" and sign != " ") or sign in _INVISIBLE_LETTERS
    hidden |= category == "Mn" and unicodedata.name(sign, "").startswith("VARIATION SELECTOR")
    return f"⟨U+{ord(sign):04X}⟩" if hidden else sign


def _isolate(text: str, language: Language) -> str:
    """In one piece, where letters of both directions meet."""
    meets = pack(language).right_to_left or _RIGHT_TO_LEFT.search(text)
    return f"{_ISOLATE}{text}{_END_ISOLATE}" if meets else text
