"""Shadows of reviews: a case that was decided, and a second configuration -> what that one would have said.

`request["shadow"]` is made by whoever accepted the case: `{"id", "controller", "prompts", "budget_usd",
"budget_tokens"}`. It runs after the live verdicts are written and shown; nobody sees its own, they count in no usage,
and nothing waits for it. What it costs is kept with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from circumspect.review.values import CriterionResult
from circumspect.stores import reviews, shadows
from circumspect.stores.reviews import Evaluation
from circumspect.stores.shadows import ShadowRow
from circumspect.values import Json, TenantId


def is_overspent(connection: sa.Connection, tenant: str, under: Mapping[str, Any]) -> bool:
    cost, tokens = shadows.sum_cost(connection, TenantId(tenant), under["id"])
    limits = ((cost, under.get("budget_usd")), (tokens, under.get("budget_tokens")))
    return any(limit is not None and used >= limit for used, limit in limits)


def put_shadow(
    connection: sa.Connection, evaluation: Evaluation, made: Sequence[CriterionResult], error: str, now: float
) -> bool:
    """Both sides of a case. False when the case is gone by now, or was written before."""
    under: Any = evaluation.request["shadow"]
    found: list[Any] = [row for _, row in reviews.results_of(connection, evaluation.tenant, evaluation.id)]
    live = _describe([(one["criterion"], one["status"], one["confidence"]) for one in found])
    other = _describe([(one.criterion, one.status, round(one.confidence, 4)) for one in made])
    otherwise = [] if error else _find_differences(live["verdicts"], other["verdicts"])
    row = ShadowRow(
        tenant=TenantId(evaluation.tenant),
        experiment=under["id"],
        turn=evaluation.id,
        conversation=None,
        same=not error and not otherwise,
        differences=["verdicts"] if otherwise else [],
        live=live,
        shadow={} if error else {**other, "otherwise": list(otherwise)},
        error=error,
        cost_usd=sum(one.cost_usd for one in made),
        tokens=sum(one.tokens for one in made),
        seconds=sum(one.seconds for one in made),
        at=now,
        case_id=evaluation.case_id,
    )
    return shadows.put(connection, row)


def _describe(verdicts: Sequence[tuple[str, str, float]]) -> dict[str, Any]:
    """A case in which something stayed open goes to a person."""
    is_open = any(status == "UNCERTAIN" for _, status, _ in verdicts)
    said: dict[str, Json] = {
        name: {"status": status, "confidence": confidence} for name, status, confidence in verdicts
    }
    return {"outcome": "escalated" if is_open else "answered", "verdicts": said}


def _find_differences(live: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The criteria that were decided otherwise."""
    return [name for name, one in live.items() if one["status"] != other.get(name, {}).get("status")]
