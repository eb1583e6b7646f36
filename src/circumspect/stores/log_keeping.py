"""What a server does for the operators' log by itself: signs it now and then, and gives up what is too old.

Plain functions on a connection. A cut is a row of the log like any other, signed: it says which row was the last to go
and what its hash was, so that the chain can be checked from there on. What a receiver has not had is not given up.
"""

from __future__ import annotations

from collections.abc import Collection

import sqlalchemy as sa

from circumspect.stores import action_log
from circumspect.stores.log_chain import CHECKPOINT, LogHead, Signer, write_signature
from circumspect.stores.log_exporting import read_sent
from circumspect.stores.log_tables import CUT, operator_log

BY = "circumspect"
AT_ONCE = 1000


def write_checkpoint(connection: sa.Connection, signer: Signer, id_: str, at: float) -> bool:
    """Signs the chain, if anything was written since the last time."""
    action_log.wait_for_turn(connection)
    head = LogHead(*action_log.read_head(connection))
    newest = sa.select(operator_log.c.action).where(operator_log.c.seq == head.seq)
    if head.seq == 0 or connection.execute(newest).scalar_one() == CHECKPOINT:
        return False
    _write(connection, CHECKPOINT, head, signer, id_, at)
    return True


def cut_log(
    connection: sa.Connection, signer: Signer, id_: str, at: float, before: float, receivers: Collection[str] = ()
) -> bool:
    """Gives up the rows that were written before that time and that all receivers have had, from the first one on.
    `delete_cut` takes them away."""
    action_log.wait_for_turn(connection)
    log, sent = operator_log.c, min(read_sent(connection, receivers).values(), default=None)
    kept = connection.execute(sa.select(sa.func.min(log.seq)).where(log.at >= before)).scalar()
    old = sa.select(log.seq, log.hash).where(log.at < before)
    for limit in (kept and kept - 1, sent):
        old = old if limit is None else old.where(log.seq <= limit)
    found = connection.execute(old.order_by(log.seq.desc()).limit(1)).one_or_none()
    if found is None or found.seq <= read_cut(connection):
        return False
    _write(connection, CUT, LogHead(found.seq, found.hash), signer, id_, at)
    return True


def delete_cut(connection: sa.Connection) -> int:
    """Some of the rows that were given up. How many there were."""
    log = operator_log.c
    some = sa.select(log.seq).where(log.seq <= read_cut(connection)).order_by(log.seq).limit(AT_ONCE)
    return connection.execute(sa.delete(operator_log).where(log.seq.in_(some))).rowcount


def read_cut(connection: sa.Connection) -> int:
    """The number of the last row that was given up; 0 is none."""
    log = operator_log.c
    newest = sa.select(log.subject).where(sa.text(f"action = '{CUT}'")).order_by(log.seq.desc()).limit(1)
    return int(connection.execute(newest).scalar() or 0)


def _write(connection: sa.Connection, action: str, head: LogHead, signer: Signer, id_: str, at: float) -> None:
    signed = write_signature(action, head, signer)
    action_log.log_action(connection, id=id_, at=at, operator=BY, action=action, subject=str(head.seq), detail=signed)
