"""The tenant file's `understanding` section: how messages are understood before anything is drafted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from circumspect.guardian.port import HarmCategory
from circumspect.policy.keys.meaning import FileSection

NOBODY = "none"
_GAPS = 2
"""`...` stands for up to five ways each, and they multiply."""

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
ToolWord = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


def _find_word(phrase: str) -> str:
    """A phrase that could be found anywhere would make every message one of its topic."""
    needed = [word for word in phrase.split() if not word.endswith("?")]
    if not any(re.search(r"\w", word) for word in needed):
        raise ValueError("this phrase has no word that must be there")
    if any(not re.search(r"\w", way) for word in needed if word != "..." for way in word.split("/")):
        raise ValueError("an alternative of this phrase is empty")
    if "@" in phrase:
        raise ValueError("a list cannot be named here; write its words")
    if needed.count("...") > _GAPS:
        raise ValueError(f"'...' may stand in a phrase {_GAPS} times")
    return phrase


TopicPhrase = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_find_word)]


class TopicSection(FileSection):
    """A sensitive topic of the tenant's own. A message that demands it is for a person; one that asks is answered."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,40}$")]
    """What it is called, in small letters; the journal and the console name it."""
    phrases: Annotated[tuple[TopicPhrase, ...], Field(min_length=1, max_length=200)]
    """Words of the topic, in any language: `*` is the rest of a word, `a/b` either, `...` up to four words between."""
    demands: Annotated[tuple[TopicPhrase, ...], Field(max_length=200)] = ()
    """Phrases that are a demand by themselves; without any, "I want" and its kin beside the words of the topic are."""


class CustomerSection(FileSection):
    """Where the person of a conversation is looked up before a decision."""

    tool: ToolWord = "find_lead"
    """A tool that only reads."""
    parameter: ToolWord = "email"
    """Takes the conversation's `person`."""
    at: Annotated[str, Field(max_length=200)] = "lead"
    """Where in the result the person stands, by keys with dots between; empty for the result itself."""
    fields: Annotated[tuple[ToolWord, ...], Field(min_length=1, max_length=20)] = ("name", "company", "status")
    """What becomes known. The agent may say it to that person."""


class UnderstandingSection(FileSection):
    """How messages are understood before anything is drafted."""

    profile: Literal["guided", "service"]
    """guided: safety check and analysis of the request. service: also decides one of five ways, searches only where
    decided, computes how sure it is, and hands sensitive demands to a person."""
    guardian: Annotated[str, Field(max_length=1_000)] = "rules"
    """Who makes the safety check: rules, llama-guard:MODEL@URL, moderation:MODEL, several joined by ` + `, or none."""
    ignore: tuple[HarmCategory, ...] = ()
    """Kinds of harm that the safety check reports and does not stop for: a clinic ignores `advice`."""
    fail_closed: bool = True
    """When the safety check cannot be made: hand over. false: go on, and write it down."""
    synthetic_share: Share = 1.0
    """Share of conversations in which the model finds the analysis as its own words; in the others, as a result."""
    shown: bool = True
    """The user reads how they were understood also when the turn goes on."""
    spam: Share = 0.7
    """From this spam score on a message is turned away."""
    clarity: Share = 0.6
    """Below this confidence in what is wanted the user is asked."""
    answer_from: Share = 0.75
    """service: from this confidence on an answer is given."""
    escalate_below: Share = 0.5
    """service: below this confidence a person is asked."""
    topics: Annotated[tuple[TopicSection, ...], Field(max_length=50)] = ()
    """service: sensitive topics of your own, beside refund, legal, complaint and the others that come with it."""
    authority: Annotated[Mapping[Annotated[str, Field(min_length=1, max_length=300)], Share], Field(max_length=200)] = (
        Field(default_factory=dict)
    )
    """service: what documents weigh, by name or pattern, 0 to 1; the first that fits counts: `drafts/*: 0.5`."""
    customer: CustomerSection | None = None
    """service: the person of a conversation is looked up before a decision. Without it, nobody is."""

    @model_validator(mode="after")
    def _agree(self) -> UnderstandingSection:
        if self.escalate_below > self.answer_from:
            raise ValueError("escalate_below is above answer_from; a person is asked below, an answer is given above")
        if self.ignore and self.guardian == NOBODY:
            raise ValueError("ignore says what a guardian leaves alone, and there is none")
        names = [one.name for one in self.topics]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"there are two topics named '{twice[0]}'; put their phrases together")
        return self
