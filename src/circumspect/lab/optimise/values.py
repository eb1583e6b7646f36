"""The words of an optimisation: what a case should come to, what came of it, and what that is worth.

An `Outcome` is read from a result's JSON and not from the result, so that evaluations that were stored last month and
ones that come in now are measured by the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from circumspect.review.values import Criterion, CriterionStatus, ReviewCase
from circumspect.values import Json


@dataclass(frozen=True, slots=True)
class QuoteSpan:
    """A place in a document."""

    document: str
    start: int
    end: int
    quote: str = ""


@dataclass(frozen=True, slots=True)
class GoldLabel:
    """What a careful reader came to. Only `verdict` has to be there; what is not known is not measured."""

    verdict: CriterionStatus
    gold: tuple[QuoteSpan, ...] = ()
    """The sentences that decide, the deciding one first."""
    facts: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """Facts that would decide and that the case does not have."""
    why: str = ""
    trap: str = ""


@dataclass(frozen=True)
class Example:
    """One criterion of one case, with its label."""

    case: ReviewCase
    criterion: Criterion
    label: GoldLabel
    document: str | None = None

    @property
    def id(self) -> str:
        return f"{self.case.id}/{self.criterion.id}"


@dataclass(frozen=True, slots=True)
class ReviewOutcome:
    """What a review came to and how, as far as a metric needs it."""

    status: CriterionStatus
    confidence: float
    rationale: str
    quotes: tuple[QuoteSpan, ...] = ()
    """Quotes that stand in a document."""
    claimed: tuple[str, ...] = ()
    """Every quote that was claimed, each once, the ones that do not stand included."""
    fields: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    claimed_fields: tuple[str, ...] = ()
    proposed: tuple[CriterionStatus, ...] = ()
    """The verdicts that were proposed, in order; more than one where code sent one back."""
    shown: str = ""
    """What the tools had shown before the first verdict was proposed."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ReviewScore:
    """From 0 to 1, by part, and in words that a writer of instructions can act on."""

    total: float
    parts: Mapping[str, float] = field(default_factory=dict)
    feedback: str = ""


ReviewMetric = Callable[[Example, ReviewOutcome], "ReviewScore | float"]
"""Pure. What it raises counts as 0 with the reason; it never ends a run."""


def outcome_of(result: Mapping[str, Any]) -> ReviewOutcome:
    """Of a result's JSON with its trace: `Result.to_json(whole=True)`, or what the store has of one."""
    trace = result.get("trace") or ()
    finishes = [step.get("arguments") or {} for step in trace if _is(step, "action", "finish")]
    first = next((index for index, step in enumerate(trace) if _is(step, "action", "finish")), len(trace))
    shown = (step.get("text", "") for step in trace[:first] if step.get("kind") == "observation")
    return ReviewOutcome(
        status=result["status"],
        confidence=float(result["confidence"]),
        rationale=result.get("rationale") or "",
        quotes=tuple(QuoteSpan(one["document"], one["start"], one["end"], one["quote"]) for one in result["citations"]),
        claimed=_once(one["quote"] for call in finishes for one in _objects(call, "citations") if one.get("quote")),
        fields=tuple(one["field"] for one in result["evidence"]),
        values=tuple(_plain(one["value"]) for one in result["evidence"]),
        claimed_fields=_once(one["field"] for call in finishes for one in _objects(call, "evidence") if "field" in one),
        proposed=tuple(call["status"] for call in finishes if call.get("status")),
        shown="\n".join(shown),
        reason=result.get("reason_code") or "",
    )


def _is(step: Mapping[str, Any], kind: str, tool: str) -> bool:
    return step.get("kind") == kind and step.get("tool") == tool


def _objects(call: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Of arguments that may not fit the schema: what the model wrote, not what was let through."""
    given = call.get(name)
    return [one for one in given if isinstance(one, Mapping)] if isinstance(given, list | tuple) else []


def _once(values: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(value) for value in values))


def _plain(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
