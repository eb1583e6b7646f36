"""Policy texts by tenant and version. The newest version is in force; going back adds one more with the old text.

Plain functions on a connection. A text is kept word for word, comments included, under the hash of what it says, so
that a stored turn finds the policy it was ruled by. The store cannot read policies: whoever puts one has loaded it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from circumspect.errors import StoreError, UnknownTenant
from circumspect.stores.codec import check_identifiers, clean, epoch, moment
from circumspect.stores.tables import policies, tenants
from circumspect.values import TenantId


class PolicyChanged(StoreError):
    """Somebody else put a version in the meantime."""

    code = "policy_changed"


@dataclass(frozen=True, slots=True)
class PolicyVersion:
    tenant: TenantId
    version: int
    hash: str
    text: str
    note: str
    created_by: str
    created_at: datetime


def put_policy(
    connection: sa.Connection,
    tenant: TenantId,
    text: str,
    hash_: str,
    *,
    at: datetime,
    note: str = "",
    created_by: str = "",
    if_version: int | None = None,
) -> PolicyVersion:
    """The version that holds now: a new one when the text differs from the one in force, else that one.

    `if_version` is the version that the author had before them (0 for none): raises `PolicyChanged` when another is in
    force by now.
    """
    check_identifiers(tenant)
    # The tenant's row is the lock: two editors come one after the other, and the second sees what the first wrote.
    known = sa.select(tenants.c.id).where(tenants.c.id == tenant).with_for_update()
    if connection.execute(known).one_or_none() is None:
        raise UnknownTenant(f"There is no tenant '{tenant}'.", fix="Create it first: circumspect apply tenant.yaml.")
    before = current(connection, tenant)
    number = before.version if before else 0
    if if_version is not None and if_version != number:
        raise PolicyChanged(
            f"The policy of '{tenant}' is at version {number} by now, not at {if_version}.",
            fix="Look at what changed, and make your change again on top of it.",
        )
    text = clean(text)
    if before and before.text == text:
        return before
    made = PolicyVersion(tenant, number + 1, hash_, text, clean(note), clean(created_by), at)
    connection.execute(
        sa.insert(policies).values(
            tenant=tenant,
            version=made.version,
            hash=hash_,
            text=text,
            note=made.note,
            created_by=made.created_by,
            created_at=epoch(at),
        )
    )
    connection.execute(sa.update(tenants).where(tenants.c.id == tenant).values(revision=tenants.c.revision + 1))
    return made


def current(connection: sa.Connection, tenant: TenantId) -> PolicyVersion | None:
    """The version in force."""
    return _first(connection, _of(tenant))


def version(connection: sa.Connection, tenant: TenantId, number: int) -> PolicyVersion | None:
    return _first(connection, _of(tenant).where(policies.c.version == number))


def versions(
    connection: sa.Connection, tenant: TenantId, *, before: int | None = None, limit: int = 50
) -> Sequence[PolicyVersion]:
    """Newest first; `before` a version, for the next page."""
    query = _of(tenant).limit(limit)
    if before is not None:
        query = query.where(policies.c.version < before)
    return [_read(row) for row in connection.execute(query)]


def _of(tenant: TenantId) -> sa.Select[Any]:
    return sa.select(policies).where(policies.c.tenant == tenant).order_by(policies.c.version.desc())


def _first(connection: sa.Connection, query: sa.Select[Any]) -> PolicyVersion | None:
    row = connection.execute(query.limit(1)).one_or_none()
    return None if row is None else _read(row)


def _read(row: Any) -> PolicyVersion:
    return PolicyVersion(row.tenant, row.version, row.hash, row.text, row.note, row.created_by, moment(row.created_at))
