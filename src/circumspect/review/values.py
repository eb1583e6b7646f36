"""The words of a review, in the order in which they come to be: case, criterion, step, citation, evidence, result.

Frozen values. A case is flat: nested facts become fields with dotted names (`trials.0.first_day`), so that a field is
always one plain value that can be compared with what somebody claims it to be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from circumspect.errors import ModelError
from circumspect.hashing import digest
from circumspect.reasons import ReasonCode
from circumspect.values import Json, ModelUsage

CriterionStatus = Literal["MET", "NOT_MET", "UNCERTAIN"]
STATUSES: tuple[CriterionStatus, ...] = ("MET", "NOT_MET", "UNCERTAIN")
ControllerName = Literal["react", "heuristic"]
StepKind = Literal["thought", "action", "observation", "notice"]

SHOWN = 500
"""A longer text is shortened where a trace is shown; the store has it whole."""


def read_spent(problem: ModelError, model: str) -> ModelUsage:
    """What a call that failed has cost; one of which nothing is known was made all the same."""
    return problem.usage or ModelUsage(model)


# --- what is reviewed -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
    """One fact of a case. `confidence` is that of whoever read it from `document`."""

    value: Json
    confidence: float = 1.0
    document: str | None = None
    page: int | None = None

    def to_json(self) -> dict[str, Json]:
        shown: dict[str, Json] = {"value": self.value}
        if self.confidence != 1.0:
            shown["confidence"] = self.confidence
        if self.document is not None:
            shown["document"] = self.document
        if self.page is not None:
            shown["page"] = self.page
        return shown


@dataclass(frozen=True)
class ReviewCase:
    id: str
    fields: Mapping[str, Field]
    policy: str | None = None
    title: str = ""
    notes: tuple[tuple[str, str], ...] = ()
    """Free texts of the case, by name: colour, never evidence by themselves."""

    def under(self, name: str) -> Mapping[str, Field]:
        """The field of that name, or every field below it."""
        if name in self.fields:
            return {name: self.fields[name]}
        return {key: value for key, value in self.fields.items() if key.startswith(f"{name}.")}

    @cached_property
    def hash(self) -> str:
        fields: dict[str, Json] = {name: field.to_json() for name, field in self.fields.items()}
        return digest([self.id, self.policy, self.title, fields, [list(note) for note in self.notes]])


@dataclass(frozen=True, slots=True)
class Criterion:
    id: str
    text: str
    policy: str | None = None
    hints: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    """Where in a case the answer usually lies. A case need not have them."""

    def to_json(self) -> dict[str, Json]:
        return {
            "id": self.id,
            "text": self.text,
            "policy": self.policy,
            "hints": list(self.hints),
            "facts": list(self.facts),
        }


# --- what is found --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Citation:
    """`quote` is the document's own text from `start` to `end`, to the character. Only `citations.py` makes one."""

    document: str
    path: tuple[str, ...]
    page: int | None
    quote: str
    start: int
    end: int

    def to_json(self) -> dict[str, Json]:
        return {
            "document": self.document,
            "path": list(self.path),
            "page": self.page,
            "quote": self.quote,
            "start": self.start,
            "end": self.end,
        }


@dataclass(frozen=True, slots=True)
class CaseEvidence:
    """A field of the case with the value that it really has."""

    field: str
    value: Json

    def to_json(self) -> dict[str, Json]:
        return {"field": self.field, "value": self.value}


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One line of a trace. `usage` is set on the thought that a model call brought."""

    kind: StepKind
    text: str
    tool: str = ""
    arguments: Mapping[str, Json] = field(default_factory=dict)
    call_id: str = ""
    reason: ReasonCode | None = None
    usage: ModelUsage | None = None

    def to_json(self, *, whole: bool = False) -> dict[str, Json]:
        shown: dict[str, Json] = {"kind": self.kind, "text": self.text if whole else shorten(self.text)}
        if self.tool:
            shown |= {"tool": self.tool, "call_id": self.call_id}
        if self.arguments:
            shown["arguments"] = self.arguments
        if self.reason:
            shown["reason_code"] = str(self.reason)
        if self.usage:
            shown |= {
                "model": self.usage.model,
                "input_tokens": self.usage.input_tokens,
                "output_tokens": self.usage.output_tokens,
                "seconds": round(self.usage.seconds, 3),
            }
        return shown


def shorten(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text) - SHOWN:,} more characters)"


# --- what comes of it -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CriterionResult:
    """A verdict on one criterion of one case. MET and NOT_MET carry at least one citation; the checks see to it."""

    case: str
    criterion: str
    status: CriterionStatus
    confidence: float
    rationale: str
    controller: ControllerName
    citations: tuple[Citation, ...] = ()
    evidence: tuple[CaseEvidence, ...] = ()
    reason_code: ReasonCode | None = None
    prompt_id: str = ""
    trace: tuple[TraceStep, ...] = ()
    calls: tuple[ModelUsage, ...] = ()
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        return sum(call.input_tokens + call.output_tokens for call in self.calls)

    @property
    def cost_usd(self) -> float:
        return sum(call.cost_usd for call in self.calls)

    def to_json(self, *, trace: bool = True, whole: bool = False) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "case": self.case,
            "criterion": self.criterion,
            "status": self.status,
            "confidence": round(self.confidence, 4),
            "rationale": self.rationale,
            "citations": [citation.to_json() for citation in self.citations],
            "evidence": [evidence.to_json() for evidence in self.evidence],
            "reason_code": str(self.reason_code) if self.reason_code else None,
            "controller": self.controller,
            "prompt_id": self.prompt_id,
            "usage": self.usage_json(),
        }
        if trace:
            shown["trace"] = [step.to_json(whole=whole) for step in self.trace]
        return shown

    def usage_json(self) -> dict[str, Json]:
        return {
            "model": self.calls[-1].model if self.calls else None,
            "model_calls": sum(call.attempts for call in self.calls),
            "input_tokens": sum(call.input_tokens for call in self.calls),
            "output_tokens": sum(call.output_tokens for call in self.calls),
            "cost_usd": round(self.cost_usd, 8),
            "estimated": any(call.estimated for call in self.calls),
            "seconds": round(self.seconds, 4),
        }


def flatten(value: Json, name: str = "") -> Mapping[str, Json]:
    """Nested facts by dotted name. An empty list or object stays a value: that there is none is a fact too."""
    items: Sequence[tuple[str, Json]]
    if isinstance(value, Mapping) and value:
        items = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, Sequence) and not isinstance(value, str) and any(_is_nested(item) for item in value):
        items = [(str(index), item) for index, item in enumerate(value)]
    else:
        return {name: value} if name else {}
    found: dict[str, Json] = {}
    for key, item in items:
        found |= flatten(item, f"{name}.{key}" if name else key)
    return found


def _is_nested(value: Json) -> bool:
    return isinstance(value, Mapping | Sequence) and not isinstance(value, str)
