"""Finding conversations: what somebody looks for in, rows of a list out, the most recently used first.

Every condition is a set of conversations, and a conversation has to be in all of them. Pages go on from the last row
seen, so that what comes in meanwhile moves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from circumspect.journal import ReplyEvent, read_event
from circumspect.server.console.figures import HELD, match_tenants
from circumspect.stores import codec
from circumspect.stores.codec import clean
from circumspect.stores.people import ListCursor, VisibleTenants
from circumspect.stores.tables import VISIBLE, conversations, messages, tool_executions, tools, turns
from circumspect.values import Message, TenantId


@dataclass(frozen=True, slots=True)
class ConversationFilter:
    """What the filter form says; empty says nothing."""

    q: str = ""
    tenant: str = ""
    outcome: str = ""
    reason: str = ""
    tool: str = ""
    language: str = ""
    mode: str = ""
    days: int = 0
    on: str = ""
    """One day, as YYYY-MM-DD."""
    held: bool = False
    critique: bool = False
    context: bool = False

    def query(self) -> dict[str, Any]:
        """As the address says it."""
        return {name: int(value) if value is True else value for name, value in asdict(self).items() if value}


@dataclass(frozen=True, slots=True)
class FoundConversation:
    tenant: TenantId
    id: str
    mode: str
    language: str | None
    person: str | None
    paused_by: str | None
    messages: int
    updated_at: datetime
    first: str
    """What the user began with."""
    last: Message | None
    """What was said last."""

    @property
    def outcome(self) -> str:
        return self._reply.outcome if self._reply else ""

    @property
    def reasons(self) -> list[str]:
        return list(self._reply.reason_codes) if self._reply else []

    @property
    def _reply(self) -> ReplyEvent | None:
        event = read_event(self.last) if self.last else None
        return event if isinstance(event, ReplyEvent) else None


def find(
    connection: sa.Connection,
    seen: VisibleTenants,
    wanted: ConversationFilter,
    now: datetime,
    after: ListCursor | None,
    limit: int,
) -> list[FoundConversation]:
    table, begin, end = conversations, *_period(wanted, now)
    query = sa.select(table).where(match_tenants(table, seen))
    if begin:
        query = query.where(table.c.updated_at >= begin)
    if wanted.language:
        query = query.where(table.c.language == wanted.language)
    if wanted.mode:
        query = query.where(table.c.mode == wanted.mode)
    place = sa.tuple_(table.c.tenant, table.c.id)
    for condition in _conditions(seen, wanted, begin, end):
        query = query.where(place.in_(condition))
    if after is not None:
        query = query.where(sa.tuple_(table.c.updated_at, table.c.id) < sa.tuple_(sa.literal(after.at), after.id))
    rows = connection.execute(query.order_by(table.c.updated_at.desc(), table.c.id.desc()).limit(limit)).all()
    return _with_words(connection, rows)


def _period(wanted: ConversationFilter, now: datetime) -> tuple[float, float]:
    """From when, and until when; zero is no limit."""
    if wanted.on:
        try:
            day = datetime.fromisoformat(f"{wanted.on}T00:00:00+00:00")
            return day.timestamp(), (day + timedelta(days=1)).timestamp()
        except (ValueError, OverflowError):
            return 0.0, 0.0
    return ((now - timedelta(days=wanted.days)).timestamp(), 0.0) if wanted.days else (0.0, 0.0)


def _conditions(seen: VisibleTenants, wanted: ConversationFilter, begin: float, end: float) -> list[sa.Select[Any]]:
    def select_messages(*where: sa.ColumnElement[bool] | sa.TextClause) -> sa.Select[Any]:
        query = sa.select(messages.c.tenant, messages.c.conversation).where(match_tenants(messages, seen), *where)
        query = query.where(messages.c.at >= begin) if begin else query
        return query.where(messages.c.at < end) if end else query

    conditions: list[sa.Select[Any]] = []
    if wanted.outcome or wanted.on:
        query = _turns(seen, begin, end)
        conditions.append(query.where(turns.c.outcome == wanted.outcome) if wanted.outcome else query)
    if wanted.reason:
        # A step has one reason; a turn has all of them.
        of_steps = select_messages(messages.c.reason_code == wanted.reason, sa.text("reason_code IS NOT NULL"))
        of_turns = _turns(seen, begin, end).where(
            sa.cast(turns.c.result, sa.Text).contains(f'"{wanted.reason}"', autoescape=True)
        )
        either = of_steps.union(of_turns).subquery()
        conditions.append(sa.select(either.c.tenant, either.c.conversation))
    if wanted.held:
        conditions.append(select_messages(HELD, messages.c.meta["effect"].as_string() != "read"))
    if wanted.critique:
        conditions.append(select_messages(messages.c.kind == "critique"))
    if wanted.context:
        conditions.append(select_messages(messages.c.kind == "context"))
    if wanted.tool:
        ran = sa.select(tool_executions.c.tenant, tool_executions.c.conversation).where(
            match_tenants(tool_executions, seen), tool_executions.c.tool == wanted.tool
        )
        proposed = select_messages(
            messages.c.kind == "policy", messages.c.content.startswith(f"{wanted.tool}: ", autoescape=True)
        )
        either = ran.union(proposed).subquery()
        conditions.append(sa.select(either.c.tenant, either.c.conversation))
    if words := clean(wanted.q).strip():
        # SQLite folds the case of Latin letters only, so other scripts are looked for as they are mostly written.
        spelt = dict.fromkeys((words, words.lower(), words.capitalize()))
        in_words = select_messages(
            sa.text(VISIBLE), sa.or_(*(messages.c.content.icontains(one, autoescape=True) for one in spelt))
        )
        by_name = sa.select(conversations.c.tenant, conversations.c.id.label("conversation")).where(
            match_tenants(conversations, seen), sa.or_(conversations.c.id == words, conversations.c.person == words)
        )
        either = in_words.union(by_name).subquery()
        conditions.append(sa.select(either.c.tenant, either.c.conversation))
    return conditions


def _turns(seen: VisibleTenants, begin: float, end: float) -> sa.Select[Any]:
    query = sa.select(turns.c.tenant, turns.c.conversation).where(
        match_tenants(turns, seen), turns.c.started_at >= begin
    )
    return query.where(turns.c.started_at < end) if end else query


def _with_words(connection: sa.Connection, rows: Sequence[Any]) -> list[FoundConversation]:
    """The first and the last message of each; both are found by their number."""
    if not rows:
        return []
    places = [key for row in rows for key in ((row.tenant, row.id, 0), (row.tenant, row.id, row.next_seq - 1))]
    place = sa.tuple_(messages.c.tenant, messages.c.conversation, messages.c.seq)
    said = {
        (row.tenant, row.conversation, row.seq): codec.message(row)
        for row in connection.execute(sa.select(messages).where(place.in_(places)))
    }
    found = []
    for row in rows:
        first, last = said.get((row.tenant, row.id, 0)), said.get((row.tenant, row.id, row.next_seq - 1))
        begun = first.content if first else ""
        found.append(codec.read_row(FoundConversation, row, messages=row.next_seq, first=begun, last=last))
    return found


def tool_names(connection: sa.Connection, seen: VisibleTenants) -> list[str]:
    """For the filter."""
    query = sa.select(tools.c.name).where(match_tenants(tools, seen)).distinct().order_by(tools.c.name)
    return list(connection.execute(query).scalars())
