"""Plain text -> Parsed: headings are lines that number, underline or capitalise themselves and stand apart."""

from __future__ import annotations

import re

from circumspect.knowledge.parsed import NUMBERED, Parsed, numbering
from circumspect.knowledge.tree import SectionHeading

_UNDERLINE = re.compile(r"(=|-|~|\*)\1{2,}")
_SHORT = 80


def read_plain(text: str) -> Parsed:
    lines = text.split("\n")
    headings: list[SectionHeading] = []
    start = 0
    for index, line in enumerate(lines):
        if level := _level(lines, index):
            headings.append(SectionHeading(start, level, " ".join(line.split())))
        start += len(line) + 1
    return Parsed(text, tuple(headings))


def _level(lines: list[str], index: int) -> int:
    line = lines[index].strip()
    before = lines[index - 1].strip() if index else ""
    after = lines[index + 1].strip() if index + 1 < len(lines) else ""
    if not line or before or len(line) > _SHORT or not any(letter.isalpha() for letter in line):
        return 0
    if _UNDERLINE.fullmatch(after) and len(after) * 2 >= len(line):
        return 1 if after[0] == "=" else 2
    if depth := numbering(line):
        # Neighbouring numbered lines are a list.
        return 0 if NUMBERED.match(after) else depth
    if line.isupper() and sum(letter.isalpha() for letter in line) > 3 and not line.endswith((".", ",", ";")):
        return 1
    return 0
