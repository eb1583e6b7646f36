"""What came of a run: every candidate by part, the Pareto front, and start against winner on cases that neither saw."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from circumspect.lab.optimise.folder import Evaluated, Spent
from circumspect.prompts import Prompt

Parts = Mapping[str, float]


def mean_parts(made: Sequence[Evaluated]) -> Parts:
    """A failed evaluation has no parts: it counts as 0 in each."""
    names = dict.fromkeys(name for one in made for name in one.score.parts)
    return {name: sum(one.score.parts.get(name, 0.0) for one in made) / len(made) for name in names}


@dataclass(frozen=True)
class Tried:
    """A candidate that was validated. Number 0 is the start."""

    number: int
    prompt: Prompt
    score: float
    parts: Parts
    parents: tuple[int, ...]
    best_on: int
    """Validation examples on which no other candidate does better."""
    front: bool
    """On the Pareto front: somewhere among the best, and not only where another one of the front is too."""

    @property
    def text(self) -> str:
        return self.prompt.text

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "prompt_id": self.prompt.id,
            "validation": round(self.score, 4),
            "parts": round_parts(self.parts),
            "parents": list(self.parents),
            "best_on": self.best_on,
            "pareto_front": self.front,
            "text": self.text,
        }


@dataclass(frozen=True)
class HeldOutScore:
    score: float
    parts: Parts
    examples: int
    cases: int

    def to_json(self) -> dict[str, Any]:
        shown = {"score": round(self.score, 4), "parts": round_parts(self.parts)}
        return {**shown, "examples": self.examples, "cases": self.cases}


@dataclass(frozen=True)
class OptimisationReport:
    candidates: tuple[Tried, ...]
    best: int
    start_held: HeldOutScore
    winner_held: HeldOutScore
    compared: tuple[int, int, int]
    """Held-out examples on which the winner is better, worse, the same."""
    train: int
    validation: int
    budget: int
    used: int
    rounds: int
    stopped: str
    spent: Spent
    folder: Path

    @property
    def start(self) -> Tried:
        return self.candidates[0]

    @property
    def winner(self) -> Tried:
        return self.candidates[self.best]

    @property
    def has_improved(self) -> bool:
        """Better than the start where it counts: on cases that had no part in it."""
        return self.best != 0 and self.winner_held.score > self.start_held.score

    @property
    def diff(self) -> str:
        before, after = self.start, self.winner
        lines = difflib.unified_diff(
            before.text.splitlines(), after.text.splitlines(), before.prompt.id, after.prompt.id, lineterm="", n=1
        )
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        better, worse, same = self.compared
        return {
            "prompt": self.start.prompt.name,
            "start": self.start.prompt.id,
            "winner": self.winner.prompt.id,
            "improved": self.has_improved,
            "held_out": {
                "start": self.start_held.to_json(),
                "winner": self.winner_held.to_json(),
                "better": better,
                "worse": worse,
                "same": same,
            },
            "pareto_front": [one.prompt.id for one in self.candidates if one.front],
            "candidates": [one.to_json() for one in self.candidates],
            "diff": self.diff,
            "examples": {"train": self.train, "validation": self.validation, "held_out": self.start_held.examples},
            "budget": self.budget,
            "used": self.used,
            "rounds": self.rounds,
            "stopped": self.stopped,
            "spent": self.spent.to_json(),
            "run": str(self.folder),
        }

    def lines(self) -> Iterator[str]:
        names = list(self.start.parts)
        yield (
            f"{'candidate':<18} {'validation':>10}  " + "  ".join(f"{name:>11}" for name in names) + "  best on  front"
        )
        for one in self.candidates:
            parts = "  ".join(f"{one.parts.get(name, 0.0):>11.3f}" for name in names)
            mark = ("yes" if one.front else "") + (" *" if one.number == self.best else "")
            yield f"{one.prompt.id:<18} {one.score:>10.3f}  {parts}  {one.best_on:>7}  {mark}".rstrip()
        yield ""
        for name, held in (("start", self.start_held), ("winner", self.winner_held)):
            parts = ", ".join(f"{part} {value:.3f}" for part, value in held.parts.items())
            yield f"held out, {name:<6} {held.score:.3f}  ({held.examples} criteria of {held.cases} cases: {parts})"
        better, worse, same = self.compared
        yield f"better on {better}, worse on {worse}, the same on {same}"
        yield f"{self.used} of {self.budget} reviews in {self.rounds} rounds; {self.stopped}. {_cost(self.spent)}"


def _cost(spent: Spent) -> str:
    failed = f" {spent.failed} of the reviews failed." if spent.failed else ""
    return f"{spent.reflections} reflections, {spent.tokens:,} tokens, ${spent.cost_usd:.4f}.{failed}"


def round_parts(parts: Parts) -> dict[str, float]:
    return {name: round(value, 4) for name, value in parts.items()}
