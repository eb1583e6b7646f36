"""What the journal keeps of understanding a message and of looking things up: events, and the records inside them.

A record is what was shown and stored at the time, rounded as it was: a value that is computed is not computed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from circumspect.journal import Event
from circumspect.policy.understanding.analysis import Analysis, AnalysisAction


@dataclass(frozen=True, kw_only=True)
class ScreeningEvent(Event, kind="understanding", mark="flagged"):
    """What the guardian found."""

    categories: tuple[str, ...]
    flagged: bool
    scores: Mapping[str, float]
    source: str


@dataclass(frozen=True, kw_only=True)
class AnalysisMessageEvent(Event, kind="understanding", mark="synthetic"):
    """The analysis as the model finds it in its context. Nobody said it."""

    synthetic: bool = True
    to: str = "model"


@dataclass(frozen=True)
class DecisionRecord:
    decision: str
    confidence: float
    why: str
    tools: tuple[str, ...]
    retrieve: bool
    question: str


@dataclass(frozen=True)
class TopicRecord:
    name: str
    stance: str


@dataclass(frozen=True, kw_only=True)
class UnderstoodEvent(Event, kind="understanding", mark="action"):
    """What was made of a message."""

    action: AnalysisAction
    overridden: bool
    analysis: Analysis | None
    decision: DecisionRecord | None
    categories: tuple[str, ...]
    topics: tuple[TopicRecord, ...]
    ends: str | None


@dataclass(frozen=True)
class ConflictSideRecord:
    document: str
    section: str
    span: tuple[int, ...]
    quote: str
    value: str


@dataclass(frozen=True, kw_only=True)
class ConflictEvent(Event, kind="understanding", mark="conflict"):
    """Two sources contradict each other."""

    conflict: str
    subject: str
    sides: tuple[ConflictSideRecord, ...]


@dataclass(frozen=True)
class FactorRecord:
    name: str
    value: float
    weight: float
    contribution: float
    why: str


@dataclass(frozen=True)
class ConfidenceRecord:
    value: float
    conflict: bool
    penalty: float
    factors: tuple[FactorRecord, ...]


@dataclass(frozen=True)
class SourceRecord:
    number: int
    document: str
    title: str
    section: str
    page: int | None
    span: tuple[int, ...]
    score: float


@dataclass(frozen=True, kw_only=True)
class RetrievalEvent(Event, kind="understanding", mark="queries"):
    """What was looked up, and how sure that makes us."""

    searches: int
    saved: bool
    queries: tuple[str, ...]
    sources: tuple[SourceRecord, ...]
    confidence: ConfidenceRecord | None
    verdict: str
