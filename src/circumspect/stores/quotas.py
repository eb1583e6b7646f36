"""How many of its plan's messages a tenant has had this month. Plain functions on a connection.

A message counts when its turn is closed. Whoever compares the count with a quota does not see the turns that are under
way, so as many as run at once may go beyond it, and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from circumspect.stores.tables import plans, tenants, usage
from circumspect.values import TenantId


@dataclass(frozen=True, slots=True)
class TenantQuota:
    """`period` is a month (`YYYY-MM`, UTC); without a `quota` there is no end to the messages."""

    tenant: TenantId
    period: str
    plan: str
    quota: int | None
    message_price: float
    used: int

    @property
    def left(self) -> int | None:
        return None if self.quota is None else max(0, self.quota - self.used)


def count_messages(connection: sa.Connection, tenant: TenantId, period: str) -> int:
    counted = sa.select(sa.func.coalesce(sa.func.sum(usage.c.messages), 0))
    return int(connection.execute(counted.where(usage.c.tenant == tenant, usage.c.period == period)).scalar_one())


def list_quotas(connection: sa.Connection, seen: frozenset[TenantId] | None, period: str) -> Sequence[TenantQuota]:
    """Of every tenant in `seen`, or of all, by id."""
    counted = sa.select(usage.c.tenant, sa.func.sum(usage.c.messages).label("used")).where(usage.c.period == period)
    if seen is not None:
        counted = counted.where(usage.c.tenant.in_(sorted(seen)))
    month = counted.group_by(usage.c.tenant).subquery()
    query = (
        sa.select(tenants.c.id, plans.c.name, plans.c.quota, plans.c.message_price, sa.func.coalesce(month.c.used, 0))
        .join(plans, tenants.c.plan == plans.c.name)
        .outerjoin(month, month.c.tenant == tenants.c.id)
        .order_by(tenants.c.id)
    )
    if seen is not None:
        query = query.where(tenants.c.id.in_(sorted(seen)))
    return [
        TenantQuota(TenantId(tenant), period, plan, quota, price, int(used))
        for tenant, plan, quota, price, used in connection.execute(query)
    ]
