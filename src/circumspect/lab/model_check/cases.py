"""The messages that a model is tried with: `cases.jsonl` in, one `ModelCheckCase` a line out.

Each says what a good answer would be: the tool with some of its values, or what is missing and must not be made up, or
nothing at all where only something was asked. Nobody says yes in them, so nothing ever runs that changes something.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib.resources import files

from circumspect.values import JsonObject, Language


@dataclass(frozen=True, slots=True)
class ModelCheckCase:
    id: str
    language: Language
    say: str
    tool: str | None = None
    """What should be proposed; None where nothing that changes something should be."""
    values: JsonObject = field(default_factory=dict)
    """Values that have to be among its arguments."""
    missing: tuple[str, ...] = ()
    """Parameters whose values nobody gave."""
    form: bool = False
    """The message is understood and decided on first, which takes the longest form that there is."""
    quick: bool = False
    """One of the few for a first impression."""


def read_cases(*, quick: bool = False) -> tuple[ModelCheckCase, ...]:
    lines = (files(__package__) / "cases.jsonl").read_text("utf-8").splitlines()
    cases = (ModelCheckCase(**{**said, "missing": tuple(said.get("missing", ()))}) for said in map(json.loads, lines))
    return tuple(case for case in cases if case.quick or not quick)
