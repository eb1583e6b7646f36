"""The work queue: whatever waits for a person, the oldest first, and how much of it there is.

Plain functions on a connection. `tenants` are those that the caller may see; None is all of them. One query for each
kind, each along an index of what waits, so that what is done with costs nothing. Every page that says how much waits
asks here. An escalation that only says that an approval waits is no item beside that approval.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa

from circumspect.reasons import ReasonCode
from circumspect.server.stores.policy_drafts import DraftChange, read_draft
from circumspect.stores import codec
from circumspect.stores.codec import epoch, moment, moment_of, read_row
from circumspect.stores.notifications import read_notification
from circumspect.stores.people import EscalationRow, ListCursor, VisibleTenants, belongs_to, newest_first, oldest_first
from circumspect.stores.rehearsals import is_real
from circumspect.stores.tables import DEAD, UNRESOLVED, WAITING, escalations, intents, outbox
from circumspect.stores.told_outcomes import is_unknown
from circumspect.stores.work_tables import DRAFTED, policy_drafts, work_items
from circumspect.values import JsonObject

WorkKind = Literal["escalation", "unknown", "approval", "draft", "delivery"]
WORK_KINDS: tuple[WorkKind, ...] = ("unknown", "escalation", "approval", "draft", "delivery")
"""In this order they are counted and shown: unknown outcomes before the other escalations."""
WorkSubject = Literal["escalation", "approval", "draft", "delivery"]
"""What an item is, also when what is known of it changes."""
MOST_COUNTED = 100
"""Shown as "99+": nobody counts further."""
_KINDS: Mapping[WorkSubject, tuple[WorkKind, ...]] = {
    "escalation": ("escalation", "unknown"),
    "approval": ("approval",),
    "draft": ("draft",),
    "delivery": ("delivery",),
}


@dataclass(frozen=True, slots=True)
class WorkFilter:
    """Which items are wanted; what is None does not matter."""

    holder: str | None = None
    """Who sees to it; empty for nobody."""
    snoozed: bool | None = False


@dataclass(frozen=True, slots=True)
class WorkPlace:
    """Where an item is, also when it does not wait any more."""

    subject: WorkSubject
    id: str
    tenant: str
    conversation: str
    since: float

    @property
    def table(self) -> str:
        return find_table(self.subject).name


@dataclass(frozen=True, slots=True)
class WorkItem:
    """One thing that waits. `holder` is who took it, or else to whom it was given."""

    kind: WorkKind
    id: str
    tenant: str
    conversation: str
    waits_since: datetime
    holder: str | None
    snoozed_until: datetime | None
    taken_by: str | None = None
    reason: ReasonCode | None = None
    summary: str = ""
    turn: str = ""
    execution: str | None = None
    tool: str = ""
    arguments: JsonObject = field(default_factory=dict)
    expires_at: datetime | None = None
    author: str = ""
    """Of a draft."""
    changes: Sequence[DraftChange] = ()
    """What a draft changes."""

    @property
    def subject(self) -> WorkSubject:
        return "escalation" if self.kind == "unknown" else self.kind

    @property
    def place(self) -> WorkPlace:
        return WorkPlace(self.subject, self.id, self.tenant, self.conversation, epoch(self.waits_since))


def list_work(
    connection: sa.Connection,
    tenants: VisibleTenants,
    kinds: Collection[WorkKind],
    wanted: WorkFilter,
    now: datetime,
    after: ListCursor | None,
    limit: int,
    *,
    backwards: bool = False,
) -> Sequence[WorkItem]:
    """The oldest first, of all these kinds together; backwards, the newest first."""
    found: list[WorkItem] = []
    for kind in kinds:
        source = _SOURCES[kind]
        query = source.narrow(source.query(now), wanted, now)
        walked = tenants if source.walks_by_tenant else None
        if not source.walks_by_tenant:
            query = query.where(source.belongs_to(tenants))
        if backwards:
            query = newest_first(query, source.table, "created_at", walked, after, limit)
        else:
            query = oldest_first(query, source.table, walked, after, limit)
        found += [source.read(row) for row in connection.execute(query)]
    return sorted(found, key=lambda one: (one.waits_since, one.id), reverse=backwards)[:limit]


def count_work(
    connection: sa.Connection,
    tenants: VisibleTenants,
    kinds: Collection[WorkKind],
    wanted: WorkFilter,
    now: datetime,
) -> Mapping[WorkKind, int]:
    """How many of each kind wait, up to `MOST_COUNTED`."""
    counted: dict[WorkKind, int] = {}
    for kind in kinds:
        source = _SOURCES[kind]
        query = source.narrow(source.query(now), wanted, now).where(source.belongs_to(tenants)).limit(MOST_COUNTED)
        some = query.with_only_columns(sa.literal(1).label("one")).subquery()
        counted[kind] = connection.execute(sa.select(sa.func.count()).select_from(some)).scalar_one()
    return counted


def find_work(
    connection: sa.Connection, tenants: VisibleTenants, subject: WorkSubject, id_: str, now: datetime
) -> WorkItem | None:
    """The item of that id, if it still waits."""
    for source in (_SOURCES[kind] for kind in _KINDS[subject]):
        query = source.query(now).where(source.table.c.id == id_, belongs_to(source.table, tenants))
        if (row := connection.execute(query).one_or_none()) is not None:
            return source.read(row)
    return None


def find_place(connection: sa.Connection, tenants: VisibleTenants, subject: WorkSubject, id_: str) -> WorkPlace | None:
    """Of whatever waits or once did."""
    table = find_table(subject)
    within = table.c.conversation if "conversation" in table.c else sa.literal("").label("conversation")
    query = sa.select(table.c.tenant, within, table.c.created_at)
    query = query.where(table.c.id == id_, belongs_to(table, tenants))
    if subject == "approval":
        query = query.where(intents.c.kind == "approval")
    row = connection.execute(query).one_or_none()
    return None if row is None else WorkPlace(subject, id_, row.tenant or "", row.conversation or "", row.created_at)


def find_table(subject: WorkSubject) -> sa.Table:
    return _SOURCES[_KINDS[subject][0]].table


# --- the kinds --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Source:
    """Where the items of a kind come from."""

    table: sa.Table
    query: Callable[[datetime], sa.Select[Any]]
    read: Callable[[Any], WorkItem]
    holder: sa.ColumnElement[Any] = work_items.c.assignee
    walks_by_tenant: bool = False
    """Does its index of what waits begin with the tenant?"""

    def belongs_to(self, tenants: VisibleTenants) -> sa.ColumnElement[bool]:
        if tenants is None or self.walks_by_tenant:
            return belongs_to(self.table, tenants)
        # Not the bare column: all that a tenant ever had would be read along its index, for the little that waits.
        return (self.table.c.tenant + "").in_(sorted(tenants))

    def narrow(self, query: sa.Select[Any], wanted: WorkFilter, now: datetime) -> sa.Select[Any]:
        if wanted.holder is not None:
            query = query.where(self.holder == wanted.holder if wanted.holder else self.holder.is_(None))
        if wanted.snoozed is not None:
            put_off = sa.func.coalesce(work_items.c.snoozed_until, 0) > epoch(now)
            query = query.where(put_off if wanted.snoozed else sa.not_(put_off))
        return query


def _with_work(table: sa.Table) -> sa.Select[Any]:
    added = (work_items.c.assignee, work_items.c.snoozed_until)
    own = sa.and_(work_items.c.about == table.name, work_items.c.item == table.c.id)
    return sa.select(table, *added).select_from(table.outerjoin(work_items, own))


def list_unresolved(
    connection: sa.Connection, tenants: VisibleTenants, now: datetime, after: ListCursor | None, limit: int
) -> Sequence[EscalationRow]:
    """The escalations that `count_work` counts, put off or not: the oldest first."""
    query = sa.select(escalations, is_unknown(escalations.c.execution).label("asks_outcome"))
    query = query.where(sa.text(UNRESOLVED), sa.not_(_says_that_an_approval_waits(now)))
    return [
        read_row(EscalationRow, row, reason=codec.reason(row.reason_code))
        for row in connection.execute(oldest_first(query, escalations, tenants, after, limit))
    ]


def _says_that_an_approval_waits(now: datetime) -> sa.ColumnElement[bool]:
    approval = sa.exists().where(
        intents.c.tenant == escalations.c.tenant,
        intents.c.conversation == escalations.c.conversation,
        intents.c.kind == "approval",
        intents.c.state == "pending",
        intents.c.expires_at > epoch(now),
    )
    return sa.and_(
        escalations.c.reason_code == ReasonCode.APPROVAL_REQUIRED,
        sa.not_(is_unknown(escalations.c.execution)),
        approval,
    )


def _list_escalations(now: datetime) -> sa.Select[Any]:
    unknown = is_unknown(escalations.c.execution)
    query = _with_work(escalations).where(sa.text(UNRESOLVED), sa.not_(unknown))
    return query.where(sa.not_(_says_that_an_approval_waits(now)))


def _list_unknown(now: datetime) -> sa.Select[Any]:
    return _with_work(escalations).where(sa.text(UNRESOLVED), is_unknown(escalations.c.execution))


def _list_approvals(now: datetime) -> sa.Select[Any]:
    waits = (intents.c.kind == "approval", sa.text(WAITING), intents.c.expires_at > epoch(now), is_real(intents))
    return _with_work(intents).where(*waits)


def _list_drafts(now: datetime) -> sa.Select[Any]:
    return _with_work(policy_drafts).where(sa.text(DRAFTED))


def _list_deliveries(now: datetime) -> sa.Select[Any]:
    return _with_work(outbox).where(sa.text(DEAD))


def _read_escalation(row: Any, kind: WorkKind = "escalation") -> WorkItem:
    return WorkItem(
        **_read_common(row, kind, row.taken_by or row.assignee),
        taken_by=row.taken_by,
        reason=codec.reason(row.reason_code),
        summary=row.summary,
        turn=row.turn,
        execution=row.execution,
    )


def _read_unknown(row: Any) -> WorkItem:
    return _read_escalation(row, "unknown")


def _read_approval(row: Any) -> WorkItem:
    call = codec.intent(row).call
    return WorkItem(
        **_read_common(row, "approval", row.assignee),
        tool=call.tool,
        arguments=dict(call.arguments),
        expires_at=moment(row.expires_at),
    )


def _read_draft(row: Any) -> WorkItem:
    draft = read_draft(row)
    common = _read_common(row, "draft", row.assignee)
    return WorkItem(**common, summary=draft.note, author=draft.created_by, changes=draft.changes)


def _read_delivery(row: Any) -> WorkItem:
    told = read_notification(row)
    return WorkItem(**_read_common(row, "delivery", row.assignee), summary=told.target or told.id)


def _read_common(row: Any, kind: WorkKind, holder: str | None) -> dict[str, Any]:
    return {
        "kind": kind,
        "id": row.id,
        "tenant": row.tenant or "",
        "conversation": getattr(row, "conversation", None) or "",
        "waits_since": moment(row.created_at),
        "holder": holder,
        "snoozed_until": moment_of(row.snoozed_until),
    }


_HELD = sa.func.coalesce(escalations.c.taken_by, work_items.c.assignee)
_SOURCES: Mapping[WorkKind, _Source] = {
    "escalation": _Source(escalations, _list_escalations, _read_escalation, _HELD, walks_by_tenant=True),
    "unknown": _Source(escalations, _list_unknown, _read_unknown, _HELD, walks_by_tenant=True),
    "approval": _Source(intents, _list_approvals, _read_approval),
    "draft": _Source(policy_drafts, _list_drafts, _read_draft),
    "delivery": _Source(outbox, _list_deliveries, _read_delivery),
}
