"""Stored conversations, a few at a time, as the records that replay reads. Nothing is written.

In come a store and a tenant; out come `Record`s, the newest conversation first, and what ran in other conversations.
A `Stretch` names conversations that follow each other without reading them: the unit that work is divided by.

What may surprise: conversations are found by when they were last used. One that is used while it waits to be read moves
to the front, and is left out.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from circumspect.lab.replay.past_calls import Record
from circumspect.stores import codec
from circumspect.stores.admin import is_of_person
from circumspect.stores.engine import Database, Transactions, connect
from circumspect.stores.tables import conversations, intents, messages, tool_executions, turns
from circumspect.values import ConversationId, Execution, Message, TenantId

PAGE = 20
"""How many conversations are read at once."""

T = TypeVar("T")
ConversationSortKey = tuple[float, str]
"""When a conversation was last used, and its id: what they are ordered by."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Conversations that follow each other, the newest first. Both ends belong to it."""

    tenant: TenantId
    newest: ConversationSortKey
    oldest: ConversationSortKey
    conversations: int


async def tenants_of(store: Transactions) -> tuple[TenantId, ...]:
    """Everyone who has stored conversations."""
    return await store.tx(_tenants)


async def count(store: Transactions, tenant: TenantId, since: datetime | None = None, limit: int | None = None) -> int:
    """How many conversations a backtest will visit."""
    found = await store.tx(_count, tenant, since)
    return found if limit is None else min(found, limit)


async def stretches(
    store: Transactions, tenant: TenantId, size: int, since: datetime | None = None, limit: int | None = None
) -> Sequence[Stretch]:
    """All of a tenant's conversations, so many to a stretch."""
    return await store.tx(_stretches, tenant, size, since, limit)


async def records(
    store: Transactions, tenant: TenantId, since: datetime | None, limit: int | None
) -> AsyncIterator[Record]:
    """Page by page, from where the page before ended."""
    last: ConversationSortKey | None = None
    left = limit
    while left is None or left > 0:
        page, last = await store.tx(_page, tenant, since, last, PAGE if left is None else min(PAGE, left))
        for record in page:
            yield record
        if not page:
            return
        left = None if left is None else left - len(page)


def read(connection: sa.Connection, stretch: Stretch) -> list[Record]:
    """The conversations of a stretch, the newest first."""
    which = {
        "tenant": stretch.tenant,
        "newest": stretch.newest[0],
        "newest_id": stretch.newest[1],
        "oldest": stretch.oldest[0],
        "oldest_id": stretch.oldest[1],
    }
    said: dict[str, list[Message]] = {}
    for conversation, *row in connection.execute(_MESSAGES, which).all():
        said.setdefault(conversation, []).append(_message(*row))
    ran = _by_conversation(connection.execute(_EXECUTIONS, which).all(), codec.execution)
    asked = _by_conversation(connection.execute(_INTENTS, which).all(), codec.intent)
    played: dict[str, dict[Any, Any]] = {}
    for conversation, turn, language, mode in connection.execute(_TURNS, which).all():
        played.setdefault(conversation, {})[turn] = (mode, language)
    return [
        Record(
            tenant=stretch.tenant,
            conversation=ConversationId(row.id),
            messages=said.get(row.id, ()),
            executions=ran.get(row.id, ()),
            intents=asked.get(row.id, ()),
            turns=played.get(row.id, {}),
            person=row.person,
        )
        for row in connection.execute(_CONVERSATIONS, which).all()
    ]


def open_for_reading(url: str) -> Database:
    """A database to read from in one thread. SQLite's readers then neither wait for each other nor for a writer, which
    transactions that could write do."""
    database = connect(url)
    if database.engine.dialect.name != "sqlite":
        return database
    database.close()
    engine = sa.create_engine(
        database.engine.url, poolclass=StaticPool, json_deserializer=codec.loads, hide_parameters=True
    )
    sa.event.listen(engine, "connect", _only_read)
    sa.event.listen(engine, "begin", _join)
    return Database(engine, 1, database.name, begin=_begin)


