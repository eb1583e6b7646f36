"""Labels: what a person said about a decision, or how it turned out. Plain functions on a connection.

Only what no other row tells is written here. That a call was approved, edited, turned down or failed is read off
intents, the journal and the ledger when labels are gathered (`lab.learning.outcomes`).

The one choice that may surprise: whether a label is learnt from or held out is drawn by its conversation, not by
itself. The turns of one conversation are alike, and a map that has seen its neighbour has seen the label.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from circumspect.hashing import stable_share
from circumspect.stores.codec import check_identifiers, clean, dumps
from circumspect.stores.experiment_tables import labels
from circumspect.stores.statements import run, sql
from circumspect.stores.tables import conversations
from circumspect.values import JsonObject, TenantId

LabelKind = Literal["approve", "edit", "deny", "correct", "thumbs_up", "thumbs_down", "outcome"]
LabelSplit = Literal["train", "held"]

HELD_OUT = 0.3
"""Share of the conversations whose labels are never learnt from."""

OF_EVALUATIONS = "evaluation/"
"""Before the id of an evaluation, where a label is about a review and not about a conversation (`corrections`)."""


@dataclass(frozen=True, slots=True)
class LabelRow:
    tenant: TenantId
    id: str
    conversation: str
    turn: str | None
    kind: LabelKind
    tool: str | None
    decision: str | None
    """What was decided: answer, act, ask, escalate."""
    confidence: float | None
    """As stated then, 0 to 1."""
    value: JsonObject | None
    split: LabelSplit
    by: str
    at: float


def split_of(tenant: str, conversation: str) -> LabelSplit:
    """Always the same for the same conversation."""
    return "held" if stable_share("labels", tenant, conversation) < HELD_OUT else "train"


_PUT = sql("""
    INSERT INTO labels (tenant, id, conversation, turn, kind, tool, decision, confidence, value, split, "by", at)
    VALUES (:tenant, :id, :conversation, :turn, :kind, :tool, :decision, :confidence, :value, :split, :by, :at)
    ON CONFLICT (tenant, id) DO UPDATE SET
        kind = excluded.kind, tool = excluded.tool, decision = excluded.decision, confidence = excluded.confidence,
        value = excluded.value, at = excluded.at
""")


def put(connection: sa.Connection, row: LabelRow) -> None:
    """Written, in place of the one with the same id: people change their minds."""
    check_identifiers(row.tenant, row.conversation, row.turn)
    values = {name: getattr(row, name) for name in LabelRow.__dataclass_fields__}
    document = None if row.value is None else dumps(_clean_values(row.value))
    run(connection, _PUT, {**values, "value": document, "id": clean(row.id), "by": clean(row.by)})


def list_labels(connection: sa.Connection, tenant: TenantId, some: Collection[str]) -> Sequence[LabelRow]:
    """Those of some conversations, in the order of time."""
    query = _select_labels(tenant).where(labels.c.conversation.in_(sorted(some)))
    return [LabelRow(*row) for row in connection.execute(query)]


def from_elsewhere(connection: sa.Connection, tenant: TenantId, since: float | None) -> Sequence[LabelRow]:
    """Those whose conversation is not one of ours: they were brought in, with everything that there is to know. None
    about reviews: what a verdict on a case should have been says nothing about turns."""
    ours = sa.select(conversations.c.id).where(conversations.c.tenant == tenant)
    reviewed = labels.c.conversation.startswith(OF_EVALUATIONS, autoescape=True)
    query = _select_labels(tenant).where(labels.c.conversation.not_in(ours), sa.not_(reviewed))
    if since is not None:
        query = query.where(labels.c.at >= since)
    return [LabelRow(*row) for row in connection.execute(query)]


def _select_labels(tenant: TenantId) -> sa.Select[Any]:
    return sa.select(labels).where(labels.c.tenant == tenant).order_by(labels.c.at, labels.c.id)


def _clean_values(value: JsonObject) -> dict[str, Any]:
    return {name: clean(one) if isinstance(one, str) else one for name, one in value.items()}
