"""`verify`: which read tool shows whether a call had its effect, and whether what it shows is what was expected."""

from __future__ import annotations

from circumspect.policy.condition_view import decode_if_json, view
from circumspect.policy.conditions import UNKNOWN, ConditionResult, decide
from circumspect.policy.expressions import ExpressionError, compile_value
from circumspect.policy.facts import Facts
from circumspect.values import Json, ToolCall


def check_call(facts: Facts) -> ToolCall | None:
    """The lookup to make after `facts.call` ran; None when the policy names none, or its arguments cannot be had."""
    verify = facts.policy.verify if facts.policy else None
    if verify is None:
        return None
    seen = view(facts)
    try:
        programs = {name: compile_value(source, seen.scope) for name, source in verify.args.items()}
        return ToolCall(verify.call, {name: one.compute(seen.values(one)) for name, one in programs.items()})
    except ExpressionError:
        return None


def came_true(facts: Facts, result: Json) -> ConditionResult:
    """Does what the lookup returned show that the call had its effect?"""
    if facts.policy is None or facts.policy.verify is None:
        return UNKNOWN
    return decide(facts.policy.verify.expect, view(facts, {"result": decode_if_json(result)}))
