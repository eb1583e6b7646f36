"""Who may come in: rows of keys, operators, and sealed secrets.

Plain functions on a connection. Nothing here ever sees a key, a token or a password: what comes in is hashed or sealed
already.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

import sqlalchemy as sa

from circumspect.errors import ConfigError, UnknownTenant
from circumspect.server.stores.second_factors import forget_challenges
from circumspect.server.stores.sessions import SessionRow, end_sessions, find_session
from circumspect.stores.codec import check_identifiers, clean, epoch
from circumspect.stores.statements import run, sql
from circumspect.stores.tables import api_keys, operators, secrets, sign_in_attempts, tenants
from circumspect.values import Json, TenantId

KeyScope = Literal["chat", "read", "manage", "admin", "provision", "widget"]
KeyState = Literal["valid", "expired", "revoked"]
OperatorRole = Literal["operator", "reviewer", "admin"]
SCOPES: tuple[KeyScope, ...] = get_args(KeyScope)
ROLES: tuple[OperatorRole, ...] = get_args(OperatorRole)
HeldRole = OperatorRole | Literal["none"]
"""What an operator has. Who has none was made by an identity provider that has given them nothing yet: they may sign
in, and every door is closed."""
NO_ROLE: HeldRole = "none"

USED_SECONDS = 60
"""`used_at` is right to the minute, so that a busy key is not a write for every request."""


@dataclass(frozen=True, slots=True)
class KeyRow:
    id: str
    tenant: TenantId
    name: str
    scopes: tuple[KeyScope, ...]
    created_at: float
    expires_at: float | None = None
    revoked_at: float | None = None
    used_at: float | None = None

    def valid(self, now: float) -> bool:
        return self.state(now) == "valid"

    def state(self, now: float) -> KeyState:
        if self.revoked_at is not None:
            return "revoked"
        return "valid" if self.expires_at is None or now < self.expires_at else "expired"


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A key as it is checked: its hash, and what the tenant has set for its callers."""

    row: KeyRow
    hash: str
    settings: Mapping[str, Json]
    revision: int
    """Of the tenant, when it had these settings."""


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """`tenants` lists whom the operator may see; None is everyone."""

    id: str
    name: str
    role: HeldRole
    tenants: tuple[TenantId, ...] | None
    created_at: float
    disabled_at: float | None = None


# --- keys -----------------------------------------------------------------------------------------------------------


def add_key(connection: sa.Connection, row: KeyRow, hash_: str) -> None:
    if connection.execute(sa.select(tenants.c.id).where(tenants.c.id == row.tenant)).one_or_none() is None:
        raise unknown_tenant(connection, row.tenant)
    connection.execute(
        sa.insert(api_keys).values(
            id=row.id,
            tenant=row.tenant,
            name=clean(row.name),
            hash=hash_,
            scopes=list(row.scopes),
            created_at=row.created_at,
            expires_at=row.expires_at,
        )
    )


def unknown_tenant(connection: sa.Connection, tenant: str) -> UnknownTenant:
    known = sorted(connection.execute(sa.select(tenants.c.id).limit(20)).scalars())
    some = f"Known are: {', '.join(known)}." if known else "There is none yet: add one with `circumspect apply FILE`."
    return UnknownTenant(f"There is no tenant '{tenant}'.", fix=some)


def key_by_id(connection: sa.Connection, id_: str) -> KnownKey | None:
    row: Any = connection.execute(
        sa.select(api_keys, tenants.c.settings, tenants.c.revision)
        .join_from(api_keys, tenants, tenants.c.id == api_keys.c.tenant)
        .where(api_keys.c.id == id_)
    ).one_or_none()
    return None if row is None else KnownKey(_key(row), row.hash, row.settings or {}, row.revision)


def list_keys(connection: sa.Connection, allowed: Collection[TenantId] | None = None) -> Sequence[KeyRow]:
    """Of these tenants, or of all; the newest first."""
    query = sa.select(api_keys).order_by(api_keys.c.created_at.desc(), api_keys.c.id)
    if allowed is not None:
        query = query.where(api_keys.c.tenant.in_(sorted(allowed)))
    return [_key(row) for row in connection.execute(query)]


