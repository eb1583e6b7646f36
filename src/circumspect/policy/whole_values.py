"""`whole`: what a value that a call leaves open comes to, for the question that asks for a yes to it."""

from __future__ import annotations

from circumspect.policy.condition_view import decode_if_json, view
from circumspect.policy.expressions import ExpressionError, compile_value
from circumspect.policy.facts import Facts
from circumspect.policy.keys.clauses import WholeValue
from circumspect.policy.looks import make_look
from circumspect.values import Json, ToolCall


def find_open_value(facts: Facts) -> tuple[WholeValue, ToolCall] | None:
    """What the policy says of a value that the call leaves open, and the look that tells how much it is."""
    whole = facts.policy.whole if facts.policy else None
    if whole is None or facts.call.arguments.get(whole.param) is not None:
        return None
    look = make_look(whole, facts)
    return (whole, look) if look else None


def read_whole(whole: WholeValue, facts: Facts, result: Json) -> str:
    """In words; empty where the result does not tell."""
    seen = view(facts, {"result": decode_if_json(result)})
    try:
        program = compile_value(whole.value, seen.scope)
        found = program.compute(seen.values(program))
    except ExpressionError:
        return ""
    return " ".join(str(found).split()) if isinstance(found, str | int | float) else ""
