"""Drafts of policies: what somebody wrote, and who put it in force or dropped it.

Plain functions on a connection. The text of a draft never changes, so that what a colleague looked at is what they put
in force: its author's next draft for the tenant takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa

from circumspect.stores.codec import clean, epoch, moment, moment_of
from circumspect.stores.people import VisibleTenants, belongs_to
from circumspect.stores.work_tables import DRAFTED, policy_drafts
from circumspect.values import TenantId

DraftState = Literal["waiting", "in_force", "dropped"]


@dataclass(frozen=True, slots=True)
class DraftChange:
    """One thing that it changes against the version that its author had before them, in words."""

    where: str
    what: str
    direction: str


@dataclass(frozen=True, slots=True)
class PolicyDraft:
    id: str
    tenant: TenantId
    base: int
    """The version that its author had before them; 0 for none."""
    text: str
    note: str
    changes: Sequence[DraftChange]
    created_by: str
    created_at: datetime
    state: DraftState = "waiting"
    settled_by: str | None = None
    settled_at: datetime | None = None
    version: int | None = None
    """That it became."""


def add_draft(connection: sa.Connection, draft: PolicyDraft) -> PolicyDraft:
    """The draft that waits now: the same text of the same author once more is a second press of the button."""
    own = sa.select(policy_drafts).where(
        policy_drafts.c.tenant == draft.tenant, policy_drafts.c.created_by == clean(draft.created_by), sa.text(DRAFTED)
    )
    for before in map(read_draft, connection.execute(own)):
        if (before.text, before.note, before.base) == (clean(draft.text), clean(draft.note), draft.base):
            return before
        settle_draft(connection, before, "dropped", draft.created_by, draft.created_at)
    connection.execute(
        sa.insert(policy_drafts).values(
            id=draft.id,
            tenant=draft.tenant,
            base=draft.base,
            text=clean(draft.text),
            note=clean(draft.note),
            changes=[[clean(one.where), clean(one.what), one.direction] for one in draft.changes],
            created_by=clean(draft.created_by),
            created_at=epoch(draft.created_at),
            state=draft.state,
        )
    )
    return draft


def find_draft(
    connection: sa.Connection, tenants: VisibleTenants, id_: str, *, lock: bool = False
) -> PolicyDraft | None:
    """With `lock`, nobody else settles it before this transaction ends."""
    query = sa.select(policy_drafts).where(policy_drafts.c.id == id_, belongs_to(policy_drafts, tenants))
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    return None if row is None else read_draft(row)


def list_drafts(connection: sa.Connection, tenant: TenantId) -> Sequence[PolicyDraft]:
    """Those of a tenant that wait, the oldest first."""
    query = sa.select(policy_drafts).where((policy_drafts.c.tenant + "") == tenant, sa.text(DRAFTED))
    return [read_draft(row) for row in connection.execute(query.order_by(policy_drafts.c.created_at))]


def list_authors(connection: sa.Connection, tenant: TenantId, versions: Sequence[int]) -> Mapping[int, str]:
    """Who wrote the versions that were drafts once."""
    rows = policy_drafts.c
    query = sa.select(rows.version, rows.created_by).where(rows.tenant == tenant, rows.version.in_(versions))
    return {row.version: row.created_by for row in connection.execute(query)}


def settle_draft(
    connection: sa.Connection, draft: PolicyDraft, to: DraftState, by: str, at: datetime, version: int | None = None
) -> bool:
    """False when somebody was quicker."""
    settled = {"state": to, "settled_by": clean(by), "settled_at": epoch(at), "version": version}
    waits = sa.update(policy_drafts).where(policy_drafts.c.id == draft.id, sa.text(DRAFTED))
    return connection.execute(waits.values(**settled)).rowcount == 1


def read_draft(row: Any) -> PolicyDraft:
    return PolicyDraft(
        row.id,
        TenantId(row.tenant),
        row.base,
        row.text,
        row.note,
        [DraftChange(*one) for one in row.changes],
        row.created_by,
        moment(row.created_at),
        row.state,
        row.settled_by,
        moment_of(row.settled_at),
        row.version,
    )
