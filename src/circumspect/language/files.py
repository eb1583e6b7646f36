"""The data files of a language: `<code>/<name>.txt` -> its lines by heading.

Plain lines under a [heading]; `#` begins a comment. Read once, on first use: a yes has to be read in microseconds, and
loading a YAML parser for it would cost more than everything else in the turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

from circumspect.language.registry import Language


@cache
def read_lists(language: Language, name: str) -> Mapping[str, tuple[str, ...]]:
    """The lines of one file of a language, by heading."""
    return parse_lists(resources.files("circumspect.language").joinpath(language, f"{name}.txt").read_text("utf-8"))


def parse_lists(text: str) -> dict[str, tuple[str, ...]]:
    """The lines of a text, by heading. A heading with nothing below it is there, and empty."""
    found: dict[str, list[str]] = {}
    heading = ""
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("[") and line.endswith("]"):
            heading = line[1:-1]
            found.setdefault(heading, [])
        elif line and not line.startswith("#"):
            found.setdefault(heading, []).append(line)
    return {name: tuple(lines) for name, lines in found.items()}
