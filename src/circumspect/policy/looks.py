"""A read that the policy names, to be made for a call: its arguments are expressions over that call."""

from __future__ import annotations

from circumspect.policy.condition_view import view
from circumspect.policy.expressions import ExpressionError, compile_value
from circumspect.policy.facts import Facts
from circumspect.policy.keys.clauses import Verify, WholeValue
from circumspect.values import ToolCall


def make_look(clause: Verify | WholeValue, facts: Facts) -> ToolCall | None:
    """None when its arguments cannot be had."""
    seen = view(facts)
    try:
        programs = {name: compile_value(source, seen.scope) for name, source in clause.args.items()}
        return ToolCall(clause.call, {name: one.compute(seen.values(one)) for name, one in programs.items()})
    except ExpressionError:
        return None
