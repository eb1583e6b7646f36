"""Afterwards: the database held against what happened, and both against what everybody was told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from tests.faults.back_end import Effect
from tests.faults.checker import Report, Stored, StoredCall, StoredEscalation, StoredTurn, check
from tests.faults.history import History, Said

from circumspect.stores import SqlStore
from circumspect.stores.tables import escalations, intents, tool_executions, turns
from circumspect.values import ConversationId, TenantId

Talk = tuple[str, str, list[Said]]
"""A tenant, a conversation and what was said in it."""


@dataclass
class Findings:
    """What is true after everything has calmed down."""

    talks: int = 0
    calls: int = 0
    effects: int = 0
    twice: list[str] = field(default_factory=list)
    unconfirmed: list[str] = field(default_factory=list)
    said_twice: list[str] = field(default_factory=list)
    unsaid: list[str] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)
    untrue: list[str] = field(default_factory=list)
    states: Counter[str] = field(default_factory=Counter)
    doubts: dict[str, int] = field(default_factory=dict)
    """Conversations with a call whose outcome nobody knows, and how often its effect happened."""
    report: Report = field(default_factory=Report)
    """What everybody was told, held against what happened."""

    @property
    def faults(self) -> dict[str, list[str]]:
        """Everything that must not be; empty when all is well."""
        names = ("twice", "unconfirmed", "said_twice", "unsaid", "untold", "untrue")
        stored = {f"stored: {name}": found for name in names if (found := getattr(self, name))}
        return {**stored, **self.report.faults}


async def find_everything(
    database: str, talks: Sequence[Talk], effects: Sequence[Effect], history: History
) -> Findings:
    store = await SqlStore.open(database)
    try:
        done, findings, known = Counter(one.key for one in effects), Findings(talks=len(talks)), set()
        told = {row.execution for row in await store.escalations(limit=10_000)}
        for tenant, conversation, said in talks:
            where = TenantId(tenant), ConversationId(conversation)
            messages = [row for row in await store.messages(*where) if row.role == "user"]
            expected, found = Counter(one.text for one in said), Counter(row.content for row in messages)
            findings.said_twice += [f"{conversation}: {text}" for text in found - expected]
            findings.unsaid += [f"{conversation}: {text}" for text in expected - found]
            asked = {one.id: one for one in await store.intents(*where)}
            for call in await store.executions(*where):
                known.add(call.key)
                findings.calls += 1
                findings.states[call.state] += 1
                intent = asked.get(call.intent) if call.intent else None
                yes = intent and any(row.content == "yes" and row.seq > (intent.question_seq or 0) for row in messages)
                if intent is None or intent.state != "consumed" or intent.call.hash != call.call.hash or not yes:
                    findings.unconfirmed.append(f"{conversation}: {call.id}")
                if call.state == "indeterminate":
                    findings.doubts[conversation] = done[call.key]
                if call.state == "indeterminate" and call.id not in told:
                    findings.untold.append(f"{conversation}: {call.id}")
                if (call.state == "succeeded" and not done[call.key]) or (call.state == "failed" and done[call.key]):
                    findings.untrue.append(f"{conversation}: {call.id} {call.state}")
            used = Counter(call.intent for call in await store.executions(*where))
            findings.twice += [f"{conversation}: {intent}" for intent, times in used.items() if times > 1]
        findings.effects = sum(done.values())
        findings.unconfirmed += [key for key in done if key not in known] if talks else []
        findings.report = check(history, effects, await store.tx(_read_stored))
        return findings
    finally:
        await store.close()


async def check_history(database: str, effects: Sequence[Effect], history: History) -> Report:
    """Only what was told, for conversations of any kind."""
    store = await SqlStore.open(database)
    try:
        return check(history, effects, await store.tx(_read_stored))
    finally:
        await store.close()


async def is_calm(database: str) -> bool:
    """Nothing is under way any more."""
    store = await SqlStore.open(database)
    try:
        stored = await store.tx(_read_stored)
    finally:
        await store.close()
    return all(one.state != "started" for one in stored.calls) and all(one.status == "done" for one in stored.turns)


def _read_stored(connection: sa.Connection) -> Stored:
    def rows(*columns: Any) -> Sequence[Any]:
        return connection.execute(sa.select(*columns)).all()

    turn, call, row = turns.c, tool_executions.c, escalations.c
    approvals = sa.select(intents.c.tenant, intents.c.call).where(intents.c.kind == "approval")
    return Stored(
        [StoredTurn(*one) for one in rows(turn.tenant, turn.conversation, turn.id, turn.client_key, turn.status)],
        [
            StoredCall(tenant, conversation, id_, str(arguments.get("order_id", "")), state)
            for tenant, conversation, id_, arguments, state in rows(
                call.tenant, call.conversation, call.id, call.arguments, call.state
            )
        ],
        [StoredEscalation(*one) for one in rows(row.tenant, row.conversation, row.turn, row.execution)],
        frozenset(
            (tenant, str(asked["arguments"].get("order_id", ""))) for tenant, asked in connection.execute(approvals)
        ),
    )
