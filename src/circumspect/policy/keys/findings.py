"""What is said about a file that somebody wrote: where, how bad, what is wrong and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

Level = Literal["error", "warning"]
Place: TypeAlias = tuple[str | int, ...]
"""Where in the file: `("tools", "cancel_order", "when", 0)`."""


@dataclass(frozen=True, slots=True)
class FileFinding:
    level: Level
    line: int
    problem: str
    fix: str

    def describe(self, name: str) -> str:
        """`file:line: problem; fix`."""
        head = f"{name}:{self.line}: " if self.line else f"{name}: "
        return head + (f"{self.problem}; {self.fix}" if self.fix else self.problem)


@dataclass(frozen=True, slots=True)
class LintRemark:
    """A finding before its line is known."""

    level: Level
    place: Place
    problem: str
    fix: str = ""


class AnyName(Collection[str]):
    """Whatever name there is, it was seen: for a policy whose names were checked when it was put in force."""

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def suggest_word(word: str, words: Iterable[str], *, closeness: float = 0.6) -> str:
    """ "did you mean 'confirm'?", if there is something near."""
    near = difflib.get_close_matches(word, list(words), n=1, cutoff=closeness)
    return f"did you mean '{near[0]}'?" if near else ""
