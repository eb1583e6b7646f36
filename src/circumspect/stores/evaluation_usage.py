"""What reviews came to, added up by month: verdicts, time, tokens and money by controller and model.

Counted in the transaction that writes a result, so a verdict that is there is paid for and one that is lost is not.
Like `usage` it names nobody, and stays when a case is forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from circumspect.stores.codec import clean
from circumspect.stores.people import VisibleTenants
from circumspect.stores.review_tables import evaluation_usage
from circumspect.stores.statements import run, sql
from circumspect.stores.tables import plans, tenants

_SUMS = (
    "verdicts", "met", "not_met", "uncertain", "model_calls", "input_tokens", "output_tokens", "seconds", "cost",
    "billed",
)  # fmt: skip
_ADD = sql(f"""
    INSERT INTO evaluation_usage (tenant, period, controller, model, {", ".join(_SUMS)})
    VALUES (:tenant, :period, :controller, :model, {", ".join(f":{name}" for name in _SUMS)})
    ON CONFLICT (tenant, period, controller, model) DO UPDATE SET
        {", ".join(f"{name} = evaluation_usage.{name} + excluded.{name}" for name in _SUMS)}
""")  # noqa: S608


@dataclass(frozen=True, slots=True)
class EvaluationUsage:
    """Of one controller with one model in one month. `billed` is the cost times the plan's multiplier."""

    tenant: str
    period: str
    controller: str
    model: str
    verdicts: int
    met: int
    not_met: int
    uncertain: int
    model_calls: int
    input_tokens: int
    output_tokens: int
    seconds: float
    cost: float
    billed: float

    @property
    def abstention(self) -> float:
        return self.uncertain / self.verdicts if self.verdicts else 0.0

    @property
    def seconds_each(self) -> float:
        return self.seconds / self.verdicts if self.verdicts else 0.0


def count_verdict(
    connection: sa.Connection, tenant: str, result: Mapping[str, Any], at: float, multiplier: float
) -> None:
    """`result` is the whole of it, as it is stored."""
    used: Mapping[str, Any] = result.get("usage") or {}
    status, cost = result["status"], float(used.get("cost_usd", 0.0))
    run(
        connection,
        _ADD,
        {
            "tenant": tenant,
            "period": f"{datetime.fromtimestamp(at, UTC):%Y-%m}",
            "controller": result.get("controller", ""),
            "model": clean(used.get("model") or ""),
            "verdicts": 1,
            "met": int(status == "MET"),
            "not_met": int(status == "NOT_MET"),
            "uncertain": int(status == "UNCERTAIN"),
            "model_calls": used.get("model_calls", 0),
            "input_tokens": used.get("input_tokens", 0),
            "output_tokens": used.get("output_tokens", 0),
            "seconds": float(used.get("seconds", 0.0)),
            "cost": cost,
            "billed": cost * multiplier,
        },
    )


def get_multiplier(connection: sa.Connection, tenant: str) -> float:
    query = sa.select(plans.c.multiplier).join(tenants, tenants.c.plan == plans.c.name).where(tenants.c.id == tenant)
    found: float | None = connection.execute(query).scalar()
    return 1.0 if found is None else found


def list_evaluation_usage(
    connection: sa.Connection, seen: VisibleTenants, period: str | None = None
) -> Sequence[EvaluationUsage]:
    columns = evaluation_usage.c
    query = sa.select(evaluation_usage).order_by(columns.tenant, columns.period, columns.controller, columns.model)
    if seen is not None:
        query = query.where(columns.tenant.in_(sorted(seen)))
    if period is not None:
        query = query.where(columns.period == period)
    return [EvaluationUsage(*row) for row in connection.execute(query)]
