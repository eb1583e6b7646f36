"""What every format's reader hands back, and the cleaning that all of them share.

Characters nobody sees are taken out before offsets are counted: zero-width signs, directional overrides and Unicode
tags are where instructions to a model hide, and none of them changes what a person reads.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from circumspect.errors import ConfigError
from circumspect.knowledge.tree import SectionHeading, TextSpan


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
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", _NEWLINES.sub("\n", text)))


NUMBERED = re.compile(r"(?P<number>\d{1,3}(?:\.\d{1,3}){0,4})[.)]?\s+(?P<rest>[^\W\d_].*)")
_NAMED = re.compile(
    r"(?P<word>part|chapter|article|section|clause|appendix|annex|schedule|часть|глава|раздел|статья|пункт|приложение"
    r"|חלק|פרק|סעיף|נספח)\s+(?P<number>\d+(?:\.\d+)*|[ivxlc]+|[a-zа-я]|[א-ת]{1,2}['׳]?)\b[\s.:–—-]*(?P<rest>.*)",
    re.IGNORECASE,
)
_HIGHEST = {"part", "часть", "חלק", "chapter", "глава", "פרק", "appendix", "annex", "schedule", "приложение", "נספח"}
_LONGEST = 100
_SENTENCE_ENDS = (".", ";", ",", "!", "…")
CONTENTS = re.compile(r"(?:[ \u00a0]?[.…·_]){4,}[ \u00a0]*\d*\s*$")
"""A line of a table of contents, with dots that lead to the page."""


def numbering(line: str) -> int:
    """How deep a line's own numbering puts it, if it reads like a heading: "2.1 Refunds" is 2; 0 for anything else."""
    line = line.strip()
    if not line or len(line) > _LONGEST or line.endswith(_SENTENCE_ENDS) or CONTENTS.search(line):
        return 0
    if named := _NAMED.fullmatch(line):
        if named["word"].casefold() in _HIGHEST:
            return 1
        # "Section 3 applies to ..." is a sentence; "Section 3: Scope" and "Section 3" are headings.
        if named["rest"] and not named["rest"][0].isupper() and not "\u05d0" <= named["rest"][0] <= "\u05ea":
            return 0
        return 1 + named["number"].count(".")
    if numbered := NUMBERED.fullmatch(line):
        if numbered["rest"][0].islower():
            return 0
        return 1 + numbered["number"].count(".")
    return 0
