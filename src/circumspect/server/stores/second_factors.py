"""What operators have beside a password: an app that shows codes, recovery codes, passkeys; and what they were asked.

Plain functions on a connection. Secrets come in sealed, codes and challenges hashed. Whatever is good once is spent by
the statement that finds it, so that of two workers with the same code only one finds it good. The one choice that may
surprise: a try is counted as failed before the code is looked at, as attempts to sign in are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from circumspect.stores.codec import clean
from circumspect.stores.second_factor_tables import (
    operator_challenges,
    operator_code_apps,
    operator_passkeys,
    operator_recovery_codes,
)
from circumspect.stores.statements import SqlValues, run, sql

ChallengePurpose = Literal["register", "sign_in", "second_step", "prove"]
FREE_CODES = 5
FIRST_LOCK_SECONDS = 60
LONGEST_LOCK_SECONDS = 900


@dataclass(frozen=True, slots=True)
class PasskeyRow:
    id: str
    operator: str
    name: str
    public_key: bytes
    uses: int
    created_at: float
    used_at: float | None = None


@dataclass(frozen=True, slots=True)
class SecondFactors:
    """What one operator has."""

    code_app: bool
    passkeys: tuple[PasskeyRow, ...]
    recovery_codes: int
    """How many are left."""

    @property
    def any(self) -> bool:
        return self.code_app or bool(self.passkeys)


@dataclass(frozen=True, slots=True)
class CodeTry:
    """A try with a code, counted already. While `locked`, no code is right."""

    sealed: str | None
    step: int
    failures: int
    """This one counted."""
    locked: bool


def find_second_factors(connection: sa.Connection, operator: str) -> SecondFactors:
    sealed = sa.select(operator_code_apps.c.sealed).where(operator_code_apps.c.operator == operator)
    codes = sa.select(sa.func.count()).where(operator_recovery_codes.c.operator == operator)
    return SecondFactors(
        connection.execute(sealed).scalar() is not None,
        tuple(list_passkeys(connection, operator)),
        connection.execute(codes).scalar_one(),
    )


def list_enrolled(connection: sa.Connection) -> frozenset[str]:
    """The operators who have any."""
    apps = sa.select(operator_code_apps.c.operator).where(operator_code_apps.c.sealed.is_not(None))
    return frozenset(connection.execute(apps.union(sa.select(operator_passkeys.c.operator))).scalars())


def delete_second_factors(connection: sa.Connection, operator: str) -> bool:
    """All of them, recovery codes too. False when there were none."""
    had = find_second_factors(connection, operator).any
    for table in (operator_code_apps, operator_recovery_codes, operator_passkeys, operator_challenges):
        connection.execute(sa.delete(table).where(table.c.operator == operator))
    return had


# --- codes ----------------------------------------------------------------------------------------------------------

_PUT_APP = sql("""
    INSERT INTO operator_code_apps (operator, sealed, created_at, step, failures, locked_until)
    VALUES (:operator, :sealed, :at, :step, 0, 0)
    ON CONFLICT (operator) DO UPDATE SET sealed = excluded.sealed, created_at = excluded.created_at,
        step = excluded.step
    WHERE operator_code_apps.sealed IS NULL
    RETURNING operator
""")
_OPEN_COUNT = sql("""
    INSERT INTO operator_code_apps (operator, step, failures, locked_until) VALUES (:operator, 0, 0, 0)
    ON CONFLICT (operator) DO NOTHING
""")
_TRY = sql(f"""
    UPDATE operator_code_apps SET
        failures = failures + 1,
        locked_until = CASE
            WHEN failures + 1 < {FREE_CODES} THEN 0
            WHEN failures + 1 >= {FREE_CODES} + 4 THEN :now + {LONGEST_LOCK_SECONDS}
            ELSE :now + {FIRST_LOCK_SECONDS} * (1 << (failures + 1 - {FREE_CODES}))
        END
    WHERE operator = :operator AND locked_until <= :now
    RETURNING sealed
""")  # noqa: S608
_SPEND_STEP = sql("""
    UPDATE operator_code_apps SET step = :step, failures = 0, locked_until = 0
    WHERE operator = :operator AND step < :step
    RETURNING operator
