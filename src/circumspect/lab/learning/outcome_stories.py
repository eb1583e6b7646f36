"""Stories: stored conversations, each with what was said about it and how its turns and escalations ended.

In comes a connection; out comes, for any turn, what it decided, on which call, and how sure it was when it did, before
any cap. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

import sqlalchemy as sa

from circumspect.journal import AssessmentEvent, read_event
from circumspect.lab.replay.past_calls import Record
from circumspect.lab.replay.recorded_turns import Ruling, rulings
from circumspect.lab.replay.stored_turns import PAGE, Stretch, read
from circumspect.policy.understanding.journal_events import ConfidenceRecord, RetrievalEvent, UnderstoodEvent
from circumspect.reasons import ReasonCode
from circumspect.stores import labels as stored_labels
from circumspect.stores.codec import epoch, reason
from circumspect.stores.experiment_tables import labels
from circumspect.stores.labels import LabelRow
from circumspect.stores.tables import conversations, escalations, turns
from circumspect.values import Execution, IntentId, Message, TenantId, ToolCall

DECISIONS: Mapping[str, str] = {
    "answered": "answer",
    "acted": "act",
    "asked": "ask",
    "escalated": "escalate",
    "blocked": "block",
    "failed": "fail",
}
"""By how a turn ended."""
_BY_CODE = frozenset((ReasonCode.SENSITIVE_TOPIC, ReasonCode.GUARDIAN_UNAVAILABLE, ReasonCode.INVALID_DECISION))
"""Escalations that no model decided on: the confidence that is noted with them is a constant."""


@dataclass(frozen=True, slots=True)
class JournalDecision:
    """What a turn decided, read off its journal."""

    turn: str
    decision: str
    tool: str = ""
    confidence: float | None = None
    ruling: Ruling | None = None


@dataclass(frozen=True, slots=True)
class Handover:
    """An escalation, as far as it tells whether it was needed."""

    turn: str
    reason: ReasonCode | None
    about_a_call: bool
    suggestion: str
    created_at: float
    resolved_at: float | None


@dataclass(frozen=True)
class LabelledConversation:
    """A stored conversation and everything that was said about it."""

    record: Record
    written: Sequence[LabelRow] = ()
    handovers: Sequence[Handover] = ()
    ended: Mapping[str, str] = field(default_factory=dict)
    """Turn to outcome."""

    @cached_property
    def rulings(self) -> tuple[Ruling, ...]:
        return tuple(rulings(self.record))

    @cached_property
    def _asking_turns(self) -> Mapping[IntentId, str]:
        """The turn whose reply asked for a yes."""
        said = {message.seq: message.turn for message in self.record.messages if message.role == "assistant"}
        return {one.id: said[one.question_seq] for one in self.record.intents if one.question_seq in said}

    @cached_property
    def _journals(self) -> Mapping[str, list[Message]]:
        found: dict[str, list[Message]] = {}
        for message in self.record.messages:
            if message.role == "internal":
                found.setdefault(message.turn, []).append(message)
        return found

    def find_call_ruling(self, turn: str, call: ToolCall) -> Ruling | None:
        """How the call was ruled on when it was first proposed, if it is this call that the model proposed."""
        found = next((one for one in self.rulings if one.turn == turn and _same(one.call, call)), None)
        return self.find_intent_ruling(found.confirmed.id) if found and found.confirmed else found

    def find_intent_ruling(self, intent: IntentId | str) -> Ruling | None:
        """How the call was ruled on that a yes or no is about."""
        asked = next((one for one in self.record.intents if one.id == intent), None)
        return (
            self.find_call_ruling(self._asking_turns[asked.id], asked.call)
            if asked and asked.id in self._asking_turns
            else None
        )

    def read_decision(self, turn: str) -> JournalDecision:
        """What the turn decided and how sure it was. A turn that ran what was agreed to before stands for that."""
        decision, journal = DECISIONS.get(self.ended.get(turn, ""), ""), self._journals.get(turn, [])
        if decision == "act":
            ran = [one for one in self.record.executions if one.turn == turn]
            changed = [one for one in ran if one.effect != "read"] or ran
            if changed and (ruling := self.find_execution_ruling(changed[-1])):
                return JournalDecision(ruling.turn, decision, ruling.call.tool, read_call_confidence(ruling), ruling)
            return JournalDecision(turn, decision, changed[-1].call.tool if changed else "")
        if decision == "ask":
            held = next((one for one in reversed(self.rulings) if one.turn == turn and one.then.kind != "allow"), None)
            if held is not None:
                return JournalDecision(turn, decision, held.call.tool, read_call_confidence(held), held)
        stated = _read_answer_confidence(journal) if decision == "answer" else _read_ending_confidence(journal)
        return JournalDecision(turn, decision, "", stated)

    def find_execution_ruling(self, one: Execution) -> Ruling | None:
        return self.find_intent_ruling(one.intent) if one.intent else self.find_call_ruling(one.turn, one.call)


def _same(one: ToolCall, other: ToolCall) -> bool:
    return one.tool == other.tool and one.arguments == other.arguments


# --- how sure the turn was ------------------------------------------------------------------------------------------


def read_call_confidence(ruling: Ruling) -> float | None:
    """What the model stated of its call, before the cap; None where it stated nothing that could be read."""
    drafted = ruling.moment.drafted if ruling.moment else None
    assessment = drafted.assessment if drafted else None
    return assessment.confidence if assessment and assessment.readable else None


def _read_answer_confidence(journal: Sequence[Message]) -> float | None:
    """Ours where one was computed; else what the model stated of its last draft."""
    stated = None
    for entry in journal:
        match read_event(entry):
            case RetrievalEvent(confidence=ConfidenceRecord(value=value)):
                return _within_scale(value)
            case AssessmentEvent(confidence=value) if entry.reason is not ReasonCode.ASSESSMENT_UNPARSABLE:
                stated = _within_scale(value)
    return stated


def _read_ending_confidence(journal: Sequence[Message]) -> float | None:
    """The model's confidence in asking or handing over, where that was its decision."""
    for entry in journal:
        event = read_event(entry)
        if isinstance(event, UnderstoodEvent) and event.decision and entry.reason not in _BY_CODE:
            return _within_scale(event.decision.confidence) if event.ends else None
    return None


