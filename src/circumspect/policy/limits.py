"""Limits: how often, or how much. A limit and what is known -> why this call would break it, or None.

Successful calls count, and those whose outcome nobody knows yet: they may have happened. Amounts below zero count as
nothing, so that a negative one cannot make room for another. A value in another spelling is the same value. A call
without a time counts in every window. Those who do not say who they are count as one person together: otherwise a new
conversation would be a new limit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime

from circumspect.policy.facts import Facts
from circumspect.policy.keys.call_limit import CallLimit, length, parameters_of, party_of
from circumspect.policy.keys.meaning import explain_clause
from circumspect.policy.likeness import is_same
from circumspect.values import History, Json, ToolCall


def check_limit(limit: CallLimit, facts: Facts) -> str | None:
    """What the model is told when this call would be one too many, or too much; None when it would not."""
    counted = [call for call in _earlier(limit, facts) if _same(limit, call, facts.call)]
    if limit.count is not None:
        return (limit.because or explain_clause(limit, facts.call.tool)) if len(counted) + 1 > limit.count else None
    if limit.sum is None or limit.at_most is None:
        return f"The limit on '{facts.call.tool}' says neither how often nor how much."
    amounts = [_amount(call.arguments.get(limit.sum)) for call in (*counted, facts.call)]
    if any(amount is None for amount in amounts):
        return f"'{limit.sum}' must be a number, because it is limited."
    total = sum(amount for amount in amounts if amount)
    return (limit.because or explain_clause(limit, facts.call.tool)) if total > limit.at_most else None


def _earlier(limit: CallLimit, facts: Facts) -> Iterator[ToolCall]:
    names = {facts.call.tool, *limit.across}
    span = length(limit.window)
    since = facts.now - span if span else None
    first = _last_heard(facts.session) if limit.window == "turn" else -1
    party = party_of(limit)
    # Another limit of the tool may have brought them: a turn and a conversation have no calls elsewhere.
    away = facts.session.elsewhere if span else ()
    others = [one for one in away if party == "tenant" or (party == "person" and one.same_person)]
    done = [one for one in others if one.ok or one.unknown] + [one for one in facts.session.past_calls if one.ok]
    for event in done:
        if event.call.tool in names and event.index > first and not _before(event.at, since):
            yield event.call
    for execution in facts.unsettled:
        if execution.call.tool in names and not _before(execution.started_at, since):
            yield execution.call


def _before(at: datetime | None, since: datetime | None) -> bool:
    if at is None or since is None:
        return False
    if (at.tzinfo is None) != (since.tzinfo is None):
        at, since = at.replace(tzinfo=None), since.replace(tzinfo=None)
    return at < since


def _last_heard(session: History) -> int:
    return max((one.index for one in session.utterances if one.speaker == "user"), default=-1)


def _same(limit: CallLimit, one: ToolCall, other: ToolCall) -> bool:
    return all(is_same(one.arguments.get(name), other.arguments.get(name)) for name in parameters_of(limit))


def _amount(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return max(0.0, float(value))
