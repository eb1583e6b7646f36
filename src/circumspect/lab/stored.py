"""Stored conversations, a few at a time, as the records that replay reads. Nothing is written.

In come a store and a tenant; out come `Record`s, the newest conversation first, and what ran in other conversations.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from circumspect.lab.replay import Record
from circumspect.stores import SqlStore, codec
from circumspect.stores.tables import conversations, intents, messages, tool_executions, turns
from circumspect.turn import ConversationId, Execution, TenantId

PAGE = 20
"""How many conversations are read at once."""


async def tenants_of(store: SqlStore) -> tuple[TenantId, ...]:
    """Everyone who has stored conversations."""
    return await store.tx(_tenants)


async def count(store: SqlStore, tenant: TenantId, since: datetime | None = None, limit: int | None = None) -> int:
    """How many conversations a backtest will visit."""
    found = await store.tx(_count, tenant, since)
    return found if limit is None else min(found, limit)


async def records(
    store: SqlStore, tenant: TenantId, since: datetime | None, limit: int | None
) -> AsyncIterator[Record]:
    """Page by page, from where the page before ended. One that is used meanwhile moves to the front and is left out."""
    last: tuple[float, str] | None = None
    left = limit
    while left is None or left > 0:
        page, last = await store.tx(_page, tenant, since, last, PAGE if left is None else min(PAGE, left))
        for record in page:
            yield record
        if not page:
            return
        left = None if left is None else left - len(page)


def _page(
    connection: sa.Connection, tenant: TenantId, since: datetime | None, last: tuple[float, str] | None, size: int
) -> tuple[list[Record], tuple[float, str] | None]:
    columns = conversations.c
    query = sa.select(columns.id, columns.updated_at).where(columns.tenant == tenant)
    if since is not None:
        query = query.where(columns.updated_at >= codec.epoch(since))
    if last is not None:
        query = query.where(sa.tuple_(columns.updated_at, columns.id) < sa.tuple_(*last))
    rows: Sequence[Any] = connection.execute(
        query.order_by(columns.updated_at.desc(), columns.id.desc()).limit(size)
    ).all()
    if not rows:
        return [], last
    which = {"tenant": tenant, "ids": [row.id for row in rows]}
    said, ran, asked, played = (
        _by_conversation(connection, query, which) for query in (_MESSAGES, _EXECUTIONS, _INTENTS, _TURNS)
    )
    records = [
        Record(
            tenant=tenant,
            conversation=ConversationId(row.id),
            messages=[codec.message(one) for one in said.get(row.id, ())],
            executions=[codec.execution(one) for one in ran.get(row.id, ())],
            intents=[codec.intent(one) for one in asked.get(row.id, ())],
            turns={one.id: (one.mode, one.language) for one in played.get(row.id, ())},
        )
        for row in rows
    ]
    return records, (rows[-1].updated_at, rows[-1].id)


def _theirs(table: sa.Table) -> sa.ColumnElement[bool]:
    some = table.c.conversation.in_(sa.bindparam("ids", expanding=True))
    return sa.and_(table.c.tenant == sa.bindparam("tenant"), some)


_MESSAGES = sa.select(messages).where(_theirs(messages)).order_by("seq")
_EXECUTIONS = sa.select(tool_executions).where(_theirs(tool_executions)).order_by("started_at", "id")
_INTENTS = sa.select(intents).where(_theirs(intents)).order_by("created_at", "id")
# By id, which is what turns are found by; in the mode that the turn ended up in, not the one it was opened with.
_TURNS = sa.select(
    turns.c.id, turns.c.conversation, turns.c.language, turns.c.result["usage"]["mode"].as_string().label("mode")
).where(
    turns.c.id.in_(sa.select(messages.c.turn).where(_theirs(messages), messages.c.kind == "policy")),
    turns.c.result.is_not(None),
)


def _by_conversation(
    connection: sa.Connection, query: sa.Select[Any], which: Mapping[str, Any]
) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in connection.execute(query, which):
        found.setdefault(row.conversation, []).append(row)
    return found


def _count(connection: sa.Connection, tenant: TenantId, since: datetime | None) -> int:
    query = sa.select(sa.func.count()).select_from(conversations).where(conversations.c.tenant == tenant)
    if since is not None:
        query = query.where(conversations.c.updated_at >= codec.epoch(since))
    return int(connection.execute(query).scalar_one())


def _tenants(connection: sa.Connection) -> tuple[TenantId, ...]:
    query = sa.select(conversations.c.tenant).distinct().order_by(conversations.c.tenant)
    return tuple(TenantId(row.tenant) for row in connection.execute(query))


class Elsewhere:
    """Calls in all conversations within a stretch of time, for limits over one. The last stretch is kept: conversations
    come the newest first, so the next one is likely to need the same, or what came just before."""

    def __init__(self, store: SqlStore, tenant: TenantId) -> None:
        self._store = store
        self._tenant = tenant
        self._kept: dict[frozenset[str], tuple[datetime, datetime, list[Execution], list[datetime]]] = {}

    async def __call__(self, tools: Collection[str], since: datetime, until: datetime) -> Sequence[Execution]:
        key = frozenset(tools)
        kept = self._kept.get(key)
        if kept is None or since < kept[0] or until > kept[1]:
            first = since - (until - since)
            found = await self._store.tx(_between, self._tenant, key, codec.epoch(first), codec.epoch(until))
            kept = self._kept[key] = (first, until, found, [one.started_at for one in found])
        _, _, found, began = kept
        return found[bisect_left(began, since) : bisect_right(began, until)]


def _between(
    connection: sa.Connection, tenant: TenantId, tools: frozenset[str], since: float, until: float
) -> list[Execution]:
    columns = tool_executions.c
    query = (
        sa.select(tool_executions)
        .where(columns.tenant == tenant, columns.tool.in_(sorted(tools)), columns.started_at.between(since, until))
        .order_by(columns.started_at, columns.id)
    )
    return [codec.execution(row) for row in connection.execute(query)]
