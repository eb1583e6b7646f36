"""What every format's reader hands back, and the cleaning that all of them share.

Characters nobody sees are taken out before offsets are counted: zero-width signs, directional overrides and Unicode
tags are where instructions to a model hide, and none of them changes what a person reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from circumspect.errors import ConfigError
from circumspect.knowledge.tree import SectionHeading, TextSpan
from circumspect.language.pack import join_words, packs
from circumspect.normal_forms import normalise


class DocumentRefused(ConfigError):
    """The file cannot be read as a document; nothing was stored."""

    code = "document_refused"


@dataclass(frozen=True, slots=True)
class Parsed:
    """`title` is empty where the format does not name one."""

    text: str
    headings: tuple[SectionHeading, ...]
    pages: tuple[TextSpan, ...] = ()
    title: str = ""


_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]"
)
_NEWLINES = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")


def clean(text: str) -> str:
    """One kind of line end, composed letters, nothing invisible."""
    return normalise("NFC", _INVISIBLE.sub("", _NEWLINES.sub("\n", text)))


NUMBERED = re.compile(r"(?P<number>\d{1,3}(?:\.\d{1,3}){0,4})[.)]?\s+(?P<rest>[^\W\d_].*)")
_LONGEST = 100
_SENTENCE_ENDS = (".", ";", ",", "!", "…")
CONTENTS = re.compile(r"(?:[ \u00a0]?[.…·_]){4}[ \u00a0]*+\d*+\s*+$")
"""A line of a table of contents, with dots that lead to the page."""


@cache
def _named() -> re.Pattern[str]:
    spoken = [one.documents for one in packs()]
    highest, lower, number = (
        join_words(lists)
        for lists in ((one.chapter for one in spoken), (one.section for one in spoken), (one.number for one in spoken))
    )
    return re.compile(
        rf"(?:(?P<highest>{highest})|{lower})\s+(?P<number>\d+(?:\.\d+)*|{number})\b[\s.:–—-]*(?P<rest>.*)",
        re.IGNORECASE,
    )


def _has_no_case(letter: str) -> bool:
    return letter.isalpha() and letter.lower() == letter.upper()


def numbering(line: str) -> int:
    """How deep a line's own numbering puts it, if it reads like a heading: "2.1 Refunds" is 2; 0 for anything else."""
    line = line.strip()
    if not line or len(line) > _LONGEST or line.endswith(_SENTENCE_ENDS) or CONTENTS.search(line):
        return 0
    if named := _named().fullmatch(line):
        if named["highest"]:
            return 1
        # "Section 3 applies to ..." is a sentence; "Section 3: Scope" and "Section 3" are headings.
        if (rest := named["rest"]) and not rest[0].isupper() and not _has_no_case(rest[0]):
            return 0
        return 1 + named["number"].count(".")
    if numbered := NUMBERED.fullmatch(line):
        if numbered["rest"][0].islower():
            return 0
        return 1 + numbered["number"].count(".")
    return 0
