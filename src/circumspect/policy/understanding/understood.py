"""The words of understanding: how it is configured, what came of it, what was found. Frozen values, in flow order.

`Understanding` is a tenant's choice; `Understood` is what the step `understand` makes of a message; `Found` is what the
step `retrieve` adds to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from circumspect.hashing import stable_share
from circumspect.policy.understanding.analysis import Analysis, Routed, Routing
from circumspect.policy.understanding.confidence import Bands, Confidence
from circumspect.policy.understanding.customer import CustomerLookup
from circumspect.policy.understanding.decision import NextStepDecision
from circumspect.policy.understanding.journal_events import SourceRecord, TopicRecord, UnderstoodEvent
from circumspect.policy.understanding.topics import ExtraTopic, SensitiveTopic
from circumspect.reasons import ReasonCode
from circumspect.values import AnswerSource, Block, ChatMessage, ConversationId, Screened, TenantId


@dataclass(frozen=True, slots=True)
class Understanding:
    """How messages are understood. The defaults are the profile `guided`; `decide` makes it `service`."""

    decide: bool = False
    """Choose one of five ways, compute a confidence, search only where decided, hand sensitive demands over."""
    routing: Routing = field(default_factory=Routing)
    bands: Bands = field(default_factory=Bands)
    fail_closed: bool = True
    """When the guardian cannot be had: hand over. False: go on, and write it down."""
    synthetic_share: float = 1.0
    """Share of conversations (0 to 1) for which `synthetic` holds, sticky by conversation: the two can be compared."""
    synthetic: bool = True
    """The model finds the analysis in its context as its own words. False: as the result of a tool."""
    shown: bool = True
    """The user reads how they were understood also when the turn goes on."""
    topics: tuple[ExtraTopic, ...] = ()
    authority: Mapping[str, float] = field(default_factory=dict)
    """Documents, by name or pattern, that count for less than the others (0 to 1)."""
    least_source: float = 0.15
    """Source quality (0 to 1) below which what was found is about something else: nobody answers from that."""
    history: int = 5
    passages: int = 5
    customer: CustomerLookup | None = None
    """Where the person of a conversation is looked up before a decision; None leaves that out."""

    def for_conversation(self, tenant: TenantId, conversation: ConversationId) -> Understanding:
        """The same with the arm that the conversation drew of `synthetic_share`."""
        if self.synthetic_share >= 1.0:
            return self
        drawn = stable_share(tenant, conversation, "synthetic") < self.synthetic_share
        return replace(self, synthetic=self.synthetic and drawn)


GUIDED = Understanding()
SERVICE = Understanding(decide=True)


@dataclass(frozen=True, slots=True)
class Understood:
    """What was made of a message. Nothing has happened yet."""

    screened: Screened
    routed: Routed
    analysis: Analysis | None = None
    """None where code could tell by itself, or where the model's could not be read."""
    decision: NextStepDecision | None = None
    """None where nobody was asked to decide: the profile `guided`."""
    categories: tuple[str, ...] = ()
    topics: tuple[SensitiveTopic, ...] = ()
    known: Mapping[str, str] = field(default_factory=dict)
    """Facts about the person whose conversation this is, where a decision was made with them."""
    reason: ReasonCode | None = None
    """Why the turn ends here, where it does."""
    response: str = ""
    """The words for the user: all of the reply where the turn ends here, what comes before it where it goes on."""
    context: tuple[ChatMessage, ...] = ()
    """What the model finds in its context after the user's message. Synthetic: nobody said it."""

    @property
    def ends(self) -> Literal["blocked", "asked", "escalated"] | None:
        """How the turn ends, where no further model call is to be made."""
        if self.routed.action in ("block", "guardian_block"):
            return "blocked"
        if self.decision and self.decision.way == "ESCALATE":
            return "escalated"
        return "asked" if self.routed.action == "clarify" else None

    @property
    def is_looked_up(self) -> bool:
        """The answer is to come from documents and from nowhere else."""
        return self.decision is not None and self.decision.way == "RETRIEVE"

    @property
    def queries(self) -> tuple[str, ...]:
        """What to search for; empty where nothing is to be searched for. The user's own words come first: what a model
        makes of them may lead elsewhere."""
        if self.ends or (self.decision is not None and not self.decision.retrieve):
            return ()
        own = self.decision.query if self.decision else ""
        theirs = self.analysis.subqueries if self.analysis and not (self.decision and self.decision.own_words) else ()
        return tuple(dict.fromkeys(filter(None, (own, *theirs))))

    def to_event(self, told: str) -> UnderstoodEvent:
        """For the journal: `told` is what a person reads of it."""
        return UnderstoodEvent(
            told,
            action=self.routed.action,
            overridden=self.routed.overridden,
            analysis=self.analysis,
            decision=self.decision.to_record() if self.decision else None,
            categories=self.categories,
            topics=tuple(TopicRecord(one.name, one.stance) for one in self.topics),
            ends=self.ends,
        )


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """A passage that was found, under the number it is cited by."""

    number: int
    document: str
    title: str
    section: str
    path: tuple[str, ...]
    page: int | None
    span: tuple[int, int]
    text: str
    score: float

    def to_source(self) -> AnswerSource:
        return AnswerSource(
            self.number, self.document, self.title, self.section, self.page, self.text, round(self.score, 4)
        )

    def to_record(self) -> SourceRecord:
        return SourceRecord(
            self.number, self.document, self.title, self.section, self.page, self.span, round(self.score, 4)
        )


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """What was looked up, how sure that makes us, and whether the turn may go on."""

    verdict: Literal["answer", "clarify", "escalate"]
    confidence: Confidence | None = None
    """None in the profile `guided`, which computes none."""
    sources: tuple[CitedPassage, ...] = ()
    blocks: tuple[Block, ...] = ()
    queries: tuple[str, ...] = ()
    """What was searched for."""
    searches: int = 0
    saved: bool = False
    """Nothing was searched, because nothing had to be."""
    reason: ReasonCode | None = None
    question: str = ""
    """For the user, where the verdict is `clarify`."""
    summary: str = ""
    """For a colleague, where the verdict is `escalate`."""
    suggestion: str = ""
    """An answer for a colleague to look at, should one have to give it."""
