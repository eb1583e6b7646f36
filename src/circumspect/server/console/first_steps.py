"""What is left to do until an agent is served: a checklist on the first page, from what is stored.

It is over when the first call of a real conversation was held, which is when the server has done what it is for. Calls
held in the playground are somebody's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from circumspect.server.stores import tenants
from circumspect.server.stores.tenants import TenantRow
from circumspect.stores.day_tables import held_days, turn_days
from circumspect.stores.knowledge_tables import documents
from circumspect.stores.search_tables import held_calls
from circumspect.stores.tables import api_keys
from circumspect.values import TenantId

PLAYGROUND = "playground-%"
MOST_TENANTS = 20


@dataclass(frozen=True, slots=True)
class FirstStep:
    """`name` names the words of a step; `path` is where it is done, empty where nothing is to be clicked."""

    name: str
    path: str
    done: bool
    optional: bool = False


@dataclass(frozen=True, slots=True)
class FirstSteps:
    steps: tuple[FirstStep, ...]

    @property
    def next(self) -> str:
        """The first that has to be done and is not."""
        return next((one.name for one in self.steps if not one.done and not one.optional), "")


def read_first_steps(connection: sa.Connection, about: TenantId | None = None) -> FirstSteps | None:
    """For the tenant that is looked at, or the one that has come furthest; None when it is over."""
    if _is_over(connection):
        return None
    rows = [row for row in tenants.get_all(connection) if row.settings is not None]
    if about is not None:
        rows = [row for row in rows if row.tenant.id == about]
    if not rows:
        later = (FirstStep(name, "", done=False) for name in ("tools", "chat", "message", "held"))
        return FirstSteps((FirstStep("tenant", "/new-tenant", done=False), *later))
    each = [_list_steps(connection, row) for row in rows[:MOST_TENANTS]]
    return max(each, key=lambda one: sum(step.done for step in one.steps))


def _list_steps(connection: sa.Connection, row: TenantRow) -> FirstSteps:
    id_, settings = row.tenant.id, row.settings or {}
    place = f"/tenants/{quote(id_, safe='')}"
    return FirstSteps(
        (
            FirstStep("tenant", place, done=True),
            FirstStep("tools", f"{place}/tools", bool(settings.get("tools"))),
            FirstStep("documents", f"{place}#documents-title", _has(connection, documents, id_), optional=True),
            FirstStep("chat", f"{place}/widget", _has_chat(connection, id_, settings)),
            FirstStep("message", "", _has(connection, turn_days, id_)),
            FirstStep("held", "", done=False),
        )
    )


def _is_over(connection: sa.Connection) -> bool:
    """Days outlive conversations that are forgotten, so they are asked where no conversation says it."""
    real = sa.select(held_calls.c.seq).where(held_calls.c.conversation.not_like(PLAYGROUND)).limit(1)
    if connection.execute(real).first() is not None:
        return True
    ever = connection.scalar(sa.select(sa.func.coalesce(sa.func.sum(held_days.c.number), 0)))
    return int(ever or 0) > int(connection.scalar(sa.select(sa.func.count()).select_from(held_calls)) or 0)


def _has(connection: sa.Connection, table: sa.Table, tenant: TenantId) -> bool:
    query = sa.select(sa.literal(1)).select_from(table).where(table.c.tenant == tenant).limit(1)
    return connection.execute(query).first() is not None


def _has_chat(connection: sa.Connection, tenant: TenantId, settings: Mapping[str, Any]) -> bool:
    """A site that may show it and a key for it; or any key, for who has a program of their own."""
    keys = [tuple(row.scopes) for row in connection.execute(
        sa.select(api_keys.c.scopes).where(api_keys.c.tenant == tenant, api_keys.c.revoked_at.is_(None)).limit(100)
    )]  # fmt: skip
    for_pages = any(scopes == ("widget",) for scopes in keys)
    return any("chat" in scopes for scopes in keys) or (for_pages and bool(settings.get("widget", {}).get("origins")))
