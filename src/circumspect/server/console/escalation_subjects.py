"""What an escalation is about: rows in, the call whose end nobody knows or else the words of the user out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

import sqlalchemy as sa

from circumspect.journal import ToldOutcomeEvent, find_events
from circumspect.server.console.call_words import find_specs
from circumspect.stores import codec
from circumspect.stores.codec import moment
from circumspect.stores.tables import intents, messages, tool_executions
from circumspect.values import ToldOutcome, ToolSpec


class EscalatedTurn(Protocol):
    """Whatever says which turn it came from, and which call."""

    @property
    def id(self) -> str: ...
    @property
    def tenant(self) -> str: ...
    @property
    def conversation(self) -> str: ...
    @property
    def turn(self) -> str: ...
    @property
    def execution(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class EscalationSubject:
    words: str
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    question: str = ""
    """To what somebody said yes before it was called: with the sums that the call itself may leave open."""
    spec: ToolSpec | None = None


@dataclass(frozen=True, slots=True)
class ToldEnd:
    """What a person said became of a call of which nobody knew."""

    outcome: ToldOutcome
    by: str
    at: datetime


def find_told_ends(connection: sa.Connection, rows: Sequence[EscalatedTurn]) -> dict[str, list[ToldEnd]]:
    """By the id of each escalation about a call: in the order in which it was said."""
    asked = [row for row in rows if row.execution]
    found: dict[str, list[ToldEnd]] = {row.id: [] for row in asked}
    if not asked:
        return found
    query = sa.select(messages).where(
        messages.c.tenant.in_({row.tenant for row in asked}),
        messages.c.conversation.in_({row.conversation for row in asked}),
        messages.c.turn.in_(found),
        messages.c.role == "internal",
    )
    for row in connection.execute(query.order_by(messages.c.seq)):
        for event in find_events([codec.message(row)], ToldOutcomeEvent):
            found[row.turn].append(ToldEnd(event.outcome, event.told_by, moment(row.at)))
    return found


def find_subjects(connection: sa.Connection, rows: Sequence[EscalatedTurn]) -> dict[str, EscalationSubject]:
    """By the id of each."""
    if not rows:
        return {}
    ledger = tool_executions.c
    query = (
        sa.select(ledger.id, ledger.tenant, ledger.tool, ledger.arguments, intents.c.question)
        .select_from(tool_executions.outerjoin(intents, intents.c.id == ledger.intent))
        .where(ledger.id.in_([row.execution for row in rows if row.execution]))
    )
    calls = {one.id: one for one in connection.execute(query)}
    specs = find_specs(connection, [(one.tenant, one.tool) for one in calls.values()])
    said = sa.select(messages.c.turn, messages.c.content).where(
        messages.c.tenant.in_({row.tenant for row in rows}),
        messages.c.conversation.in_({row.conversation for row in rows}),
        messages.c.turn.in_([row.turn for row in rows]),
        messages.c.role == "user",
    )
    words = {one.turn: one.content for one in connection.execute(said)}
    found = {}
    for row in rows:
        subject, call = EscalationSubject(words.get(row.turn, "")), calls.get(row.execution or "")
        if call is not None:
            spec = specs.get((call.tenant, call.tool))
            subject = EscalationSubject(subject.words, call.tool, call.arguments, call.question or "", spec)
        found[row.id] = subject
    return found
