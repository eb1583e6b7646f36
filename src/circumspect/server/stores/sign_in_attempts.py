"""Attempts to sign in with a password, counted for each operator so that guessing is slow and nobody is kept out.

An attempt counts in one bucket by where it comes from: the browser, if the operator has signed in with it before, else
the address. Five failures there are free, then the bucket is locked for 30 seconds, a minute, and so on to a quarter of
an hour; attempts during a lock neither succeed nor lengthen it. Strangers' attempts have to find room in a bucket of
the name as well, which many addresses together can fill but one cannot; known browsers never wait for it. So whoever
knows a name can slow down strangers, themselves first, and not its owner at their own browser.

The one choice that may surprise: an attempt is counted before the password is looked at, in the transaction that reads
the locks and holds the operator's row, so that a hundred guesses sent at once are as few as a hundred sent in a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from circumspect.server.stores.access import OperatorRow, read_operator
from circumspect.server.stores.sessions import KnownDevice
from circumspect.stores.codec import clean
from circumspect.stores.statements import SqlValues, run, sql
from circumspect.stores.tables import operators, sign_in_attempts

FREE_FAILURES = 5
FIRST_LOCK_SECONDS = 30
LONGEST_LOCK_SECONDS = 900
STRANGERS_AT_ONCE = 30
STRANGER_SECONDS = 60
"""A name hears so many strangers at once, and then one in so many seconds."""
FORGOTTEN_SECONDS = 24 * 3600
"""A bucket in which nothing was tried for so long begins anew."""
_NAME = "name"


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to sign in, counted already. While `locked`, no password is right."""

    operator: OperatorRow
    password: str
    bucket: str
    failures: int
    """In the bucket, this one counted."""
    locked: bool
    known: bool
    """It came from a browser that the operator has signed in with before."""

    @property
    def locks(self) -> bool:
        """If it fails, the bucket is locked by it."""
        return not self.locked and self.failures >= FREE_FAILURES


_HELD = sa.select(operators).where(operators.c.name == sa.bindparam("name")).with_for_update()


def begin_attempt(
    connection: sa.Connection, name: str, address: str, device: KnownDevice | None, now: float
) -> Attempt | None:
    """Counts it as failed until `forgive_attempt` says otherwise. None when there is no such operator."""
    if clean(name) != name:
        return None  # cannot be stored, so nobody has it; PostgreSQL would refuse to look
    row: Any = connection.execute(_HELD, {"name": name}).one_or_none()
    if row is None:
        return None
    operator = read_operator(row)
    known = device is not None and operator.id in device.operators
    bucket = f"device:{device.id}" if known and device is not None else f"address:{address}"
    failures, locked_until = _read_bucket(connection, operator.id, bucket, now)
    _, full_until = (0, 0.0) if known else _read_bucket(connection, operator.id, _NAME, now)
    filled = max(full_until, now) + STRANGER_SECONDS
    if locked_until > now or (not known and filled > now + STRANGERS_AT_ONCE * STRANGER_SECONDS):
        return Attempt(operator, row.password, bucket, failures, locked=True, known=known)
    _put_bucket(connection, operator.id, bucket, failures + 1, now + _lock_seconds(failures + 1), now)
    if not known:
        _put_bucket(connection, operator.id, _NAME, 0, filled, now)
    return Attempt(operator, row.password, bucket, failures + 1, locked=False, known=known)


def forgive_attempt(connection: sa.Connection, attempt: Attempt) -> None:
    """It was the right password: its bucket is empty again, and it took no room from others."""
    connection.execute(sa.delete(sign_in_attempts).where(*_which(attempt.operator.id, attempt.bucket)))
    if not attempt.known:
        query = sa.update(sign_in_attempts).where(*_which(attempt.operator.id, _NAME))
        connection.execute(query.values(until=sign_in_attempts.c.until - STRANGER_SECONDS))


def sweep_attempts(connection: sa.Connection, now: float, limit: int) -> int:
    """Some buckets that say nothing any more. How many there were."""
    old = (
        sa.select(sign_in_attempts.c.operator, sign_in_attempts.c.bucket)
        .where(sign_in_attempts.c.tried_at <= now - FORGOTTEN_SECONDS)
        .limit(limit)
    )
    both = sa.tuple_(sign_in_attempts.c.operator, sign_in_attempts.c.bucket)
    return connection.execute(sa.delete(sign_in_attempts).where(both.in_(old))).rowcount


def _lock_seconds(failures: int) -> float:
    if failures < FREE_FAILURES:
        return 0.0
    return min(LONGEST_LOCK_SECONDS, FIRST_LOCK_SECONDS * 2.0 ** min(failures - FREE_FAILURES, 10))


_READ = sql("""
    SELECT failures, until FROM sign_in_attempts WHERE operator = :operator AND bucket = :bucket AND tried_at > :since
""")


def _read_bucket(connection: sa.Connection, operator: str, bucket: str, now: float) -> tuple[int, float]:
    """How many failures, and until when it is locked or full."""
    said: SqlValues = {"operator": operator, "bucket": bucket, "since": now - FORGOTTEN_SECONDS}
    row = run(connection, _READ, said).fetchone()
    return (0, 0.0) if row is None else (row[0], row[1])


_PUT = sql("""
    INSERT INTO sign_in_attempts (operator, bucket, failures, until, tried_at)
    VALUES (:operator, :bucket, :failures, :until, :now)
    ON CONFLICT (operator, bucket) DO UPDATE
    SET failures = excluded.failures, until = excluded.until, tried_at = excluded.tried_at
""")


def _put_bucket(connection: sa.Connection, operator: str, bucket: str, failures: int, until: float, now: float) -> None:
    said: SqlValues = {"operator": operator, "bucket": bucket, "failures": failures, "until": until, "now": now}
    run(connection, _PUT, said)


def _which(operator: str, bucket: str) -> tuple[sa.ColumnElement[bool], ...]:
    return sign_in_attempts.c.operator == operator, sign_in_attempts.c.bucket == bucket
