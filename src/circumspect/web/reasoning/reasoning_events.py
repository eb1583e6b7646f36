"""What the journal keeps of reasoning about a page: one event for each step, and one for all of it."""

from __future__ import annotations

from dataclasses import dataclass

from circumspect.journal import Event, PromptEvent
from circumspect.web.reasoning.reasoned import (
    Completeness,
    ContextAnalysis,
    Effort,
    Hop,
    Missing,
    Reasoned,
    Switch,
)
from circumspect.web.reasoning.routing import Where


@dataclass(frozen=True, kw_only=True)
class ReasoningCallEvent(PromptEvent, kind="model", mark="role"):
    """One of the two models answered."""

    purpose: str
    role: str
    model: str
    seconds: float
    fallbacks: int
    degraded: bool


@dataclass(frozen=True, kw_only=True)
class ContextAnalysisEvent(Event, kind="understanding", mark="analysis"):
    analysis: ContextAnalysis


@dataclass(frozen=True, kw_only=True)
class HopEvent(Event, kind="understanding", mark="hop"):
    hop: Hop


@dataclass(frozen=True, kw_only=True)
class SwitchEvent(Event, kind="understanding", mark="switch"):
    switch: Switch


@dataclass(frozen=True, kw_only=True)
class CompletenessEvent(Event, kind="understanding", mark="completeness"):
    completeness: Completeness


@dataclass(frozen=True)
class EffortRecord:
    """What was asked of each of the two models."""

    smart: Effort
    fast: Effort


@dataclass(frozen=True, kw_only=True)
class ReasonedEvent(Event, kind="understanding", mark="reasoned"):
    """All four steps, for debug views and metrics."""

    reasoned: bool = True
    source: Where
    confidence: float
    ends: str | None
    question: str
    thought: str
    missing: tuple[Missing, ...]
    analysis: ContextAnalysis
    hops: tuple[Hop, ...]
    switches: tuple[Switch, ...]
    completeness: Completeness | None
    findings: str
    summary: str
    searches: int
    saved: bool
    degraded: bool
    unverified: bool
    changes_something: bool
    models: EffortRecord


def describe_reasoned(told: str, made: Reasoned) -> ReasonedEvent:
    return ReasonedEvent(
        told,
        source=made.source,
        confidence=made.confidence,
        ends=made.ends,
        question=made.question,
        thought=made.thought,
        missing=made.missing,
        analysis=made.analysis,
        hops=made.hops,
        switches=made.switches,
        completeness=made.completeness,
        findings=made.findings,
        summary=made.summary,
        searches=len(made.hops),
        saved=not made.hops and made.ends is None,
        degraded=made.degraded,
        unverified=made.unverified,
        changes_something=made.changes_something,
        models=EffortRecord(made.smart, made.fast),
    )
