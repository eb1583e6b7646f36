"""`verify`: which read tool shows whether a call had its effect, and whether what it shows is what was expected."""

from __future__ import annotations

from circumspect.policy.condition_view import decode_if_json, view
from circumspect.policy.conditions import UNKNOWN, ConditionResult, decide
from circumspect.policy.facts import Facts
from circumspect.policy.looks import make_look
from circumspect.values import Json, ToolCall


def check_call(facts: Facts) -> ToolCall | None:
    """The lookup to make after `facts.call` ran; None when the policy names none, or its arguments cannot be had."""
    verify = facts.policy.verify if facts.policy else None
    return make_look(verify, facts) if verify else None


def came_true(facts: Facts, result: Json) -> ConditionResult:
    """Does what the lookup returned show that the call had its effect?"""
    if facts.policy is None or facts.policy.verify is None:
        return UNKNOWN
    return decide(facts.policy.verify.expect, view(facts, {"result": decode_if_json(result)}))