def _within_scale(confidence: float) -> float | None:
    return confidence if 0 <= confidence <= 1 else None


# --- reading --------------------------------------------------------------------------------------------------------


def stories(
    connection: sa.Connection, tenant: TenantId, since: datetime | None = None
) -> Iterator[LabelledConversation]:
    """The tenant's conversations in which anything happened since then, a few at a time."""
    key = (conversations.c.updated_at, conversations.c.id)
    query = sa.select(*key).where(conversations.c.tenant == tenant).order_by(*(column.desc() for column in key))
    recent = query if since is None else query.where(conversations.c.updated_at >= epoch(since))
    for some in connection.execute(recent).partitions(PAGE):
        yield from _read(connection, Stretch(tenant, tuple(some[0]), tuple(some[-1]), len(some)))
    if since is None:
        return
    # A label, or an end of an escalation, may come long after the last word of its conversation.
    late = sa.or_(
        conversations.c.id.in_(sa.select(labels.c.conversation).where(_since(labels, "at", tenant, since))),
        conversations.c.id.in_(
            sa.select(escalations.c.conversation).where(_since(escalations, "resolved_at", tenant, since))
        ),
    )
    for one in connection.execute(query.where(conversations.c.updated_at < epoch(since), late)).all():
        yield from _read(connection, Stretch(tenant, tuple(one), tuple(one), 1))


def story_of(connection: sa.Connection, tenant: TenantId, conversation: str) -> LabelledConversation | None:
    """One conversation; None when there is no such one."""
    query = sa.select(conversations.c.updated_at, conversations.c.id).where(
        conversations.c.tenant == tenant, conversations.c.id == conversation
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    return next(_read(connection, Stretch(tenant, tuple(row), tuple(row), 1)), None)


def _since(table: sa.Table, column: str, tenant: TenantId, since: datetime) -> sa.ColumnElement[bool]:
    return sa.and_(table.c.tenant == tenant, table.c[column] >= epoch(since))


def _read(connection: sa.Connection, stretch: Stretch) -> Iterator[LabelledConversation]:
    found = read(connection, stretch)
    ids = [str(record.conversation) for record in found]
    written: dict[str, list[LabelRow]] = {}
    for row in stored_labels.list_labels(connection, stretch.tenant, ids):
        written.setdefault(row.conversation, []).append(row)
    handed: dict[str, list[Handover]] = {}
    query = sa.select(escalations).where(escalations.c.tenant == stretch.tenant, escalations.c.conversation.in_(ids))
    for one in connection.execute(query.order_by(escalations.c.created_at)):
        handed.setdefault(one.conversation, []).append(
            Handover(
                one.turn,
                reason(one.reason_code),
                one.execution is not None,
                one.suggestion or "",
                one.created_at,
                one.resolved_at,
            )
        )
    ended: dict[str, dict[str, str]] = {}
    ends = sa.select(turns.c.conversation, turns.c.id, turns.c.outcome).where(
        turns.c.tenant == stretch.tenant, turns.c.conversation.in_(ids), turns.c.outcome.is_not(None)
    )
    for conversation, turn, outcome in connection.execute(ends):
        ended.setdefault(conversation, {})[turn] = outcome
    for record in found:
        id_ = str(record.conversation)
        yield LabelledConversation(record, written.get(id_, ()), handed.get(id_, ()), ended.get(id_, {}))
