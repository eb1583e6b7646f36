"""Corrections: what a person says that a verdict of a review should have been. Plain functions on a connection.

They are labels of the kind `correct`, one from each person for a criterion of an evaluation; of several people's the
newest holds. One that equals the verdict confirms it. The evaluation stands where labels have their conversation,
behind a prefix with a slash, which ids of conversations do not have over HTTP: so neither is taken for the other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from circumspect.hashing import digest
from circumspect.stores import labels
from circumspect.stores.experiment_tables import labels as table
from circumspect.stores.labels import OF_EVALUATIONS, LabelRow, LabelSplit
from circumspect.stores.review_tables import evaluations
from circumspect.values import TenantId

_AT_ONCE = 500
"""Evaluations in one statement: databases have a limit for values."""


@dataclass(frozen=True, slots=True)
class Correction:
    tenant: str
    evaluation: str
    criterion: str
    verdict: str
    """That was judged: MET, NOT_MET or UNCERTAIN."""
    confidence: float
    status: str
    """What it should have been."""
    why: str
    by: str
    at: float

    @property
    def confirms(self) -> bool:
        return self.status == self.verdict


def put(connection: sa.Connection, one: Correction, split: LabelSplit) -> bool:
    """Written, in place of the same person's earlier one. False, with nothing written, when the evaluation is gone."""
    # Who deletes the case at this moment waits for this row, and then finds the correction; or it is the other way.
    own = sa.select(evaluations.c.id).where(evaluations.c.tenant == one.tenant, evaluations.c.id == one.evaluation)
    if connection.execute(own.with_for_update()).first() is None:
        return False
    row = LabelRow(
        tenant=TenantId(one.tenant),
        id=f"{one.evaluation}:{digest([one.criterion, one.by])[:24]}",
        conversation=f"{OF_EVALUATIONS}{one.evaluation}",
        turn=None,
        kind="correct",
        tool=None,
        decision=one.verdict,
        confidence=one.confidence,
        value={"criterion": one.criterion, "status": one.status, "why": one.why},
        split=split,
        by=one.by,
        at=one.at,
    )
    labels.put(connection, row)
    return True


def of(connection: sa.Connection, tenant: str, evaluation: str) -> Mapping[str, Correction]:
    """Those that hold, by criterion."""
    found = of_all(connection, [(tenant, evaluation)])
    return {criterion: one for (_, _, criterion), one in found.items()}


def of_all(connection: sa.Connection, some: Collection[tuple[str, str]]) -> Mapping[tuple[str, str, str], Correction]:
    """Those that hold of some evaluations, given by tenant and id; by tenant, evaluation and criterion."""
    wanted, found = sorted(set(some)), dict[tuple[str, str, str], Correction]()
    for first in range(0, len(wanted), _AT_ONCE):
        keys = [(tenant, f"{OF_EVALUATIONS}{id_}") for tenant, id_ in wanted[first : first + _AT_ONCE]]
        query = _query().where(sa.tuple_(table.c.tenant, table.c.conversation).in_(keys))
        found |= {(one.tenant, one.evaluation, one.criterion): one for one in _read(connection, query)}
    return found


def since(connection: sa.Connection, tenant: str, at: float | None = None) -> Sequence[Correction]:
    """Those of a tenant that hold and were made since then, in the order of time."""
    # A later one takes the place of an earlier, and with it its place in time.
    found: dict[tuple[str, str], Correction] = {}
    for one in _read(connection, _query().where(table.c.tenant == tenant)):
        found.pop((one.evaluation, one.criterion), None)
        found[one.evaluation, one.criterion] = one
    return [one for one in found.values() if at is None or one.at >= at]


def forget(connection: sa.Connection, tenant: str, some: Collection[str]) -> None:
    """All that was said about some evaluations."""
    named = sorted(f"{OF_EVALUATIONS}{id_}" for id_ in some)
    connection.execute(sa.delete(table).where(table.c.tenant == tenant, table.c.conversation.in_(named)))


def _query() -> sa.Select[Any]:
    return (
        sa.select(table)
        .where(table.c.kind == "correct", table.c.conversation.startswith(OF_EVALUATIONS, autoescape=True))
        .order_by(table.c.at, table.c.id)
    )


def _read(connection: sa.Connection, query: sa.Select[Any]) -> list[Correction]:
    return [_correction(LabelRow(*row)) for row in connection.execute(query)]


def _correction(row: LabelRow) -> Correction:
    value = row.value or {}
    return Correction(
        row.tenant,
        row.conversation.removeprefix(OF_EVALUATIONS),
        str(value["criterion"]),
        row.decision or "",
        row.confidence or 0.0,
        str(value["status"]),
        str(value.get("why") or ""),
        row.by,
        row.at,
    )