def _only_read(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None
    for pragma in ("busy_timeout = 30000", "query_only = ON"):
        connection.execute(f"PRAGMA {pragma}").fetchall()


def _begin(driver: sqlite3.Connection) -> None:
    if not driver.in_transaction:
        driver.execute("BEGIN")


def _join(connection: sa.Connection) -> None:
    driver: Any = connection.connection.driver_connection
    _begin(driver)


# --- queries --------------------------------------------------------------------------------------------------------

_columns = conversations.c
_KEY = sa.tuple_(_columns.updated_at, _columns.id)
# The first two conditions say nothing that the others do not, but an index can be used for them.
_IN_STRETCH = sa.and_(
    _columns.tenant == sa.bindparam("tenant"),
    _columns.updated_at.between(sa.bindparam("oldest"), sa.bindparam("newest")),
    sa.tuple_(sa.bindparam("oldest", type_=sa.Double), sa.bindparam("oldest_id", type_=sa.Text)) <= _KEY,
    sa.tuple_(sa.bindparam("newest", type_=sa.Double), sa.bindparam("newest_id", type_=sa.Text)) >= _KEY,
)
_CONVERSATIONS = (
    sa.select(_columns.id, _columns.person).where(_IN_STRETCH).order_by(_columns.updated_at.desc(), _columns.id.desc())
)  # fmt: skip


def _theirs(table: sa.Table) -> sa.ColumnElement[bool]:
    some = table.c.conversation.in_(sa.select(_columns.id).where(_IN_STRETCH))
    return sa.and_(table.c.tenant == sa.bindparam("tenant"), some)


_MESSAGES = (
    sa.select(*(messages.c[name] for name in ("conversation", "seq", "turn", "role", "kind", "content")))
    .add_columns(messages.c.at, messages.c.reason_code, messages.c.meta)
    .where(_theirs(messages))
    .order_by(messages.c.conversation, messages.c.seq)
)
_EXECUTIONS = sa.select(tool_executions).where(_theirs(tool_executions)).order_by("started_at", "id")
_INTENTS = sa.select(intents).where(_theirs(intents)).order_by("created_at", "id")
# By id, which is what turns are found by; in the mode that the turn ended up in, not the one it was opened with.
_TURNS = sa.select(
    turns.c.conversation, turns.c.id, turns.c.language, turns.c.result["usage"]["mode"].as_string().label("mode")
).where(
    turns.c.id.in_(sa.select(messages.c.turn).where(_theirs(messages), messages.c.kind == "policy")),
    turns.c.result.is_not(None),
)


def _message(
    seq: int, turn: Any, role: Any, kind: Any, content: str, at: float, reason_code: str | None, meta: Any
) -> Message:
    return Message(seq, turn, role, kind, content, codec.moment(at), codec.reason(reason_code), meta or {})


def _by_conversation(rows: Sequence[Any], word_of: Callable[[Any], T]) -> Mapping[str, list[T]]:
    found: dict[str, list[T]] = {}
    for row in rows:
        found.setdefault(row.conversation, []).append(word_of(row))
    return found


def _keys(tenant: TenantId, since: datetime | None) -> sa.Select[Any]:
    query = sa.select(_columns.updated_at, _columns.id).where(_columns.tenant == tenant)
    if since is not None:
        query = query.where(_columns.updated_at >= codec.epoch(since))
    return query.order_by(_columns.updated_at.desc(), _columns.id.desc())


def _page(
    connection: sa.Connection, tenant: TenantId, since: datetime | None, last: ConversationSortKey | None, size: int
) -> tuple[list[Record], ConversationSortKey | None]:
    query = _keys(tenant, since).limit(size)
    if last is not None:
        query = query.where(sa.tuple_(*last) > _KEY)
    keys: Sequence[Any] = connection.execute(query).all()
    if not keys:
        return [], last
    stretch = Stretch(tenant, tuple(keys[0]), tuple(keys[-1]), len(keys))
    return read(connection, stretch), stretch.oldest


def _stretches(
    connection: sa.Connection, tenant: TenantId, size: int, since: datetime | None, limit: int | None
) -> list[Stretch]:
    found: list[Stretch] = []
    for keys in connection.execute(_keys(tenant, since).limit(limit)).partitions(size):
        found.append(Stretch(tenant, tuple(keys[0]), tuple(keys[-1]), len(keys)))
    return found


def _count(connection: sa.Connection, tenant: TenantId, since: datetime | None) -> int:
    query = sa.select(sa.func.count()).select_from(conversations).where(_columns.tenant == tenant)
    if since is not None:
        query = query.where(_columns.updated_at >= codec.epoch(since))
    return int(connection.execute(query).scalar_one())


def _tenants(connection: sa.Connection) -> tuple[TenantId, ...]:
    query = sa.select(_columns.tenant).distinct().order_by(_columns.tenant)
    return tuple(TenantId(row.tenant) for row in connection.execute(query))


_LookupKey = tuple[frozenset[str], str | None]


class StoredExecutionLookup:
    """Calls in all conversations within a stretch of time, for limits over one. The last stretch is kept: conversations
    come the newest first, so the next one is likely to need the same, or what came just before."""

    def __init__(self, store: Transactions, tenant: TenantId) -> None:
        self._store = store
        self._tenant = tenant
        self._kept: dict[_LookupKey, tuple[datetime, datetime, list[Execution], list[datetime]]] = {}

    async def __call__(
        self, tools: Collection[str], since: datetime, until: datetime, person: str | None = None
    ) -> Sequence[Execution]:
        key = (frozenset(tools), person)
        kept = self._kept.get(key)
        if kept is None or since < kept[0] or until > kept[1]:
            first = since - (until - since)
            found = await self._store.tx(_between, self._tenant, *key, codec.epoch(first), codec.epoch(until))
            kept = self._kept[key] = (first, until, found, [one.started_at for one in found])
        _, _, found, began = kept
        return found[bisect_left(began, since) : bisect_right(began, until)]


def _between(
    connection: sa.Connection, tenant: TenantId, tools: frozenset[str], person: str | None, since: float, until: float
) -> list[Execution]:
    columns = tool_executions.c
    query = (
        sa.select(tool_executions)
        .where(columns.tenant == tenant, columns.tool.in_(sorted(tools)), columns.started_at.between(since, until))
        .order_by(columns.started_at, columns.id)
    )
    if person is not None:
        query = query.where(is_of_person(tenant, person))
    return [codec.execution(row) for row in connection.execute(query)]
