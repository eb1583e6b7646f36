"""Texts in Fluent's notation, as far as our words use it: a file's text -> its messages by name.

That is `name = text { $value }`, indented lines that go on, and `.attribute = text`. Everything else that Fluent knows
is refused, not guessed at: the library for it brings the data of all the world's languages along, which only the
console has a use for. A test holds every text of ours against that library.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_MESSAGE = re.compile(r"([a-zA-Z][\w-]*) *= *+(.*)")
_ATTRIBUTE = re.compile(r" +\.([a-zA-Z][\w-]*) *= *+(.*)")
_VALUE = re.compile(r"\{ *\$([a-zA-Z][\w-]*) *\}")
_ISOLATE = "\u2068{}\u2069"


@dataclass(frozen=True, slots=True)
class FluentText:
    """Words and names of values in turn, beginning with words, which may be none."""

    parts: tuple[str, ...]

    @property
    def values(self) -> frozenset[str]:
        return frozenset(self.parts[1::2])

    def fill(self, values: Mapping[str, str], *, isolate: bool) -> str:
        """With the values in their places; of one that is not given, its name.

        Isolated, a value keeps its direction among words that run the other way; one that is all there is needs none.
        """
        form = _ISOLATE if isolate and any(self.parts[::2]) else "{}"
        filled = list(self.parts)
        filled[1::2] = [form.format(values.get(name, f"{{${name}}}")) for name in self.parts[1::2]]
        return "".join(filled)


@dataclass(frozen=True, slots=True)
class FluentMessage:
    text: FluentText
    attributes: Mapping[str, FluentText]


def parse_fluent(source: str) -> dict[str, FluentMessage]:
    """Raises `ValueError` for a line that is beyond the part of Fluent above."""
    found: dict[str, dict[str, list[str]]] = {}
    texts: dict[str, list[str]] = {}
    lines: list[str] = []
    for number, line in enumerate(source.splitlines(), 1):
        if line.startswith("#"):
            lines = []
        elif match := _MESSAGE.fullmatch(line):
            lines = [match[2]]
            texts = found[match[1]] = {"": lines}
        elif match := _ATTRIBUTE.fullmatch(line):
            lines = texts[match[1]] = [match[2]]
        elif not line.strip() or (line.startswith(" ") and lines):
            lines.append(line)
        else:
            raise ValueError(f"line {number}: not a message, an attribute or a line that goes on")
    return {
        name: FluentMessage(
            _parse_text(texts[""]), {attribute: _parse_text(lines) for attribute, lines in texts.items() if attribute}
        )
        for name, texts in found.items()
    }


def _parse_text(lines: list[str]) -> FluentText:
    first, *rest = lines
    indent = min((len(line) - len(line.lstrip(" ")) for line in rest if line.strip()), default=0)
    text = "\n".join((first, *(line[indent:] for line in rest))).strip()
    parts = _VALUE.split(text)
    if wrong := next((part for part in parts[::2] if "{" in part or "}" in part), None):
        raise ValueError(f"only {{ $value }} may stand in braces: {wrong!r}")
    return FluentText(tuple(parts))
