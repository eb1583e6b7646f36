"""What a change to tenants reaches, from what is stored: their tools, and what the last month had of them.

Read from the sums by day, so that it costs the same however much was said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from circumspect.server.console.i18n import Translator
from circumspect.stores import admin
from circumspect.stores.day_tables import held_days, turn_days
from circumspect.values import TenantId

DAYS = 30
MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class Affected:
    tenants: tuple[TenantId, ...]
    tools: tuple[str, ...]
    """Those that change something, by name."""
    messages: int
    acted: int
    held: int

    def describe(self, words: Translator) -> list[str]:
        """One line each, for who is about to change it."""
        t = words.t
        return [
            t("affects-tenants", count=len(self.tenants), names=_name(self.tenants)),
            t("affects-tools", count=len(self.tools), names=_name(self.tools)),
            t("affects-calls", messages=self.messages, acted=self.acted, held=self.held),
        ]


def read_affected(connection: sa.Connection, tenants: Sequence[TenantId], now: datetime) -> Affected:
    since = f"{now - timedelta(days=DAYS):%Y-%m-%d}"
    whose = sorted(tenants)
    tools: set[str] = set()
    for tenant in whose:
        tools |= {name for name, spec in admin.get_tools(connection, tenant).items() if spec.effect != "read"}
    days = turn_days.c
    turns = sa.select(
        sa.func.coalesce(sa.func.sum(days.turns), 0),
        sa.func.coalesce(sa.func.sum(sa.case((days.outcome == "acted", days.turns), else_=0)), 0),
    ).where(days.tenant.in_(whose), days.day >= since)
    messages, acted = connection.execute(turns).one()
    total = sa.func.coalesce(sa.func.sum(held_days.c.number), 0)
    held = connection.scalar(sa.select(total).where(held_days.c.tenant.in_(whose), held_days.c.day >= since))
    return Affected(tuple(whose), tuple(sorted(tools)), int(messages), int(acted), int(held or 0))


def _name(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_NAMED]) or "–"
    return f"{shown}, …" if len(names) > MOST_NAMED else shown
