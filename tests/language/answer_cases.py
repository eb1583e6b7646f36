"""The cases in `answers.txt`, for the tests and for `bench/answers.py`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Case:
    language: str
    text: str
    values: tuple[str, ...]
    answer: str


def cases() -> list[Case]:
    found = []
    language = ""
    for line in Path(__file__).with_name("answers.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            language = line.strip("[]")
        elif line and not line.startswith("#"):
            answer, _, rest = line.partition(":")
            text, *values = rest.strip().replace("\\u200f", "\u200f").split(" ~ ")
            found.append(Case(language, text, tuple(values), answer))
    return found
