"""The words of reasoning: where the information is, what was searched for, what is missing, and how the turn goes on.

Frozen values in flow order. `policy.reasoning.forms` reads them from what a model filled in; `steps.reason` makes a
`Reasoned` of them. Every text is the model's, on one line and within its limit; every number is 0 to 1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, get_args

from circumspect.language.pack import join_words, packs
from circumspect.reasons import ReasonCode
from circumspect.values import Json
from circumspect.web.reasoning.routing import Where

Quality = Literal["high", "medium", "low"]
QUALITIES: tuple[Quality, ...] = get_args(Quality)
MissingType = Literal["EXTERNAL_KNOWLEDGE", "PRIVATE_DATA"]
MISSING_TYPES: tuple[MissingType, ...] = get_args(MissingType)


@cache
def _private() -> re.Pattern[str]:
    return re.compile(rf"(?:^|[_\W]){join_words(one.pages.private for one in packs())}$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reasoning:
    """How requests are reasoned about. A tenant's choice; the defaults are those of the profile `browser`."""

    searches: int = 3
    """At most, in one turn. More than 3 is never made."""
    solved: float = 0.6
    """Results that are called a solution with less confidence than this are none."""
    complete: float = 0.6
    """"Can proceed" with less confidence than this becomes a question."""
    widening: bool = True
    """A search that finds too little on the page's own site may go beyond it."""
    history: int = 10
    """How many earlier messages the model sees."""


@dataclass(frozen=True, slots=True)
class ReasoningEvidence:
    """What a judgement rests on."""

    sources: tuple[str, ...] = ()
    quality: Quality = "low"
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Missing:
    """A piece of information that is needed and not there."""

    field: str
    type: MissingType = "PRIVATE_DATA"
    description: str = ""

    @property
    def is_private(self) -> bool:
        """Only the user can know it. Code knows some by their name, whatever the model called them."""
        return self.type == "PRIVATE_DATA" or _private().search(self.field.replace("_", " ").strip()) is not None

    def to_json(self) -> dict[str, Json]:
        kind: MissingType = "PRIVATE_DATA" if self.is_private else "EXTERNAL_KNOWLEDGE"
        return {"field": self.field, "type": kind, "description": self.description}


@dataclass(frozen=True, slots=True)
class KnownValue:
    """A value that the model says it has found."""

    field: str
    value: str


@dataclass(frozen=True, slots=True)
class ContextAnalysis:
    """Step 1: where the information is, as the model sees it."""

    source: Where
    confidence: float
    missing: tuple[Missing, ...] = ()
    known: tuple[KnownValue, ...] = ()
    search_query: str = ""
    user_question: str = ""
    reasoning: str = ""
    evidence: ReasoningEvidence = field(default_factory=ReasoningEvidence)
    changes_something: bool = True
    warnings: tuple[ReasonCode, ...] = ()

    @property
    def private(self) -> tuple[Missing, ...]:
        return tuple(one for one in self.missing if one.is_private)

    @property
    def external(self) -> tuple[Missing, ...]:
        return tuple(one for one in self.missing if not one.is_private)


@dataclass(frozen=True, slots=True)
class SearchJudgement:
    """Step 3: whether results answer, as the model sees it."""

    solved: bool
    confidence: float
    should_retry: bool = False
    refined_query: str = ""
    should_ask_user: bool = False
    reasoning: str = ""
    evidence: ReasoningEvidence = field(default_factory=ReasoningEvidence)
    warnings: tuple[ReasonCode, ...] = ()


@dataclass(frozen=True, slots=True)
class Completeness:
    """Step 4: whether everything is there to do what was asked, as the model sees it."""

    can_proceed: bool
    confidence: float
    missing_information: tuple[str, ...] = ()
    user_question: str = ""
    reasoning: str = ""
    evidence: ReasoningEvidence = field(default_factory=ReasoningEvidence)
    warnings: tuple[ReasonCode, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A search result, as the journal keeps it."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Hop:
    """One search of a turn, and what was made of it."""

    query: str
    """As it was sent."""
    domain: str = ""
    """The site it was limited to; empty where it was not."""
    widened: bool = False
    cached: bool = False
    failed: bool = False
    results: tuple[FoundPage, ...] = ()
    judgement: SearchJudgement | None = None
    """None where nobody could judge."""


@dataclass(frozen=True, slots=True)
class Switch:
    """The information is looked for elsewhere than before, by the word of code."""

    before: Where = field(metadata={"stored_as": "from"})
    after: Where = field(metadata={"stored_as": "to"})
    confidence: float
    reason: ReasonCode


@dataclass(frozen=True, slots=True)
class Effort:
    """What one kind of model was asked for in a turn."""

    calls: int = 0
    seconds: float = 0.0
    fallbacks: int = 0

    def to_json(self) -> dict[str, Json]:
        return {"calls": self.calls, "seconds": round(self.seconds, 4), "fallbacks": self.fallbacks}


@dataclass(frozen=True, slots=True)
class Reasoned:
    """All four steps. Either the turn ends here with a question, or it goes on with what was found."""

    analysis: ContextAnalysis
    source: Where
    """Where the information came from in the end."""
    confidence: float
    """Of what carried the decision: the last check that was made."""
    changes_something: bool
    hops: tuple[Hop, ...] = ()
    switches: tuple[Switch, ...] = ()
    completeness: Completeness | None = None
    ends: Literal["asked"] | None = None
    question: str = ""
    thought: str = ""
    missing: tuple[Missing, ...] = ()
    findings: str = ""
    """For the model's context: data, much of it by strangers."""
    summary: str = ""
    """Of what the searches found, in a sentence or two."""
    degraded: bool = False
    unverified: bool = False
    """Nobody could check whether everything is there: nothing may be changed on the strength of this."""
    reasons: tuple[ReasonCode, ...] = ()
    smart: Effort = field(default_factory=Effort)
    fast: Effort = field(default_factory=Effort)

    @property
    def has_searched(self) -> bool:
        return bool(self.hops)

    @property
    def context(self) -> dict[str, Json]:
        """What a client is told about how it came to this."""
        return {
            "search_performed": self.has_searched,
            "search_summary": self.summary,
            "reasoning": self.thought,
        }

    def to_response(self) -> dict[str, Json]:
        """What a client that has to ask its user is sent, besides `needs_user_input`."""
        return {
            "thought": self.thought,
            "user_question": self.question,
            "missing_information": [one.field for one in self.missing],
            "context": self.context,
        }


def merge_missing(missing: Sequence[Missing], names: Sequence[str]) -> tuple[Missing, ...]:
    """`names` as missing information, each with what is known about it; all of `missing` where no names are given."""
    by_name = {one.field: one for one in missing}
    return tuple(by_name.get(name, Missing(name)) for name in names) or tuple(missing)