""")


def put_code_app(connection: sa.Connection, operator: str, sealed: str, step: int, at: float) -> bool:
    """False when there is one already: one that works is not replaced, it is removed first."""
    values: SqlValues = {"operator": operator, "sealed": sealed, "step": step, "at": at}
    return run(connection, _PUT_APP, values).fetchone() is not None


def delete_code_app(connection: sa.Connection, operator: str) -> bool:
    had = sa.and_(operator_code_apps.c.operator == operator, operator_code_apps.c.sealed.is_not(None))
    return bool(connection.execute(sa.update(operator_code_apps).where(had).values(sealed=None)).rowcount)


def begin_code(connection: sa.Connection, operator: str, now: float) -> CodeTry:
    """Counts it as failed until something is spent."""
    run(connection, _OPEN_COUNT, {"operator": operator})
    counted = run(connection, _TRY, {"operator": operator, "now": now}).fetchone()
    query = sa.select(operator_code_apps).where(operator_code_apps.c.operator == operator)
    row: Any = connection.execute(query).one()
    return CodeTry(row.sealed, row.step, row.failures, locked=counted is None)


def spend_step(connection: sa.Connection, operator: str, step: int) -> bool:
    """False when this half-minute's code, or a later one's, was used before."""
    return run(connection, _SPEND_STEP, {"operator": operator, "step": step}).fetchone() is not None


def put_recovery_codes(connection: sa.Connection, operator: str, hashes: Iterable[str]) -> None:
    """In place of those there were."""
    delete_recovery_codes(connection, operator)
    connection.execute(sa.insert(operator_recovery_codes), [{"operator": operator, "hash": one} for one in hashes])


def delete_recovery_codes(connection: sa.Connection, operator: str) -> None:
    connection.execute(sa.delete(operator_recovery_codes).where(operator_recovery_codes.c.operator == operator))


def spend_recovery_code(connection: sa.Connection, operator: str, hash_: str) -> bool:
    own = sa.and_(operator_recovery_codes.c.operator == operator, operator_recovery_codes.c.hash == hash_)
    spent = bool(connection.execute(sa.delete(operator_recovery_codes).where(own)).rowcount)
    if spent:
        forget_failures(connection, operator)
    return spent


def forget_failures(connection: sa.Connection, operator: str) -> None:
    query = sa.update(operator_code_apps).where(operator_code_apps.c.operator == operator)
    connection.execute(query.values(failures=0, locked_until=0))


# --- passkeys -------------------------------------------------------------------------------------------------------


def add_passkey(connection: sa.Connection, row: PasskeyRow) -> bool:
    """False when it is known already, whoever's it is."""
    if find_passkey(connection, row.id) is not None:
        return False
    connection.execute(
        sa.insert(operator_passkeys).values(
            id=row.id,
            operator=row.operator,
            name=clean(row.name),
            public_key=row.public_key,
            uses=row.uses,
            created_at=row.created_at,
        )
    )
    return True


def list_passkeys(connection: sa.Connection, operator: str) -> Sequence[PasskeyRow]:
    query = sa.select(operator_passkeys).where(operator_passkeys.c.operator == operator)
    ordered = query.order_by(operator_passkeys.c.created_at, operator_passkeys.c.id)
    return [_read_passkey(row) for row in connection.execute(ordered)]


def find_passkey(connection: sa.Connection, id_: str) -> PasskeyRow | None:
    row: Any = connection.execute(sa.select(operator_passkeys).where(operator_passkeys.c.id == id_)).one_or_none()
    return None if row is None else _read_passkey(row)


def note_use(connection: sa.Connection, id_: str, uses: int, at: float) -> bool:
    """False when its counter did not move on since: a copy of it, or the same answer twice. Many passkeys have none,
    and always say zero."""
    query = sa.update(operator_passkeys).where(
        operator_passkeys.c.id == id_,
        sa.or_(operator_passkeys.c.uses < uses, sa.and_(operator_passkeys.c.uses == 0, sa.literal(uses) == 0)),
    )
    return bool(connection.execute(query.values(uses=uses, used_at=at)).rowcount)


def delete_passkey(connection: sa.Connection, id_: str, operator: str) -> PasskeyRow | None:
    """The one that was removed, if it was theirs."""
    own = sa.and_(operator_passkeys.c.id == id_, operator_passkeys.c.operator == operator)
    row: Any = connection.execute(sa.delete(operator_passkeys).where(own).returning(*operator_passkeys.c)).one_or_none()
    return None if row is None else _read_passkey(row)


def _read_passkey(row: Any) -> PasskeyRow:
    return PasskeyRow(row.id, row.operator, row.name, bytes(row.public_key), row.uses, row.created_at, row.used_at)


# --- what was asked -------------------------------------------------------------------------------------------------


def add_challenge(
    connection: sa.Connection, hash_: str, purpose: ChallengePurpose, operator: str | None, now: float, seconds: float
) -> None:
    """Without an operator it is for whoever can answer it."""
    connection.execute(sa.delete(operator_challenges).where(operator_challenges.c.expires_at <= now))
    connection.execute(
        sa.insert(operator_challenges).values(hash=hash_, purpose=purpose, operator=operator, expires_at=now + seconds)
    )


def is_open(connection: sa.Connection, hash_: str, purpose: ChallengePurpose, now: float) -> tuple[bool, str | None]:
    """Does it still wait, and for which operator?"""
    query = sa.select(operator_challenges.c.operator).where(_open(hash_, purpose, now))
    row = connection.execute(query).one_or_none()
    return (False, None) if row is None else (True, row[0])


def take_challenge(
    connection: sa.Connection, hash_: str, purpose: ChallengePurpose, now: float
) -> tuple[bool, str | None]:
    """The same, and it waits no more."""
    query = sa.delete(operator_challenges).where(_open(hash_, purpose, now)).returning(operator_challenges.c.operator)
    row = connection.execute(query).one_or_none()
    return (False, None) if row is None else (True, row[0])


def _open(hash_: str, purpose: ChallengePurpose, now: float) -> sa.ColumnElement[bool]:
    return sa.and_(
        operator_challenges.c.hash == hash_,
        operator_challenges.c.purpose == purpose,
        operator_challenges.c.expires_at > now,
    )


def forget_challenges(connection: sa.Connection, operator: str) -> None:
    connection.execute(sa.delete(operator_challenges).where(operator_challenges.c.operator == operator))
