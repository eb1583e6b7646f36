"""What an audit says: a call and what would have become of it, a claim that nothing backs, something unreadable.

Each is one line of JSON. Only rulings carry a verdict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from circumspect.audit.transcript_files import TranscriptProblem
from circumspect.policy.grounding.tracing import Traced
from circumspect.policy.grounding.untrue import UntrueSentence
from circumspect.policy.who_acts import PlainVerdict
from circumspect.reasons import ReasonCode
from circumspect.values import Json, JsonObject, RuleFinding


@dataclass(frozen=True, slots=True)
class AuditedCall:
    """One proposed call and what would have become of it."""

    id: str
    index: int
    """Of the message that proposed it."""
    call: int
    """Its position in that message."""
    tool: str
    verdict: PlainVerdict
    findings: tuple[RuleFinding, ...]
    grounding: tuple[Traced, ...]
    arguments: JsonObject
    effect: str
    path: str
    line: int
    question: str = ""
    answer: str = ""
    """The last exchange before the call, in words: what a reader needs to judge the verdict."""
    label: Any = None
    unchecked: tuple[str, ...] = ()
    """On the first call of a conversation without tool definitions: what was not held against them, or was guessed."""

    @property
    def reason_codes(self) -> tuple[ReasonCode, ...]:
        return tuple(dict.fromkeys(finding.reason for finding in self.findings if finding.reason))

    @property
    def rules(self) -> tuple[str, ...]:
        return tuple(finding.rule for finding in self.findings)

    def to_json(self) -> dict[str, Json]:
        return {
            "id": self.id,
            "index": self.index,
            "call": self.call,
            "tool": self.tool,
            "verdict": self.verdict,
            "reason_codes": [str(code) for code in self.reason_codes],
            "rules": list(self.rules),
            "grounding": {
                one.argument: {"from": one.origin, "message": one.index, **({"field": one.field} if one.field else {})}
                for one in self.grounding
            },
            **({"unchecked": list(self.unchecked)} if self.unchecked else {}),
        }


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A reply that claims something no call did."""

    id: str
    index: int
    claim: UntrueSentence
    path: str
    line: int

    def to_json(self) -> dict[str, Json]:
        return {
            "id": self.id,
            "index": self.index,
            "claim": self.claim.sentence,
            "because": self.claim.reason,
            "reason_codes": [str(ReasonCode.UNSUPPORTED_CLAIM)],
        }


AuditRow = AuditedCall | Unsupported | TranscriptProblem


def line_of(row: AuditRow) -> bytes:
    """A row as one line of JSON. Only rulings carry a verdict."""
    return orjson.dumps(row.to_json(), default=str, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)
