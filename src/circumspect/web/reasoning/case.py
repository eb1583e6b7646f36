"""A case: one turn's reasoning as far as it has come, and whom it may ask."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from circumspect.journal import Event, Journal, NoticeEvent
from circumspect.reasons import ReasonCode
from circumspect.values import ModelReply, ModelRequest, Screened
from circumspect.web.reasoning.model_requests import ReasoningContext
from circumspect.web.reasoning.reasoned import Effort, Hop, Reasoning, Switch
from circumspect.web.reasoning.reasoning_events import SwitchEvent
from circumspect.web.reasoning.routing import Where
from circumspect.web.search.results import Hits, WebResult

MOST_SEARCHES = 3


class ReasoningReply(Protocol):
    """A reply, and how far down the list of models it was found."""

    @property
    def reply(self) -> ModelReply: ...
    @property
    def degraded(self) -> bool: ...
    @property
    def fallbacks(self) -> int: ...


class Models(Protocol):
    """A smart model to think with and a fast one for the rest. Both raise `ModelError` when nobody can answer."""

    async def think(self, request: ModelRequest) -> ReasoningReply: ...
    async def do(self, request: ModelRequest) -> ReasoningReply: ...


class SiteSearch(Protocol):
    """A search that begins with the page's own site. Raises from `circumspect.errors` and nothing else."""

    @property
    def remote(self) -> bool:
        """Whether a query leaves the house."""
        ...

    async def find(self, query: str, page_url: str = "", allow_widening: bool = True) -> Hits: ...

    def remember(self, hits: Hits, confidence: float) -> None:
        """How sure the judgement was that these results answer."""
        ...


@dataclass
class ReasoningCase:
    screened: Screened
    about: ReasoningContext
    settings: Reasoning
    notes: Journal
    models: Models
    search: SiteSearch | None
    hops: list[Hop] = field(default_factory=list)
    asked: set[tuple[str, ...]] = field(default_factory=set)
    results: dict[str, WebResult] = field(default_factory=dict)
    switches: list[Switch] = field(default_factory=list)
    reasons: dict[ReasonCode, None] = field(default_factory=dict)
    degraded: bool = False
    withheld: bool = False
    """There was something to search for, and no word of it that may leave the house."""
    smart: Effort = field(default_factory=Effort)
    fast: Effort = field(default_factory=Effort)

    @property
    def text(self) -> str:
        return self.screened.incoming.text

    @property
    def user_words(self) -> str:
        """What the user said, as one text."""
        return "\n".join(one.text for one in self.about.said if one.role == "user")

    @property
    def most(self) -> int:
        return max(0, min(self.settings.searches, MOST_SEARCHES))

    def write(self, event: Event, *reasons: ReasonCode) -> None:
        self.reasons |= dict.fromkeys(reasons)
        self.notes.write(event, *reasons)

    def write_failure(self, content: str, reason: ReasonCode) -> None:
        self.reasons[reason] = None
        self.notes.write(NoticeEvent(content), reason)

    def switch(self, before: Where, after: Where, confidence: float, reason: ReasonCode) -> None:
        made = Switch(before, after, confidence, reason)
        self.switches.append(made)
        self.write(SwitchEvent(f"{before} → {after}", switch=made), reason)
