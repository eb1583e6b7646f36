"""A condition and what is known -> holds, fails, or cannot be decided (and then: what to look up).

What is known is the proposed call and what the conversation established: see `condition_view.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from circumspect.policy.condition_view import MISSING, View, find_key_parameter, step_into
from circumspect.policy.expressions import Program, compile_condition
from circumspect.policy.grounding.places import ANY, ExpressionPath, Many

_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Need:
    """A lookup that would tell what is not known yet."""

    tool: str
    parameter: str = ""
    key: Any = MISSING
    tried: bool = False
    """It was called before, and gave nothing."""

    def __str__(self) -> str:
        """As the model would write the call."""
        if self.key is MISSING:
            return self.tool
        return f"{self.tool}({f'{self.parameter}=' if self.parameter else ''}{render_value(self.key)})"


def render_value(value: object) -> str:
    """A value as the model would write it, shortened."""
    said = json.dumps(value, default=str, ensure_ascii=False)
    return said if len(said) <= _SHOWN else f"{said[:_SHOWN]}…"


@dataclass(frozen=True, slots=True)
class ConditionResult:
    kind: Literal["holds", "fails", "unknown"]
    needs: tuple[Need, ...] = ()


HOLDS, FAILS, UNKNOWN = ConditionResult("holds"), ConditionResult("fails"), ConditionResult("unknown")


def decide(source: str, seen: View) -> ConditionResult:
    """Never raises: what cannot be evaluated, for whatever reason, is unknown."""
    try:
        compiled = compile_condition(source, seen.scope)
        answer = compiled.evaluate(seen.values(compiled))
        if answer is True:
            return HOLDS
        return (
            FAILS
            if answer is False
            else ConditionResult("unknown", tuple(dict.fromkeys(_needs(compiled, seen, answer.absent))))
        )
    except Exception:  # a condition that breaks is a condition that was not decided
        return UNKNOWN


def _needs(compiled: Program, seen: View, absent: str) -> Iterator[Need]:
    """Lookups that are missing. One whose key is itself not known yet waits for the one that gives the key. `absent` is
    the key that was looked for and not there."""
    facts = seen.root("facts")
    for path in compiled.places:
        if path.root not in ("facts", "latest", "results") or not path.steps or not isinstance(path.steps[0], str):
            continue
        tool, keyed = path.steps[0], path.root == "facts"
        step = path.steps[1] if keyed and len(path.steps) > 1 else ANY
        if isinstance(step, Many):
            if tool not in seen.known.by_tool:
                yield Need(tool, tried=_was_tried(tool, MISSING, seen))
            elif keyed and absent:
                yield Need(tool, _parameter(tool, None, seen), absent, _was_tried(tool, absent, seen))
            continue
        key = seen.at(step) if isinstance(step, ExpressionPath) else step
        if key is not MISSING and step_into(step_into(facts, tool), key) is MISSING:
            yield Need(tool, _parameter(tool, step, seen), key, _was_tried(tool, key, seen))
        elif key is MISSING and isinstance(step, ExpressionPath) and step.root not in ("facts", "latest", "results"):
            yield Need(tool)


def _parameter(tool: str, step: ExpressionPath | str | float | None, seen: View) -> str:
    source = seen.scope.facts.get(tool)
    if source and source.key:
        return source.key
    last = step.steps[-1] if isinstance(step, ExpressionPath) and step.steps else ""
    guess = last if isinstance(last, str) else ""
    spec = seen.facts.tools.get(tool)
    if spec is None or not spec.properties:
        # An argument most likely has the same name there; what a field of some record is called says nothing.
        return guess if isinstance(step, ExpressionPath) and step.root == "args" else ""
    return find_key_parameter(spec) or (guess if guess in spec.properties else "")


def _was_tried(tool: str, key: Any, seen: View) -> bool:
    calls = seen.known.vouched.get(tool, ())
    return bool(calls) if key is MISSING else any(key in one.call.arguments.values() for one in calls)