def revoke_key(
    connection: sa.Connection, id_: str, at: float, allowed: Collection[TenantId] | None = None
) -> KeyRow | None:
    """The key as it is now; revoking twice keeps the first time. None when there is none, or it is not theirs."""
    query = (
        sa.update(api_keys)
        .where(api_keys.c.id == id_)
        .values(revoked_at=sa.func.coalesce(api_keys.c.revoked_at, at))
        .returning(*api_keys.c)
    )
    if allowed is not None:
        query = query.where(api_keys.c.tenant.in_(sorted(allowed)))
    row: Any = connection.execute(query).one_or_none()
    return None if row is None else _key(row)


def rotate_key(
    connection: sa.Connection,
    id_: str,
    *,
    new_id: str,
    new_hash: str,
    at: float,
    overlap: float,
    allowed: Collection[TenantId] | None = None,
    latest: float | None = None,
) -> tuple[KeyRow, KeyRow] | None:
    """The old key, which ends after the overlap, and the new one, which may do the same and lasts as long as the old
    one was made for, or until `latest`. None when there is none, or it is not theirs."""
    row: Any = connection.execute(sa.select(api_keys).where(api_keys.c.id == id_).with_for_update()).one_or_none()
    if row is None or (allowed is not None and row.tenant not in allowed):
        return None
    old = _key(row)
    if not old.valid(at):
        raise ConfigError("This key is revoked or has expired.", fix="Make a new one with `circumspect keys create`.")
    ends = at + overlap if old.expires_at is None else min(old.expires_at, at + overlap)
    lasts = None if old.expires_at is None else at + (old.expires_at - old.created_at)
    if latest is not None:
        lasts = latest if lasts is None else min(lasts, latest)
    new = KeyRow(new_id, old.tenant, old.name, old.scopes, at, lasts)
    add_key(connection, new, new_hash)
    changed: Any = connection.execute(
        sa.update(api_keys).where(api_keys.c.id == id_).values(expires_at=ends).returning(*api_keys.c)
    ).one()
    return _key(changed), new


_TOUCH = sql("""
    UPDATE api_keys SET used_at = :now WHERE id = :id AND (used_at IS NULL OR used_at <= :now - 60)
""")


def touch_key(connection: sa.Connection, id_: str, now: float) -> bool:
    """True when this was the one write of the minute."""
    return bool(run(connection, _TOUCH, {"id": id_, "now": now}).rowcount)


def _key(row: Any) -> KeyRow:
    return KeyRow(
        row.id,
        TenantId(row.tenant),
        row.name,
        tuple(row.scopes),
        row.created_at,
        row.expires_at,
        row.revoked_at,
        row.used_at,
    )


# --- operators ------------------------------------------------------------------------------------------------------


def add_operator(connection: sa.Connection, row: OperatorRow, password: str) -> None:
    check_identifiers(row.name)
    if connection.execute(sa.select(operators.c.id).where(operators.c.name == row.name)).one_or_none() is not None:
        raise ConfigError(f"There is an operator '{row.name}' already.", fix="Choose another name, or change that one.")
    for tenant in row.tenants or ():
        if connection.execute(sa.select(tenants.c.id).where(tenants.c.id == tenant)).one_or_none() is None:
            raise unknown_tenant(connection, tenant)
    connection.execute(
        sa.insert(operators).values(
            id=row.id,
            name=row.name,
            password=password,
            role=row.role,
            tenants=None if row.tenants is None else list(row.tenants),
            created_at=row.created_at,
        )
    )


def list_operators(connection: sa.Connection) -> Sequence[OperatorRow]:
    return [read_operator(row) for row in connection.execute(sa.select(operators).order_by(operators.c.name))]


def operator_named(connection: sa.Connection, name: str) -> OperatorRow | None:
    row: Any = connection.execute(sa.select(operators).where(operators.c.name == name)).one_or_none()
    return None if row is None else read_operator(row)


