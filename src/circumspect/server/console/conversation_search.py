"""Finding conversations: what somebody looks for in, rows of a list out, the most recently used first.

Every condition is a set of conversations, and a conversation has to be in all of them. First the newest conversations
are looked through one after the other: of what is frequent a page is soon full. What is rare is listed from its index.
What is neither, several frequent conditions that seldom meet, is looked for further back as long as it may take, and
then whoever looks says whether to go on. Pages begin after the last row seen, so that what comes in meanwhile moves
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

from circumspect.holds import PREVENTED
from circumspect.journal import ReplyEvent, read_event
from circumspect.server.console.figures import match_tenants
from circumspect.stores import codec
from circumspect.stores.codec import clean
from circumspect.stores.people import ListCursor, VisibleTenants, newest_first
from circumspect.stores.search_tables import held_calls, turn_marks
from circumspect.stores.tables import KNOWN, conversations, messages, tenants, tools, turns
from circumspect.stores.turn_marks import CONTEXT, CRITIQUE, HELD, mark_reason, mark_tool
from circumspect.stores.word_search import has_words, list_conversations_with, split_words
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
    fate: str = ""
    """What became of a call that was held: one of `holds.FATES`, or `prevented` for what would have been wrong."""
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


@dataclass(frozen=True, slots=True)
class FoundPage:
    rows: list[FoundConversation]
    further: ListCursor | None = None
    """Where looking stopped before there were enough: nothing older has been looked at."""


@dataclass(frozen=True, slots=True)
class _Condition:
    """A set of conversations."""

    lists: Sequence[sa.Select[Any]]
    """Queries for tenant and conversation of its members, each along an index."""
    holds: sa.ColumnElement[bool]
    """The same, asked of a row of `conversations`."""
    is_text: bool = False
    """Listing reads whatever begins like a word, and has more in it than holds."""


MOST_LISTED = 5_000
"""Members of a set that is rare."""
MOST_WALKED, AT_ONCE = 5_000, 500
"""Conversations looked at for one page, and in one go."""


def find(
    connection: sa.Connection,
    seen: VisibleTenants,
    wanted: ConversationFilter,
    now: datetime,
    after: ListCursor | None,
    limit: int,
) -> FoundPage:
    begin, end = _period(wanted, now)
    conditions = list(_conditions(connection, seen, wanted, begin, end))
    recent = [conversations.c.updated_at >= begin] if begin else []
    holds = [one.holds for one in conditions]
    rows, further = _walk(connection, seen, recent, holds, after, limit, AT_ONCE)
    if further is not None and (listed := _list_smallest(connection, conditions)) is not None:
        members, of = listed
        others = [one.holds for one in conditions if one is not of or one.is_text]
        rows, further = _keep(connection, members, [*recent, *others], after, limit), None
        rows = sorted(rows, key=lambda row: (row.updated_at, row.id), reverse=True)[:limit]
    elif further is not None:
        more, further = _walk(connection, seen, recent, holds, further, limit - len(rows), MOST_WALKED - AT_ONCE)
        rows += more
    return FoundPage(_with_words(connection, rows), further)


def _walk(
    connection: sa.Connection,
    seen: VisibleTenants,
    recent: Sequence[sa.ColumnElement[bool]],
    holds: Sequence[sa.ColumnElement[bool]],
    after: ListCursor | None,
    limit: int,
    most: int,
) -> tuple[list[Any], ListCursor | None]:
    """Those among the newest for which everything holds; and where it stopped before there were enough."""
    query, many = sa.select(conversations).where(*recent), AT_ONCE if holds else limit
    found: list[Any] = []
    for _ in range(0, most, AT_ONCE):
        rows = list(connection.execute(newest_first(query, conversations, "updated_at", seen, after, many)))
        if holds:
            kept = {(row.tenant, row.id) for row in _keep(connection, [(row.tenant, row.id) for row in rows], holds)}
            found += [row for row in rows if (row.tenant, row.id) in kept]
        else:
            found += rows
        if len(found) >= limit or len(rows) < many:
            return found[:limit], None
        after = ListCursor(rows[-1].updated_at, rows[-1].id)
    return found, after


def _keep(
    connection: sa.Connection,
    places: Iterable[tuple[str, str]],
    holds: Sequence[sa.ColumnElement[bool]],
    after: ListCursor | None = None,
    limit: int | None = None,
) -> list[Any]:
    """Of these conversations, the rows for which everything holds; with a limit, a page's worth out of each few."""
    rows: list[Any] = []
    for tenant, members in groupby(sorted(places), key=itemgetter(0)):
        ids = [id_ for _, id_ in members]
        for start in range(0, len(ids), AT_ONCE):
            some = (conversations.c.tenant == tenant, conversations.c.id.in_(ids[start : start + AT_ONCE]))
            query = sa.select(conversations).where(*some, *holds)
            if limit is not None:
                # By a sum, for no index: it is these few that are asked about, not the newest of all.
                at, id_ = conversations.c.updated_at + 0, conversations.c.id
                query = query.order_by(at.desc(), id_.desc()).limit(limit)
                if after is not None:
                    query = query.where(sa.or_(at < after.at, sa.and_(at == after.at, id_ < after.id)))
            rows += connection.execute(query)
    return rows


