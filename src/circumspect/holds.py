"""Holds: the journal of a turn in, the state-changing calls that were held out, each with what became of it.

Held is not the same as prevented: most calls that are held are asked about, answered with yes, and run. Only a call
that somebody refused, that a rule denied, or that came back with other values is said to have been prevented.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from circumspect.journal import (
    AssessmentEvent,
    CritiqueEvent,
    DraftEvent,
    Event,
    ExecutionEvent,
    IntentEvent,
    RemarkEvent,
    RulingEvent,
    read_event,
)
from circumspect.reasons import ReasonCode
from circumspect.values import SEVERITY, JournalEntry, Message, ToolCall, VerdictKind

HoldFate = Literal["done", "refused", "denied", "corrected", "waiting"]
"""It ran later with the values that were held; the user or a colleague said no to it; a rule denied it; the model, the
user or a colleague put other values in the place of its own; or none of these so far."""
FATES: tuple[HoldFate, ...] = ("done", "refused", "denied", "corrected", "waiting")
PREVENTED: tuple[HoldFate, ...] = ("refused", "denied", "corrected")
"""What would have been wrong."""

HoldAnswerKind = Literal["refused", "corrected", "withdrawn"]
_READ = frozenset(("model", "assessment", "policy", "critique", "tool", "intent"))
_TELLING = frozenset(("policy", "intent"))
"""A turn without a ruling and without an answer to a question held, proposed and answered nothing."""
_REFUSED = (ReasonCode.DENIED_BY_USER, ReasonCode.DENIED_BY_COLLEAGUE)
_SETTLED: Mapping[str, HoldAnswerKind] = {"correct": "corrected", "edit": "corrected", "withdraw": "withdrawn"}
"""What the journal calls it when a question is settled otherwise than by a yes or a no."""


@dataclass
class Hold:
    """A call that changes something and was not let through."""

    seq: int
    """Of the ruling, counted from where the entries begin."""
    call: ToolCall
    verdict: VerdictKind
    rule: str
    reason: ReasonCode
    policy: str
    fate: HoldFate = "waiting"
    draft: int = 0
    """Which of the turn's drafts proposed it; none of this turn's where it is 0."""

    @property
    def is_settled(self) -> bool:
        """Nothing that happens later changes it."""
        return self.fate in ("done", "refused", "corrected")

    def is_part_of(self, call: ToolCall) -> bool:
        """All that it says is said there as well."""
        given = {name: value for name, value in self.call.arguments.items() if value not in (None, "", [], {})}
        return self.call.tool == call.tool and all(call.arguments.get(name) == value for name, value in given.items())

    def is_replaced_by(self, call: ToolCall) -> bool:
        return self.call.tool == call.tool and not self.is_part_of(call)


@dataclass(frozen=True)
class HoldAnswer:
    """What a turn did with a question that waited, other than to run what was asked about."""

    intent: str
    kind: HoldAnswerKind


@dataclass(frozen=True)
class TurnHolds:
    """What a turn held; which state-changing calls it proposed, and which questions it answered."""

    held: tuple[Hold, ...]
    proposed: tuple[ToolCall, ...]
    answers: tuple[HoldAnswer, ...]

    def follow(self, earlier: Hold, answer: HoldAnswerKind | None) -> None:
        """What this turn did to a call that an earlier one held; `answer` is to the question about that call."""
        if earlier.is_settled:
            return
        replaced = any(earlier.is_replaced_by(call) for call in self.proposed)
        if answer == "refused":
            earlier.fate = "refused"
        elif answer == "corrected" or (replaced and (answer == "withdrawn" or earlier.verdict in ("ask", "escalate"))):
            earlier.fate = "corrected"


def read_holds(entries: Sequence[JournalEntry | Message]) -> TurnHolds:
    """The same call is held once, however often a turn proposes it, and so is one that only leaves values out."""
    if _TELLING.isdisjoint([entry.kind for entry in entries]):
        return TurnHolds((), (), ())
    held: dict[str, Hold] = {}
    proposed: dict[str, ToolCall] = {}
    answers: list[HoldAnswer] = []
    drafts, let_through = 1, None
    for seq, entry in enumerate(entries):
        if entry.kind not in _READ:
            continue
        event, reason = read_event(entry), entry.reason
        match event:
            case DraftEvent() | AssessmentEvent():
                drafts += 1
            case RulingEvent(effect=effect) if effect != "read" and reason is not ReasonCode.TOOL_NOT_FOUND:
                call = ToolCall(event.tool, event.arguments)
                proposed[call.hash] = call
                _correct(held.values(), call, drafts)
                let_through = (seq, event, call) if event.verdict == "allow" else None
                if event.verdict != "allow" and reason is not None:
                    found = Hold(seq, call, event.verdict, _find_rule(event), reason, event.policy, draft=drafts)
                    if not any(found.is_part_of(one.call) for one in held.values()):
                        held[call.hash] = found
            case CritiqueEvent() | RemarkEvent(about="critique") if let_through and reason is not None:
                at, ruling, call = let_through
                rule, verdict = read_opinion(event)
                held.setdefault(call.hash, Hold(at, call, verdict, rule, reason, ruling.policy, draft=drafts))
            case ExecutionEvent():
                ran = ToolCall(event.tool, event.arguments)
                for one in held.values():
                    if one.is_part_of(ran):
                        one.fate = "done"
            case IntentEvent(intent=str(intent), content=content):
                if settled := "refused" if reason in _REFUSED else _SETTLED.get(content):
                    answers.append(HoldAnswer(intent, settled))
    for one in held.values():
        if one.verdict == "deny" and one.fate == "waiting":
            one.fate = "denied"
    return TurnHolds(tuple(held.values()), tuple(proposed.values()), tuple(answers))


def _correct(held: Iterable[Hold], call: ToolCall, draft: int) -> None:
    """Two calls of one draft are two wishes; the same tool with other values in a later draft is a correction."""
    for one in held:
        if not one.is_settled and one.draft < draft and one.is_replaced_by(call):
            one.fate = "corrected"


def _find_rule(ruling: RulingEvent) -> str:
    """Whoever had the last word."""
    return max(ruling.findings, key=lambda one: SEVERITY[one.verdict]).rule if ruling.findings else ""


def read_opinion(event: Event) -> tuple[str, VerdictKind]:
    if isinstance(event, CritiqueEvent):
        return "a_second_opinion_agrees", "confirm" if event.decision == "ASK_USER" else "escalate"
    return "a_second_opinion_was_had", "escalate"