def set_password(connection: sa.Connection, operator: str, password: str, *, but: str | None = None) -> None:
    """Ends every sign-in of theirs, or all but the one with the id `but`; also one that is halfway, and every lock."""
    forget_challenges(connection, operator)
    connection.execute(sa.update(operators).where(operators.c.id == operator).values(password=password))
    connection.execute(sa.delete(sign_in_attempts).where(sign_in_attempts.c.operator == operator))
    end_sessions(connection, operator, but=but)


def set_disabled(connection: sa.Connection, operator: str, at: float | None) -> None:
    """None lets them in again."""
    connection.execute(sa.update(operators).where(operators.c.id == operator).values(disabled_at=at))
    end_sessions(connection, operator)


def operator_by_identity(connection: sa.Connection, identity: str) -> OperatorRow | None:
    row: Any = connection.execute(sa.select(operators).where(operators.c.identity == identity)).one_or_none()
    return None if row is None else read_operator(row)


def link_identity(connection: sa.Connection, operator: str, identity: str) -> bool:
    """False when they are somebody else at the provider."""
    free = sa.or_(operators.c.identity.is_(None), operators.c.identity == identity)
    query = sa.update(operators).where(operators.c.id == operator, free).values(identity=identity)
    return bool(connection.execute(query).rowcount)


def set_role(
    connection: sa.Connection, operator: str, role: OperatorRole, allowed: tuple[TenantId, ...] | None
) -> None:
    """Ends every sign-in of theirs: what is open was opened with what they had."""
    granted = None if allowed is None else list(allowed)
    connection.execute(sa.update(operators).where(operators.c.id == operator).values(role=role, tenants=granted))
    end_sessions(connection, operator)


def rehash_password(connection: sa.Connection, operator: str, password: str) -> None:
    """The same password, hashed anew: nothing ends."""
    connection.execute(sa.update(operators).where(operators.c.id == operator).values(password=password))


def get_operator(connection: sa.Connection, id_: str) -> OperatorRow | None:
    row: Any = connection.execute(sa.select(operators).where(operators.c.id == id_)).one_or_none()
    return None if row is None else read_operator(row)


def operator_of(
    connection: sa.Connection, hash_: str, now: float, idle: float
) -> tuple[OperatorRow, SessionRow] | None:
    """Whose sign-in this is; None when it has ended or the operator may not come in any more."""
    session = find_session(connection, hash_, now, idle)
    operator = None if session is None else get_operator(connection, session.operator)
    if session is None or operator is None or operator.disabled_at is not None:
        return None
    return operator, session


def read_operator(row: Any) -> OperatorRow:
    return OperatorRow(
        row.id,
        row.name,
        row.role,
        None if row.tenants is None else tuple(TenantId(one) for one in row.tenants),
        row.created_at,
        row.disabled_at,
    )


# --- secrets --------------------------------------------------------------------------------------------------------

_PUT_SECRET = sql("""
    INSERT INTO secrets (tenant, name, sealed, updated_at) VALUES (:tenant, :name, :sealed, :at)
    ON CONFLICT (tenant, name) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at
""")


def put_secret(connection: sa.Connection, tenant: TenantId, name: str, sealed: str, at: datetime | float) -> None:
    check_identifiers(tenant, name)
    moment = epoch(at) if isinstance(at, datetime) else at
    run(connection, _PUT_SECRET, {"tenant": tenant, "name": name, "sealed": sealed, "at": moment})


def delete_secret(connection: sa.Connection, tenant: TenantId, name: str) -> bool:
    return bool(
        connection.execute(sa.delete(secrets).where(secrets.c.tenant == tenant, secrets.c.name == name)).rowcount
    )


def get_sealed_secrets(connection: sa.Connection, tenant: TenantId) -> Mapping[str, str]:
    rows: Sequence[Any] = connection.execute(
        sa.select(secrets.c.name, secrets.c.sealed).where(secrets.c.tenant == tenant)
    ).all()
    return {row.name: row.sealed for row in rows}
