"""How far each receiver has got the operators' log: a place in the chain, kept for each of them in `log_exports`.

Plain functions on a connection. One worker at a time sends to a receiver; the place moves on only after the receiver
has taken the rows, so a worker that dies in between has them sent a second time, and none is left out. Rows go out as
they are stored, with pseudonyms for end users: what was sent cannot be called back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from circumspect.stores import action_log, database_time
from circumspect.stores.action_log import LogRow
from circumspect.stores.codec import read_row
from circumspect.stores.log_tables import log_exports, operator_log

_BEGIN = sa.text("INSERT INTO log_exports (target, seq, leased_until) VALUES (:target, 0, 0) ON CONFLICT DO NOTHING")


@dataclass(frozen=True, slots=True)
class ExportLag:
    """What a receiver has not had yet: how many rows, and how long the oldest of them has been waiting."""

    rows: int
    seconds: float
    sent: int
    """The number of the newest row that it has had; 0 is none."""


def claim_rows(
    connection: sa.Connection, target: str, token: str, lease_seconds: float, limit: int
) -> Sequence[LogRow]:
    """The next rows for a receiver, in the order of the chain; none while somebody else sends to it."""
    now, exports = database_time.read(connection), log_exports.c
    place: Any = connection.execute(sa.select(log_exports).where(exports.target == target)).one_or_none()
    if place is None:
        connection.execute(_BEGIN, {"target": target})
    elif place.leased_until > now or place.seq >= action_log.read_head(connection)[0]:
        return []
    claimed = (
        sa.update(log_exports)
        .where(exports.target == target, exports.leased_until <= now)
        .values(token=token, leased_until=now + lease_seconds)
        .returning(exports.seq)
    )
    sent = connection.execute(claimed).scalar()
    if sent is None:
        return []
    later = sa.select(operator_log).where(operator_log.c.seq > sent).order_by(operator_log.c.seq).limit(limit)
    return [read_row(LogRow, row, detail=row.detail or {}) for row in connection.execute(later)]


def mark_exported(connection: sa.Connection, target: str, token: str, seq: int) -> None:
    """The receiver has had everything up to this row. Nothing happens if somebody else sends to it by now."""
    exports = log_exports.c
    mine = sa.update(log_exports).where(exports.target == target, exports.token == token)
    connection.execute(mine.values(seq=seq, token=None, leased_until=0))


def put_off(connection: sa.Connection, target: str, token: str, seconds: float) -> None:
    """Nobody tries this receiver before the time is over."""
    exports, until = log_exports.c, database_time.read(connection) + seconds
    mine = sa.update(log_exports).where(exports.target == target, exports.token == token)
    connection.execute(mine.values(token=None, leased_until=until))


def read_lags(connection: sa.Connection, targets: Collection[str], now: float) -> Mapping[str, ExportLag]:
    """By receiver."""
    head, _ = action_log.read_head(connection)
    sent = read_sent(connection, targets)
    return {target: _read_lag(connection, head, seq, now) for target, seq in sent.items()}


def read_sent(connection: sa.Connection, targets: Collection[str]) -> Mapping[str, int]:
    """How far each of these is; one that is not known yet has had nothing."""
    known = sa.select(log_exports.c.target, log_exports.c.seq).where(log_exports.c.target.in_(sorted(targets)))
    return dict.fromkeys(sorted(targets), 0) | {row.target: row.seq for row in connection.execute(known)}


def _read_lag(connection: sa.Connection, head: int, sent: int, now: float) -> ExportLag:
    log = operator_log.c
    oldest: Any = connection.execute(
        sa.select(log.seq, log.at).where(log.seq > sent).order_by(log.seq).limit(1)
    ).one_or_none()
    if oldest is None:
        return ExportLag(0, 0.0, sent)
    return ExportLag(head - oldest.seq + 1, max(0.0, now - oldest.at), sent)
