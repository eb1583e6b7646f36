"""outcomes: stored conversations -> labels: which decisions were right, who or what says so, and how sure they were.

A person's words about a turn are written down as labels. Everything else is read off what is stored anyway: approvals
and refusals in the journal, how calls ended in the ledger, how escalations were resolved. Each label names the turn in
which the decision was made, with the confidence as it was stated there, before any cap.

What may surprise: a yes judges the turn that proposed the call, not the one that said yes. And where several labels are
about one decision, it counts as right only if none of them objects.

Thumbs and corrections that came with a key are of a tenant's users, or of anybody who opened a widget: `heard` leaves
them out where only colleagues count. A user's yes or no to a call always counts. It says what they wanted, which nobody
else knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import sqlalchemy as sa

from circumspect.journal import IntentEvent, PersonReplyEvent, read_event
from circumspect.lab.learning.calibration import Observation
from circumspect.lab.learning.outcome_stories import (
    JournalDecision,
    LabelledConversation,
    read_call_confidence,
    stories,
)
from circumspect.lab.replay.recorded_turns import Ruling
from circumspect.reasons import ReasonCode
from circumspect.stores import labels as stored_labels
from circumspect.stores.codec import epoch, moment
from circumspect.stores.labels import LabelKind, LabelRow, LabelSplit, split_of
from circumspect.values import JsonObject, TenantId

_SAID: Mapping[ReasonCode, tuple[LabelKind, str]] = {
    ReasonCode.CONFIRMED_BY_USER: ("approve", "user"),
    ReasonCode.APPROVED_BY_COLLEAGUE: ("approve", "colleague"),
    ReasonCode.DENIED_BY_USER: ("deny", "user"),
    ReasonCode.DENIED_BY_COLLEAGUE: ("deny", "colleague"),
    ReasonCode.EDITED_BY_COLLEAGUE: ("edit", "colleague"),
}
Whose = Literal["colleagues", "everyone"]
"""Whose thumbs and corrections count."""
Group = Literal["outcomes", "colleagues", "users"]
_OPINIONS: tuple[LabelKind, ...] = ("thumbs_up", "thumbs_down", "correct")


def group_of(kind: LabelKind, by: str) -> Group:
    """Who says so: how it ended, a colleague, or whoever the agent spoke with."""
    if kind == "outcome":
        return "outcomes"
    return "users" if by == "user" or by.startswith("key:") else "colleagues"


@dataclass(frozen=True, slots=True)
class DecisionLabel:
    """One word on one decision."""

    tenant: TenantId
    conversation: str
    turn: str
    """That made the decision."""
    kind: LabelKind
    right: bool
    decision: str
    tool: str
    """Empty where words were the decision."""
    confidence: float | None
    """As stated; None where none was."""
    split: LabelSplit
    by: str
    at: datetime
    why: str = ""
    value: JsonObject = field(default_factory=dict)
    ruling: Ruling | None = field(default=None, compare=False, repr=False)
    """On the call that was proposed, where there was one."""
    overruled: Group | None = None
    """Who said something about the turn that counts more than this."""

    @property
    def group(self) -> Group:
        return group_of(self.kind, self.by)

    @property
    def opinion(self) -> bool:
        return self.kind in _OPINIONS


def gather(
    connection: sa.Connection, tenant: TenantId, since: datetime | None = None, whose: Whose = "everyone"
) -> list[DecisionLabel]:
    """The labels of a tenant since then that count."""
    return pick_counted(read_labels(connection, tenant, since), whose)


def pick_counted(found: Iterable[DecisionLabel], whose: Whose) -> list[DecisionLabel]:
    """Those that count. What does not count overrules nothing."""
    if whose == "everyone":
        return [one for one in found if one.overruled is None]
    return [one for one in found if one.overruled in (None, "users") and not (one.opinion and one.group == "users")]


def read_labels(connection: sa.Connection, tenant: TenantId, since: datetime | None = None) -> Iterator[DecisionLabel]:
    """All labels of a tenant since then: what was written, and what can be read off everything else."""
    for story in stories(connection, tenant, since):
        for label in labels_of(story):
            if since is None or label.at >= since:
                yield label
    for row in stored_labels.from_elsewhere(connection, tenant, None if since is None else epoch(since)):
        yield label_of(row)


# --- what is said about a conversation ------------------------------------------------------------------------------


def labels_of(story: LabelledConversation) -> Iterator[DecisionLabel]:
    """Everything there is to say about the decisions of one conversation, in the order of time."""
    found = [*_read_written(story), *_read_answers(story), *_read_call_ends(story), *_read_resolutions(story)]
    yield from sorted(found, key=lambda one: one.at)


def _read_written(story: LabelledConversation) -> Iterator[DecisionLabel]:
    for row in story.written:
        decided = story.read_decision(row.turn or "")
        yield label_of(row, decided)


def label_of(row: LabelRow, decided: JournalDecision | None = None) -> DecisionLabel:
    """A label that was written down. What it does not say itself is taken from the turn's journal."""
    decided = decided or JournalDecision(row.turn or "", "")
    value = row.value or {}
    right = bool(value.get("right")) if row.kind == "outcome" else row.kind in ("approve", "thumbs_up")
    return DecisionLabel(
        row.tenant,
        row.conversation,
        decided.turn,
        row.kind,
        right,
        row.decision or decided.decision,
        (row.tool or "") if row.decision else decided.tool,
        row.confidence if row.confidence is not None else decided.confidence,
        row.split,
        row.by,
        moment(row.at),
        {"correct": "corrected", "thumbs_down": "thumbs down", "thumbs_up": "thumbs up"}.get(row.kind, row.kind),
        value,
        decided.ruling,
    )