def _list_smallest(
    connection: sa.Connection, conditions: Iterable[_Condition]
) -> tuple[set[tuple[str, str]], _Condition] | None:
    """The members of the smallest set, and which it is; None where none is rare. Text comes last, and is listed only
    where nothing else is rare."""
    smallest: tuple[set[tuple[str, str]], _Condition] | None = None
    for condition in conditions:
        if smallest is not None and (condition.is_text or len(smallest[0]) <= AT_ONCE):
            break
        members: set[tuple[str, str]] = set()
        for query in condition.lists:
            rows = connection.execute(query.limit(MOST_LISTED + 1)).all()
            if len(rows) > MOST_LISTED:
                break
            members |= {(row.tenant, row.conversation) for row in rows}
        else:
            if smallest is None or len(members) < len(smallest[0]):
                smallest = members, condition
    return smallest


def _period(wanted: ConversationFilter, now: datetime) -> tuple[float, float]:
    """From when, and until when; zero is no limit."""
    if wanted.on:
        try:
            day = datetime.fromisoformat(f"{wanted.on}T00:00:00+00:00")
            return day.timestamp(), (day + timedelta(days=1)).timestamp()
        except (ValueError, OverflowError):
            return 0.0, 0.0
    return ((now - timedelta(days=wanted.days)).timestamp(), 0.0) if wanted.days else (0.0, 0.0)


def _conditions(
    connection: sa.Connection, seen: VisibleTenants, wanted: ConversationFilter, begin: float, end: float
) -> Iterator[_Condition]:
    def of(table: sa.Table, time: str, column: str = "", values: Sequence[str] = ()) -> _Condition:
        def within(at: sa.ColumnElement[Any], of: sa.ColumnElement[Any] | None) -> list[sa.ColumnElement[bool]]:
            period = [at >= begin] if begin else []
            period += [at < end] if end else []
            return period if of is None else [of.in_(values), *period]

        # Named one by one where time counts: an index has the tenant before it.
        whose = match_tenants(table, seen)
        if seen is None and begin and column:
            whose = table.c.tenant.in_(sa.select(tenants.c.id))
        own = (table.c.tenant == conversations.c.tenant, table.c.conversation == conversations.c.id)
        listed = sa.select(table.c.tenant, table.c.conversation).where(
            whose, *within(table.c[time], table.c[column] if column else None)
        )
        # Of one conversation it is asked by what has no index: it is found by that conversation, never among all.
        plain = sa.func.coalesce(table.c[column], "") if column else None
        return _Condition([listed], sa.exists().where(*own, *within(table.c[time] + 0, plain)))

    def marked(mark: str) -> _Condition:
        return of(turn_marks, "at", "mark", [mark])

    for column in (conversations.c.language, conversations.c.mode):
        if value := getattr(wanted, column.name):
            named = sa.select(conversations.c.tenant, conversations.c.id.label("conversation"))
            yield _Condition([named.where(match_tenants(conversations, seen), column == value)], column == value)
    if wanted.outcome:
        yield of(turns, "started_at", "outcome", [wanted.outcome])
    elif wanted.on:
        yield of(turns, "started_at")
    if wanted.reason:
        yield marked(mark_reason(wanted.reason))
    if wanted.fate:
        fates = PREVENTED if wanted.fate == "prevented" else (wanted.fate,)
        yield of(held_calls, "at", "fate", sorted(fates))
    if wanted.held:
        yield marked(HELD)
    if wanted.critique:
        yield marked(CRITIQUE)
    if wanted.context:
        yield marked(CONTEXT)
    if wanted.tool:
        yield marked(mark_tool(wanted.tool))
    if text := clean(wanted.q).strip():
        yield _of_text(connection, seen, text)


def _of_text(connection: sa.Connection, seen: VisibleTenants, text: str) -> _Condition:
    """Those in which it was said, and those of that name or person."""
    table, words = conversations, split_words(text)
    named = sa.select(table.c.tenant, table.c.id.label("conversation")).where(match_tenants(table, seen))
    lists = [named.where(table.c.id == text), named.where(table.c.person == text, sa.text(KNOWN))]
    holds = [table.c.id == text, table.c.person == text]
    if words:
        own = (messages.c.tenant == table.c.tenant, messages.c.conversation == table.c.id)
        holds.append(has_words(words, *own))
        lists.append(list_conversations_with(connection, seen, words, MOST_LISTED + 1))
    return _Condition(lists, sa.or_(*holds), is_text=True)


def _with_words(connection: sa.Connection, rows: Sequence[Any]) -> list[FoundConversation]:
    """The first and the last message of each; both are found by their number."""
    said: dict[tuple[str, str, int], Message] = {}
    for start in range(0, len(rows), AT_ONCE):
        places = (
            sa.and_(
                messages.c.tenant == row.tenant,
                messages.c.conversation == row.id,
                messages.c.seq.in_((0, row.next_seq - 1)),
            )
            for row in rows[start : start + AT_ONCE]
        )
        for one in connection.execute(sa.select(messages).where(sa.or_(*places))):
            said[one.tenant, one.conversation, one.seq] = codec.message(one)
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
