"""What a turn can be found by later: a turn's journal in, its marks in the database.

A journal line has one reason, a ruling may have had several, and all of them are the turn's. Plain functions on a
connection, in the transaction that writes the journal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import sqlalchemy as sa

from circumspect.holds import TurnHolds
from circumspect.reasons import ReasonCode
from circumspect.stores.codec import clean
from circumspect.stores.search_tables import turn_marks
from circumspect.stores.statements import SqlValues, insert
from circumspect.values import ConversationId, JournalEntry, TenantId

HELD, CRITIQUE, CONTEXT = "held", "critique", "context"
LONGEST = 200
"""Characters of a mark: a model may propose a tool by any name."""


def mark_reason(code: str) -> str:
    return f"reason {code}"[:LONGEST]


def mark_tool(name: str) -> str:
    return f"tool {clean(name)}"[:LONGEST]


def list_marks(entries: Iterable[JournalEntry], reasons: Collection[ReasonCode], holds: TurnHolds) -> set[str]:
    found = {mark_reason(code) for code in reasons}
    for entry in entries:
        if entry.reason:
            found.add(mark_reason(entry.reason))
        if entry.kind in (CRITIQUE, CONTEXT):
            found.add(entry.kind)
        if entry.kind == "policy" and isinstance(tool := entry.meta.get("tool"), str):
            found.add(mark_tool(tool))
    if holds.held:
        found.add(HELD)
    return found


def put_marks(
    connection: sa.Connection,
    tenant: TenantId,
    conversation: ConversationId,
    turn: str,
    at: float,
    marks: Collection[str],
) -> None:
    row: SqlValues = {"tenant": tenant, "conversation": conversation, "turn": turn, "at": at}
    found: list[SqlValues] = [{"mark": mark} for mark in sorted(marks)]
    insert(connection, turn_marks, *found, common=row, otherwise="ON CONFLICT DO NOTHING")
