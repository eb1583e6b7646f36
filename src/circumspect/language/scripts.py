"""Alphabets: what letters a language is written with, and which way they run.

A language names its script in `about.txt`. Where one language has a script to itself, its letters alone tell it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Script:
    """`letters` and `signs` are the inside of a character class; `signs` are the marks that belong to the letters."""

    name: str
    letters: str
    signs: str = ""
    right_to_left: bool = False

    @cached_property
    def letter(self) -> re.Pattern[str]:
        return re.compile(f"[{self.letters}]")

    def count(self, text: str) -> int:
        """How many letters of the script a text has."""
        return len(self.letter.findall(text))


SCRIPTS: Mapping[str, Script] = {
    script.name: script
    for script in (
        Script("latin", r"A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f"),
        Script("cyrillic", r"\u0400-\u052f"),
        Script("hebrew", r"\u05d0-\u05ea\u05f0-\u05f2\ufb1d-\ufb4f", r"\u0590-\u05cf\u05eb-\u05ff", right_to_left=True),
        Script("arabic", r"\u0620-\u064a\u066e-\u06d3\u0750-\u077f", r"\u064b-\u065f", right_to_left=True),
        Script("greek", r"\u0370-\u03ff\u1f00-\u1fff"),
        Script("armenian", r"\u0531-\u0587"),
        Script("georgian", r"\u10a0-\u10ff\u1c90-\u1cbf"),
        Script("devanagari", r"\u0904-\u0939\u0958-\u0961", r"\u0900-\u0903\u093a-\u0957"),
        Script("thai", r"\u0e01-\u0e4e"),
        Script("hangul", r"\uac00-\ud7a3\u1100-\u11ff"),
        Script("kana", r"\u3040-\u30ff"),
        Script("han", r"\u4e00-\u9fff"),
    )
}

RIGHT_TO_LEFT = "".join(script.letters + script.signs for script in SCRIPTS.values() if script.right_to_left)
"""The inside of a character class: every letter and sign that runs from right to left."""

# Letters that look like one of another alphabet: words are hidden from lists by them.
LOOK_LIKE_LATIN = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u043a\u043c\u043d\u0432\u0442\u0456\u0458\u0455\u0501\u0261\u03bf\u03b1\u03b5\u03bd\u03c1\u03c4\u03b9\u03ba\u03c5",
    "aeopcyxkmhbtijsdgoaevptiku",
)
LOOK_LIKE_CYRILLIC = str.maketrans(
    "aeopcyxkmhbt", "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u043a\u043c\u043d\u0432\u0442"
)
