"""Overrides: stored conversations -> fixtures, one for every call that a person said something about.

The conversation up to the proposal is written in the transcript format of the audit, with what was decided beside it.
What a person turned down, edited or corrected has to be held; what one approved must not be denied. A word about a turn
that proposed no call is no fixture: there is nothing for rules to rule on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from circumspect.journal import ClientOutcomeEvent, ExecutionEvent, read_event
from circumspect.lab.learning.fixtures import file_name
from circumspect.lab.learning.outcome_stories import LabelledConversation
from circumspect.lab.learning.outcomes import DecisionLabel, labels_of
from circumspect.lab.replay.past_calls import Record
from circumspect.lab.replay.recorded_turns import Ruling
from circumspect.stores.labels import LabelKind
from circumspect.values import Execution, ToolSpec
from circumspect.wording import compact

OVERRIDES: tuple[LabelKind, ...] = ("approve", "edit", "deny", "correct", "thumbs_up", "thumbs_down")
_WORDS: Mapping[LabelKind, str] = {
    "approve": "approved by",
    "edit": "edited by",
    "deny": "turned down by",
    "correct": "corrected by",
    "thumbs_up": "thumbs up from",
    "thumbs_down": "thumbs down from",
}
POSSIBLE = ("allow", "ask", "escalate")
POLICY, TOOLS = "policy.yaml", "tools.json"


@dataclass(frozen=True)
class Written:
    """A fixture as it goes into a file."""

    file: str
    value: Mapping[str, Any]


@dataclass
class Counted:
    """What was found on the way."""

    overrides: int = 0
    about_words: int = 0
    """About a turn that proposed no call."""


def fixtures_of(story: LabelledConversation, counted: Counted, since: datetime | None = None) -> Iterator[Written]:
    """Those of one conversation. Several words on one call make one fixture, in which an objection has the say."""
    by_call: dict[int, list[DecisionLabel]] = {}
    rulings: dict[int, Ruling] = {}
    for label in labels_of(story):
        if label.kind not in OVERRIDES or (since is not None and label.at < since):
            continue
        counted.overrides += 1
        if label.ruling is None:
            counted.about_words += 1
            continue
        by_call.setdefault(label.ruling.seq, []).append(label)
        rulings[label.ruling.seq] = label.ruling
    for seq, labels in by_call.items():
        yield _fixture(story.record, rulings[seq], labels)


def _fixture(record: Record, ruling: Ruling, labels: Sequence[DecisionLabel]) -> Written:
    objection = next((one for one in labels if not one.right), None)
    spoke = objection or labels[0]
    at = ruling.moment.now if ruling.moment else ruling.at
    value: dict[str, Any] = {
        "name": f"{ruling.call.tool}: {_WORDS[spoke.kind]} {_who(spoke.by)}",
        "held": spoke.split == "held",
        "policy": POLICY,
        "tools": TOOLS,
        "tenant": str(ruling.tenant),
        "at": at.isoformat(),
        "messages": messages_until(record, ruling.seq),
        "proposal": {"tool": ruling.call.tool, "arguments": dict(ruling.call.arguments)},
        "expect": "hold" if objection else list(POSSIBLE),
        "decided": {
            "kinds": sorted({one.kind for one in labels}),
            "at": spoke.at.isoformat(),
            "conversation": record.conversation,
            "turn": ruling.turn,
            "verdict_then": ruling.then.kind,
            "policy_then": ruling.policy_version,
        },
    }
    return Written(file_name(ruling.turn, str(ruling.seq), ruling.call.tool), value)


def _who(by: str) -> str:
    """No names: fixtures are copied around."""
    return "a colleague" if by == "colleague" else "the user" if by == "user" or by[:4] == "key:" else "an operator"


def messages_until(record: Record, seq: int) -> list[dict[str, Any]]:
    """What was said and done before that entry of the journal, as chat messages."""
    by_id = {str(one.id): one for one in record.executions}
    events = [read_event(message) for message in record.messages]
    noted = {event.execution for event in events if isinstance(event, ExecutionEvent | ClientOutcomeEvent)}
    # Calls of before the conversation came to us have no entry of their own.
    imported = [one for one in record.executions if str(one.id) not in noted]
    found: list[dict[str, Any]] = []
    for message, event in zip(record.messages, events, strict=True):
        if message.seq >= seq:
            break
        while imported and imported[0].started_at < message.at:
            found += _ran(imported.pop(0))
        if message.role != "internal":
            if message.content:
                found.append({"role": message.role, "content": message.content})
        elif isinstance(event, ExecutionEvent) and (ran := by_id.get(event.execution)):
            found += _ran(ran)
    return found


def _ran(one: Execution) -> list[dict[str, Any]]:
    if one.state not in ("succeeded", "failed"):
        return []
    call = {"name": one.call.tool, "arguments": compact(one.call.arguments)}
    result = one.result if isinstance(one.result, str) else compact(one.result)
    told = result if one.state == "succeeded" else f"Error: {one.error}"
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": one.id, "type": "function", "function": call}]},
        {"role": "tool", "tool_call_id": one.id, "content": told},
    ]


def definitions(specs: Iterable[ToolSpec]) -> list[dict[str, Any]]:
    """Tools as they are given to agents, with what they declare of their effect as annotations."""
    return [
        {
            "type": "function",
            "function": {"name": one.name, "description": one.description, "parameters": one.parameters},
            "annotations": _annotations(one),
        }
        for one in specs
    ]


def _annotations(spec: ToolSpec) -> dict[str, bool]:
    found = {"openWorldHint": True} if spec.open_world else {}
    match spec.effect:
        case "read":
            return found | {"readOnlyHint": True}
        case "write":
            return found | {"readOnlyHint": False}
        case "destructive":
            return found | {"readOnlyHint": False, "destructiveHint": True}
    return found
