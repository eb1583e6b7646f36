"""What every contestant does: take a proposal as its agent's next call, and say what became of it and how long it took.

The time runs from the moment at which the model has proposed the call until it runs, is refused, or a person is asked:
for a framework that is its own way from the model to the tool as well, so "nothing" is measured beside the guards.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from bench.gates.proposals import Outcome, Proposal


class Watch:
    """Started by the model when it proposes; stopped by whatever happens first."""

    def __init__(self) -> None:
        self.started = self.stopped = 0.0
        self.ran = False

    def start(self) -> None:
        self.started = time.perf_counter()

    def stop(self) -> None:
        self.stopped = self.stopped or time.perf_counter()

    def run(self) -> str:
        """The body of every tool."""
        self.stop()
        self.ran = True
        return "done"

    @property
    def seconds(self) -> float:
        return self.stopped - self.started


class Contestant(Protocol):
    name: str
    package: str
    """The distribution whose version is told."""
    glue: int
    """Lines that a user writes for it, settings and policy included."""

    async def propose(self, proposal: Proposal, watch: Watch, says_yes: bool) -> Outcome:
        """Where a person is asked and `says_yes`, they do so by whatever door the contestant has for that, and it is
        an error when the call does not run then."""
        ...

    async def close(self) -> None: ...


def check_yes(proposal: Proposal, ran: bool) -> None:
    if not ran:
        raise AssertionError(f"A yes to {proposal.name!r} does not run it, so it was not a question.")


def count_lines(*written: Callable[..., Any] | Path) -> int:
    """Lines with something on them: of a file, all but comments; of a function, those of its body without docstring."""
    return sum(_count(one) for one in written)


def _count(written: Callable[..., Any] | Path) -> int:
    if isinstance(written, Path):
        lines = written.read_text().splitlines()
    else:
        lines = inspect.getsource(written).split('"""')[-1].splitlines()
        lines = lines if inspect.getdoc(written) else lines[1:]
    return sum(1 for line in lines if line.strip() and not line.strip().startswith("#"))
