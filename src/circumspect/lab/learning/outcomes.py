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

from circumspect.lab.learning.calibration import Observation
from circumspect.lab.learning.outcome_stories import Decided, Story, assessed, stories
from circumspect.lab.replay.recorded_turns import Ruling
from circumspect.reasons import ReasonCode
from circumspect.stores import labels as stored_labels
from circumspect.stores.codec import epoch, moment
from circumspect.stores.labels import Kind, LabelRow, Split, split_of
from circumspect.values import JsonObject, TenantId

_SAID: Mapping[ReasonCode, tuple[Kind, str]] = {
    ReasonCode.CONFIRMED_BY_USER: ("approve", "user"),
    ReasonCode.APPROVED_BY_COLLEAGUE: ("approve", "colleague"),
    ReasonCode.DENIED_BY_USER: ("deny", "user"),
    ReasonCode.DENIED_BY_COLLEAGUE: ("deny", "colleague"),
    ReasonCode.EDITED_BY_COLLEAGUE: ("edit", "colleague"),
}
Whose = Literal["colleagues", "everyone"]
"""Whose thumbs and corrections count."""
Group = Literal["outcomes", "colleagues", "users"]
_OPINIONS: tuple[Kind, ...] = ("thumbs_up", "thumbs_down", "correct")


def group_of(kind: Kind, by: str) -> Group:
    """Who says so: how it ended, a colleague, or whoever the agent spoke with."""
    if kind == "outcome":
        return "outcomes"
    return "users" if by == "user" or by.startswith("key:") else "colleagues"


@dataclass(frozen=True, slots=True)
class Label:
    """One word on one decision."""

    tenant: TenantId
    conversation: str
    turn: str
    """That made the decision."""
    kind: Kind
    right: bool
    decision: str
    tool: str
    """Empty where words were the decision."""
    confidence: float | None
    """As stated; None where none was."""
    split: Split
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
) -> list[Label]:
    """The labels of a tenant since then that count."""
    return heard(every(connection, tenant, since), whose)


def heard(found: Iterable[Label], whose: Whose) -> list[Label]:
    """Those that count. What does not count overrules nothing."""
    if whose == "everyone":
        return [one for one in found if one.overruled is None]
    return [one for one in found if one.overruled in (None, "users") and not (one.opinion and one.group == "users")]


def every(connection: sa.Connection, tenant: TenantId, since: datetime | None = None) -> Iterator[Label]:
    """All labels of a tenant since then: what was written, and what can be read off everything else."""
    for story in stories(connection, tenant, since):
        for label in labels_of(story):
            if since is None or label.at >= since:
                yield label
    for row in stored_labels.from_elsewhere(connection, tenant, None if since is None else epoch(since)):
        yield label_of(row)


# --- what is said about a conversation ------------------------------------------------------------------------------


def labels_of(story: Story) -> Iterator[Label]:
    """Everything there is to say about the decisions of one conversation, in the order of time."""
    found = [*_written(story), *_answers(story), *_ends(story), *_resolved(story)]
    yield from sorted(found, key=lambda one: one.at)


def _written(story: Story) -> Iterator[Label]:
    for row in story.written:
        decided = story.decided(row.turn or "")
        yield label_of(row, decided)


def label_of(row: LabelRow, decided: Decided | None = None) -> Label:
    """A label that was written down. What it does not say itself is taken from the turn's journal."""
    decided = decided or Decided(row.turn or "", "")
    value = row.value or {}
    right = bool(value.get("right")) if row.kind == "outcome" else row.kind in ("approve", "thumbs_up")
    return Label(
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


def _answers(story: Story) -> Iterator[Label]:
    """What was said to a question about a call: by the user, or by a colleague."""
    for entry in story.record.messages:
        said = _SAID.get(entry.reason) if entry.kind == "intent" and entry.reason else None
        ruling = story.proposed(str(entry.meta.get("intent"))) if said else None
        if said is None or ruling is None:
            continue
        kind, by = said
        yield _about_call(story, ruling, kind, kind == "approve", by, entry.at, f"{by}: {kind}")


def _ends(story: Story) -> Iterator[Label]:
    """How calls ended. One whose outcome is unknown says nothing."""
    for one in story.record.executions:
        ruling = story.of_execution(one) if one.state in ("succeeded", "failed") else None
        if ruling is not None:
            right = one.state == "succeeded"
            yield _about_call(story, ruling, "outcome", right, "ledger", one.finished_at or one.started_at, one.state)


def _resolved(story: Story) -> Iterator[Label]:
    """Whether escalations were needed, by what people did about them; what somebody said about it counts more."""
    judged = {row.turn: group_of(row.kind, row.by) for row in sorted(story.written, key=_not_a_user)}
    for one in story.handovers:
        if one.resolved_at is None or one.about_a_call:
            continue
        said = [
            message.content
            for message in story.record.messages
            if message.meta.get("by") == "person" and one.created_at <= epoch(message.at) <= one.resolved_at
        ]
        if one.reason is ReasonCode.WITH_A_PERSON:
            if not said:
                continue
            decided, right, why = story.decided(one.turn), False, "a person took over and answered"
        else:
            decided = story.decided(one.turn)
            if decided.decision != "escalate":
                decided = Decided(one.turn, "escalate")
            right, why = _was_needed(said, one.suggestion)
        yield Label(
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


def _about_call(story: Story, ruling: Ruling, kind: Kind, right: bool, by: str, at: datetime, why: str) -> Label:
    return Label(
        story.record.tenant,
        story.record.conversation,
        ruling.turn,
        kind,
        right,
        "act",
        ruling.call.tool,
        assessed(ruling),
        _split(story),
        by,
        at,
        why,
        ruling=ruling,
    )


def _split(story: Story) -> Split:
    return split_of(story.record.tenant, story.record.conversation)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


# --- for calibration, and for people --------------------------------------------------------------------------------


def observations(found: Iterable[Label]) -> list[Observation]:
    """One for each decision that stated a confidence: right if none of its labels objects."""
    decisions: dict[tuple[str, str, str, str], list[Label]] = {}
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

    unnecessary: tuple[Label, ...]
    missed: tuple[Label, ...]
    escalations: int
    """Of which it is known."""
    answers: int


def handing_over(found: Iterable[Label]) -> HandingOver:
    """One label for each turn: the first that objects."""
    escalated: dict[tuple[str, str], Label] = {}
    answered: dict[tuple[str, str], Label] = {}
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
