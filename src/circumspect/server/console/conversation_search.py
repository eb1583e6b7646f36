"""Finding conversations: what somebody looks for in, rows of a list out, the most recently used first.

Every condition is a set of conversations, and a conversation has to be in all of them. First the newest conversations
are looked through one after the other: of what is frequent a page is soon full. What is rare is listed from its index.
What is neither, several frequent conditions that seldom meet, is looked for further back as long as it may take, and
then whoever looks says whether to go on. Pages begin after the last row seen, so that what comes in meanwhile moves
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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
from circumspect.stores.statements import has_rows
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


Question = Callable[[sa.FromClause], sa.ColumnElement[bool]]
"""What is asked of each row of `conversations`, or of a few of these."""


@dataclass(frozen=True, slots=True)
class _Condition:
    """A set of conversations."""

    lists: Sequence[sa.Select[Any]]
    """Queries for tenant and conversation of its members, each along an index."""
    holds: Question
    """Is this one of its members?"""
    is_text: bool = False
    """Listing reads whatever begins like a word, and has more in it than holds."""


MOST_LISTED = 5_000
"""Members of a set that is rare."""
MOST_WALKED, AT_ONCE = 5_000, 500
"""Conversations looked at for one page, and in one go while nobody knows how many of them are wanted."""


def find(
    connection: sa.Connection,
    seen: VisibleTenants,
    wanted: ConversationFilter,
    now: datetime,
    after: ListCursor | None,
    limit: int,
) -> FoundPage:
    if seen is not None and not seen:
        return FoundPage([])
    begin, end = _period(wanted, now)
    conditions = list(_conditions(connection, seen, wanted, begin, end))
    recent = sa.select(conversations)
    if begin:
        recent = recent.where(conversations.c.updated_at >= begin)
    if not conditions:
        rows = list(connection.execute(newest_first(recent, conversations, "updated_at", seen, after, limit)))
        return FoundPage(_with_words(connection, rows))
    rows, looked_at, has_listed = list[Any](), 0, False
    further = after
    while len(rows) < limit and looked_at < MOST_WALKED:
        # As many as a page takes where every so manieth is wanted, and a quarter more.
        many = max(AT_ONCE, 5 * looked_at * (limit - len(rows)) // (4 * max(1, len(rows))))
        many = min(many, MOST_WALKED - looked_at)
        more, further = _look(connection, seen, recent, conditions, further, limit - len(rows), many)
        rows, looked_at = rows + more, looked_at + many
        if further is None:
            break
        if not has_listed and len(rows) * MOST_WALKED < limit * looked_at:  # it would give up before the page is full
            has_listed = True
            if (rare := _find_smallest(connection, conditions)) is not None:
                others = [one.holds for one in conditions if one is not rare or one.is_text]
                rows, further = _list_members(connection, rare, others, begin, after, limit), None
                break
    return FoundPage(_with_words(connection, rows), further)


def _look(
    connection: sa.Connection,
    seen: VisibleTenants,
    recent: sa.Select[Any],
    conditions: Sequence[_Condition],
    after: ListCursor | None,
    limit: int,
    many: int,
) -> tuple[list[Any], ListCursor | None]:
    """Of so many conversations from there on, the newest for which everything holds; and where it stopped, if these
    were fewer than the limit and there are more to look at."""
    few = newest_first(recent, conversations, "updated_at", seen, after, many).subquery()
    query = sa.select(few).where(*(one.holds(few) for one in conditions))
    rows = list(connection.execute(query.order_by(*_newest(few)).limit(limit)))
    if len(rows) == limit:
        return rows, None
    places = recent.with_only_columns(conversations.c.updated_at, conversations.c.id)
    ordered = newest_first(places, conversations, "updated_at", seen, after, many)
    last = connection.execute(ordered.limit(1).offset(many - 1)).one_or_none()
    return rows, ListCursor(last.updated_at, last.id) if last else None


def _newest(rows: sa.FromClause) -> tuple[sa.ColumnElement[Any], ...]:
    return rows.c.updated_at.desc(), rows.c.id.desc()


def _find_smallest(connection: sa.Connection, conditions: Iterable[_Condition]) -> _Condition | None:
    """The smallest set; None where none is rare. Text comes last, and is counted only where nothing else is rare."""
    smallest: _Condition | None = None
    least = MOST_LISTED + 1
    for condition in conditions:
        if smallest is not None and (condition.is_text or least <= AT_ONCE):
            break
        number = 0
        for query in condition.lists:
            counted = sa.select(sa.func.count()).select_from(query.limit(least - number).subquery())
            number += connection.execute(counted).scalar_one()
            if number >= least:
                break
        else:
            smallest, least = condition, number
    return smallest


def _list_members(
    connection: sa.Connection,
    rare: _Condition,
    others: Sequence[Question],
    begin: float,
    after: ListCursor | None,
    limit: int,
) -> list[Any]:
    """The newest members of a set for which everything else holds as well."""
    members = sa.union_all(*(sa.select(one.limit(MOST_LISTED).subquery()) for one in rare.lists)).subquery()
    own = (conversations.c.tenant == members.c.tenant, conversations.c.id == members.c.conversation)
    # One by one, each by its name: a join may begin with all conversations there are.
    at = sa.select(conversations.c.updated_at).where(*own).scalar_subquery()
    dated = (
        sa.select(members.c.tenant, members.c.conversation.label("id"), at.label("updated_at")).distinct().subquery()
    )
    query = sa.select(dated.c.tenant, dated.c.id).order_by(*_newest(dated))
    if begin:
        query = query.where(dated.c.updated_at >= begin)
    if after is not None:
        place = sa.tuple_(sa.literal(after.at), after.id)
        query = query.where(sa.tuple_(dated.c.updated_at, dated.c.id) < place)
    places = [(row.tenant, row.id) for row in connection.execute(query if others else query.limit(limit))]
    rows: list[Any] = []
    while places and len(rows) < limit:
        many = AT_ONCE if rows else limit
        some, places = places[:many], places[many:]
        rows += sorted(_keep(connection, some, others), key=lambda row: (row.updated_at, row.id), reverse=True)
    return rows[:limit]


def _keep(connection: sa.Connection, places: Iterable[tuple[str, str]], holds: Sequence[Question]) -> Iterator[Any]:
    """Of these conversations, the rows for which everything holds."""
    asked = [one(conversations) for one in holds]
    for tenant, members in groupby(sorted(places), key=itemgetter(0)):
        ids = [id_ for _, id_ in members]
        query = sa.select(conversations).where(conversations.c.tenant == tenant, conversations.c.id.in_(ids), *asked)
        yield from connection.execute(query)


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

        def holds(row: sa.FromClause) -> sa.ColumnElement[bool]:
            own = (table.c.tenant == row.c.tenant, table.c.conversation == row.c.id)
            said: sa.ColumnElement[Any] | None = None
            if column:
                # By what has no index but the key: it is found by its conversation, never among all.
                said = table.c[column] if table.c[column].primary_key else sa.func.coalesce(table.c[column], "")
            return has_rows(sa.select(table.c.tenant).where(*own, *within(table.c[time] + 0, said)))

        # Named one by one where time counts: an index has the tenant before it.
        whose = match_tenants(table, seen)
        if seen is None and begin and column:
            whose = table.c.tenant.in_(sa.select(tenants.c.id))
        listed = sa.select(table.c.tenant, table.c.conversation).where(
            whose, *within(table.c[time], table.c[column] if column else None)
        )
        return _Condition([listed], holds)

    def marked(mark: str) -> _Condition:
        return of(turn_marks, "at", "mark", [mark])

    for name in ("language", "mode"):
        if value := getattr(wanted, name):
            named = sa.select(conversations.c.tenant, conversations.c.id.label("conversation"))
            listed = named.where(match_tenants(conversations, seen), conversations.c[name] == value)
            yield _Condition([listed], _equals(name, value))
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


def _equals(name: str, value: str) -> Question:
    return lambda row: row.c[name] == value


def _of_text(connection: sa.Connection, seen: VisibleTenants, text: str) -> _Condition:
    """Those in which it was said, and those of that name or person."""
    table, words = conversations, split_words(text)
    named = sa.select(table.c.tenant, table.c.id.label("conversation")).where(match_tenants(table, seen))
    lists = [named.where(table.c.id == text), named.where(table.c.person == text, sa.text(KNOWN))]
    if words:
        lists.append(list_conversations_with(connection, seen, words, MOST_LISTED + 1))

    def holds(row: sa.FromClause) -> sa.ColumnElement[bool]:
        own = (messages.c.tenant == row.c.tenant, messages.c.conversation == row.c.id)
        said = [has_words(words, *own)] if words else []
        return sa.or_(row.c.id == text, row.c.person == text, *said)

    return _Condition(lists, holds, is_text=True)


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
