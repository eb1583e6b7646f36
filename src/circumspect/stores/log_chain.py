"""The chain of the operators' log: rows in; the first that is not what it was, or none, out.

Each row's hash is over its content and the hash of the row before it, so a row that was changed, taken out or put
elsewhere breaks the chain there. Who can write to the database can also compute the hashes anew; hence checkpoints: now
and then a row signs the chain so far with the server's secret key, which is not in the database. **What no chain can
show is that its newest rows were taken off**: keep the head (number and hash) elsewhere, as the export does, and give
it to the check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import sqlalchemy as sa

from circumspect.hashing import digest
from circumspect.stores.engine import Transactions
from circumspect.stores.log_tables import CUT, operator_log

CHECKPOINT = "log.checkpoint"
AT_ONCE = 1000
_SEALED = ("id", "seq", "at", "operator", "action", "tenant", "subject", "detail", "origin", "result")


class Signer(Protocol):
    """Signs with a key that the database does not know."""

    def sign(self, text: str) -> str: ...

    def fits(self, text: str, signature: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class LogHead:
    """A place in the chain: all that was written up to it."""

    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


START = LogHead(0, "")


@dataclass(frozen=True, slots=True)
class ChainCheck:
    """What was found: how many rows are whole, up to where; and what is wrong with which row, if anything is."""

    rows: int
    head: LogHead
    signed: int
    """The number of the newest row that a checkpoint vouches for; 0 is none."""
    broken: int | None = None
    problem: str = ""


def seal(previous: str, row: Mapping[str, Any]) -> str:
    """The hash of a row that stands after the one whose hash is `previous`."""
    return digest([previous, {name: row[name] or None for name in _SEALED}])


def write_signature(action: str, head: LogHead, signer: Signer) -> dict[str, str]:
    """What a checkpoint or a cut says of the chain so far. The action is signed too, so that a checkpoint cannot be
    written off as a cut."""
    return {"hash": head.hash, "signature": signer.sign(f"{action} {head}")}


async def check_chain(store: Transactions, signer: Signer, known: LogHead | None = None) -> ChainCheck:
    """Reads the log from its first row to its last. `known` is a head that was seen before: it must be there still."""
    cut = await store.tx(_read_cut)
    if cut is not None and not _is_signed(cut, signer):
        return ChainCheck(0, START, 0, cut.seq, _FORGED)
    head = _read_signed_head(cut) if cut is not None else START
    seen = known is None or known.seq <= head.seq
    rows = signed = 0
    while page := await store.tx(_read_after, head.seq):
        for row in page:
            problem = _find_problem(row, head, signer)
            if problem == _MISSING and await _is_cut_meanwhile(store, head, signer):
                return await check_chain(store, signer, known)
            if problem:
                return ChainCheck(rows, head, signed, head.seq + 1 if problem == _MISSING else row.seq, problem)
            head, rows = LogHead(row.seq, row.hash), rows + 1
            if row.action in (CHECKPOINT, CUT):
                signed = int(row.subject)
            if known is not None and row.seq == known.seq:
                if row.hash != known.hash:
                    return ChainCheck(rows, head, signed, row.seq, _ANOTHER)
                seen = True
    if not seen and known is not None:
        return ChainCheck(
            rows, head, signed, head.seq + 1, f"rows {head.seq + 1} to {known.seq} were taken off the end"
        )
    return ChainCheck(rows, head, signed)


_MISSING = "it is missing"
_CHANGED = "it is not what was written, or not where it was written"
_FORGED = "its signature is not of this server's secret key"
_REWRITTEN = "the rows before it are not the ones that it signed"
_ANOTHER = "it is another row than the one that was known"


def _find_problem(row: Any, head: LogHead, signer: Signer) -> str:
    if row.seq != head.seq + 1:
        return _MISSING
    if row.hash != seal(head.hash, row._mapping):
        return _CHANGED
    if row.action not in (CHECKPOINT, CUT):
        return ""
    if not _is_signed(row, signer):
        return _FORGED
    return "" if row.action == CUT or _read_signed_head(row) == head else _REWRITTEN


def _is_signed(row: Any, signer: Signer) -> bool:
    try:
        return signer.fits(f"{row.action} {_read_signed_head(row)}", str(row.detail["signature"]))
    except (ValueError, KeyError, TypeError):
        return False


def _read_signed_head(row: Any) -> LogHead:
    return LogHead(int(row.subject), str(row.detail["hash"]))


async def _is_cut_meanwhile(store: Transactions, head: LogHead, signer: Signer) -> bool:
    cut = await store.tx(_read_cut)
    return cut is not None and _is_signed(cut, signer) and int(cut.subject) > head.seq


def _read_cut(connection: sa.Connection) -> Any:
    """The newest row that gives up older ones."""
    cuts = sa.select(operator_log).where(sa.text(f"action = '{CUT}'"))
    return connection.execute(cuts.order_by(operator_log.c.seq.desc()).limit(1)).one_or_none()


def _read_after(connection: sa.Connection, seq: int) -> Sequence[Any]:
    later = sa.select(operator_log).where(operator_log.c.seq > seq).order_by(operator_log.c.seq).limit(AT_ONCE)
    return connection.execute(later).all()