def _read_answers(story: LabelledConversation) -> Iterator[DecisionLabel]:
    """What was said to a question about a call: by the user, or by a colleague."""
    for entry in story.record.messages:
        said = _SAID.get(entry.reason) if entry.kind == "intent" and entry.reason else None
        event = read_event(entry) if said else None
        ruling = story.find_intent_ruling(event.intent) if isinstance(event, IntentEvent) and event.intent else None
        if said is None or ruling is None:
            continue
        kind, by = said
        yield _about_call(story, ruling, kind, kind == "approve", by, entry.at, f"{by}: {kind}")


def _read_call_ends(story: LabelledConversation) -> Iterator[DecisionLabel]:
    """How calls ended. One whose outcome is unknown says nothing."""
    for one in story.record.executions:
        ruling = story.find_execution_ruling(one) if one.state in ("succeeded", "failed") else None
        if ruling is not None:
            right = one.state == "succeeded"
            yield _about_call(story, ruling, "outcome", right, "ledger", one.finished_at or one.started_at, one.state)


def _read_resolutions(story: LabelledConversation) -> Iterator[DecisionLabel]:
    """Whether escalations were needed, by what people did about them; what somebody said about it counts more."""
    judged = {row.turn: group_of(row.kind, row.by) for row in sorted(story.written, key=_not_a_user)}
    for one in story.handovers:
        if one.resolved_at is None or one.about_a_call:
            continue
        said = [
            message.content
            for message in story.record.messages
            if one.created_at <= epoch(message.at) <= one.resolved_at
            and isinstance(read_event(message), PersonReplyEvent)
        ]
        if one.reason is ReasonCode.WITH_A_PERSON:
            if not said:
                continue
            decided, right, why = story.read_decision(one.turn), False, "a person took over and answered"
        else:
            decided = story.read_decision(one.turn)
            if decided.decision != "escalate":
                decided = JournalDecision(one.turn, "escalate")
            right, why = _was_needed(said, one.suggestion)
        yield DecisionLabel(
            story.record.tenant,
            story.record.conversation,
            decided.turn,
            "outcome",
            right,
            decided.decision,
            decided.tool,
            decided.confidence,
            _split(story),
            "resolution",
            moment(one.resolved_at),
            why,
            ruling=decided.ruling,
            overruled=judged.get(one.turn),
        )


def _not_a_user(row: LabelRow) -> bool:
    return group_of(row.kind, row.by) != "users"


def _was_needed(said: Sequence[str], suggestion: str) -> tuple[bool, str]:
    if not said:
        return False, "resolved without a word"
    if suggestion and all(_plain(one) in _plain(suggestion) for one in said):
        return False, "answered as was suggested"
    return True, "a person answered"


def _about_call(
    story: LabelledConversation, ruling: Ruling, kind: LabelKind, right: bool, by: str, at: datetime, why: str
) -> DecisionLabel:
    return DecisionLabel(
        story.record.tenant,
        story.record.conversation,
        ruling.turn,
        kind,
        right,
        "act",
        ruling.call.tool,
        read_call_confidence(ruling),
        _split(story),
        by,
        at,
        why,
        ruling=ruling,
    )


def _split(story: LabelledConversation) -> LabelSplit:
    return split_of(story.record.tenant, story.record.conversation)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


# --- for calibration, and for people --------------------------------------------------------------------------------


def observations(found: Iterable[DecisionLabel]) -> list[Observation]:
    """One for each decision that stated a confidence: right if none of its labels objects."""
    decisions: dict[tuple[str, str, str, str], list[DecisionLabel]] = {}
    for one in found:
        if one.confidence is not None:
            decisions.setdefault((one.conversation, one.turn, one.tool, one.decision), []).append(one)
    return [
        Observation(some[0].confidence or 0.0, all(one.right for one in some), tool, decision, some[0].split == "held")
        for (_, _, tool, decision), some in decisions.items()
    ]


@dataclass(frozen=True)
class HandingOver:
    """Which escalations were not needed, and which answers a person should have given."""

    unnecessary: tuple[DecisionLabel, ...]
    missed: tuple[DecisionLabel, ...]
    escalations: int
    """Of which it is known."""
    answers: int


def handing_over(found: Iterable[DecisionLabel]) -> HandingOver:
    """One label for each turn: the first that objects."""
    escalated: dict[tuple[str, str], DecisionLabel] = {}
    answered: dict[tuple[str, str], DecisionLabel] = {}
    for one in found:
        turn = (one.conversation, one.turn)
        if one.decision == "escalate":
            escalated[turn] = min(escalated.get(turn, one), one, key=lambda label: label.right)
        elif one.decision in ("answer", "act"):
            spoken = one.kind in ("correct", "thumbs_down") or one.by == "resolution"
            there = answered.get(turn)
            if there is None or (spoken and not one.right):
                answered[turn] = one
    unnecessary = tuple(one for one in escalated.values() if not one.right)
    missed = tuple(
        one
        for one in answered.values()
        if not one.right and (one.kind in ("correct", "thumbs_down") or one.by == "resolution")
    )
    return HandingOver(unnecessary, missed, len(escalated), len(answered))
