"""How sure we may be of an answer: things that can be seen -> a number from 0 to 1, with every part of it.

    confidence = .3 source quality + .2 (1 - query complexity) + .3 context completeness + .2 tool success rate

halved where sources contradict each other. Each factor is a pure function below. What the model says about its own
confidence is not among them.

The one choice that may surprise: what was not needed did not fail. A turn that needs no source has source quality 1,
and a conversation in which no tool ran has a success rate of 1; otherwise "thanks" would be handed to a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, Protocol

from circumspect.language.sentences import find_ends
from circumspect.language.word_lists import as_matchable, patterns, pick_languages
from circumspect.policy.understanding.journal_events import ConfidenceRecord, FactorRecord
from circumspect.values import Execution, JsonObject, Language

Band = Literal["high", "medium", "low"]

WEIGHTS: Mapping[str, float] = {
    "source_quality": 0.3,
    "query_complexity": 0.2,
    "context_completeness": 0.3,
    "tool_success_rate": 0.2,
}
CONFLICT = 0.5
RETRIEVAL_FAILED = 0.7

_CHANCE, _ABOUT_IT = 0.05, 0.30
"""Search scores: below the first a passage is found by chance, from the second on it is about what was asked."""
_WORD = re.compile(r"\w+")
_QUESTION = re.compile(r"[?？؟]+")
_ENOUGH_WORDS, _MANY_WORDS = 8, 40
_LONGEST = 20_000


class Scored(Protocol):
    """What is read of a passage."""

    @property
    def document(self) -> str: ...
    @property
    def score(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Bands:
    """From `high` on an answer is given; below `low` a person is asked; between, once more or the user. Settable."""

    high: float = 0.75
    low: float = 0.5

    def of(self, confidence: float) -> Band:
        return "high" if confidence >= self.high else "medium" if confidence >= self.low else "low"


@dataclass(frozen=True, slots=True)
class Factor:
    name: str
    value: float
    weight: float
    why: str = ""

    @property
    def contribution(self) -> float:
        """What the factor adds to the confidence; the less complex, the more."""
        return self.weight * (1 - self.value if self.name == "query_complexity" else self.value)


@dataclass(frozen=True, slots=True)
class Confidence:
    factors: tuple[Factor, ...]
    conflict: bool = False
    penalty: float = 1.0
    """What an error on the way left of it."""

    @property
    def value(self) -> float:
        base = sum(factor.contribution for factor in self.factors)
        return round(base * (CONFLICT if self.conflict else 1.0) * self.penalty, 4)

    def read(self, name: str) -> float:
        """The factor of this name."""
        return next(factor.value for factor in self.factors if factor.name == name)

    def to_record(self) -> ConfidenceRecord:
        factors = (
            FactorRecord(one.name, round(one.value, 4), one.weight, round(one.contribution, 4), one.why)
            for one in self.factors
        )
        return ConfidenceRecord(self.value, self.conflict, self.penalty, tuple(factors))

    def explain(self) -> str:
        """One line for a person: what made it so, the weightiest loss first."""
        parts = [f"{one.name} {one.value:.2f} ({one.contribution:.2f} of {one.weight:.2f}: {one.why})" for one in
                 sorted(self.factors, key=lambda one: one.contribution - one.weight)]  # fmt: skip
        if self.conflict:
            parts.insert(0, "sources contradict each other (halved)")
        if self.penalty != 1.0:
            parts.insert(0, f"an error on the way (times {self.penalty})")
        return f"{self.value:.2f}: " + "; ".join(parts)


@dataclass(frozen=True, slots=True)
class MessageContext:
    """What is known around a message."""

    clarity: float
    """How well the message itself is understood, 0 to 1."""
    exchanges: int = 0
    """Earlier messages of the user in this conversation."""
    known: int = 0
    """Facts known about the person: an id, a lead's fields."""
    wanted: int = 0
    """Values that the tools to be used require."""
    given: int = 0
    """Of these, how many are there."""


def composite(
    source: tuple[float, str],
    complexity: tuple[float, str],
    context: tuple[float, str],
    tools: tuple[float, str],
    *,
    conflict: bool = False,
    penalty: float = 1.0,
) -> Confidence:
    """The formula. Each factor comes with the words that explain it."""
    values = dict(zip(WEIGHTS, (source, complexity, context, tools), strict=True))
    factors = tuple(
        Factor(name, min(1.0, max(0.0, values[name][0])), weight, values[name][1]) for name, weight in WEIGHTS.items()
    )
    return Confidence(factors, conflict, penalty)


def source_quality(
    passages: Sequence[Scored], *, needed: bool, authority: Mapping[str, float] | None = None
) -> tuple[float, str]:
    """The best passage: its search score on a scale from chance to about-it, times the authority of its document.

    `authority` gives documents by name or pattern (`drafts/*`) a weight from 0 to 1; the first that fits counts, and
    a document that none fits has 1."""
    if not needed:
        return 1.0, "no source was needed"
    if not passages:
        return 0.0, "nothing was found"
    ranked = [(_scale_match(one.score) * _authority(one.document, authority or {}), one) for one in passages]
    best, passage = max(ranked, key=lambda pair: pair[0])
    return best, f"best of {len(passages)}: {passage.document}, search score {passage.score:.2f}"


def query_complexity(text: str, language: Language) -> tuple[float, str]:
    """How much more than a plain question: its length, clauses, further questions, and whether it wants weighing up."""
    text = text[:_LONGEST]
    heard, words = as_matchable(text), len(_WORD.findall(text))
    weighing = joins = 0
    for one in pick_languages(text, language):
        lists = patterns("understanding", one)
        weighing += len(lists["weighing"].findall(heard))
        joins += len(lists["joins"].findall(heard))
    questions = max(0, len(_QUESTION.findall(text)) - 1)
    sentences = sum(1 for _ in find_ends(text, "further"))
    parts = {
        "words": 0.25 * min(1.0, max(0, words - _ENOUGH_WORDS) / (_MANY_WORDS - _ENOUGH_WORDS)),
        "joins": min(0.3, 0.1 * joins),
        "further questions": min(0.3, 0.2 * questions),
        "further sentences": min(0.15, 0.05 * sentences),
        "weighing up": min(0.8, 0.4 * weighing),
    }
    why = ", ".join(f"{name} {value:.2f}" for name, value in parts.items() if value) or "plain"
    return min(1.0, sum(parts.values())), why


def context_completeness(context: MessageContext) -> tuple[float, str]:
    """Half is how clear the message is (or, for a tool, which of its values are there); a quarter each is what was
    said before and what is known about the person. Two exchanges and two facts are enough."""
    clarity = min(1.0, max(0.0, context.clarity))
    if context.wanted:
        clarity = min(clarity, context.given / context.wanted) if context.given < context.wanted else clarity
    value = 0.5 * clarity + 0.25 * min(1.0, context.exchanges / 2) + 0.25 * min(1.0, context.known / 2)
    why = f"clarity {clarity:.2f}, {context.exchanges} earlier messages, {context.known} facts about the person"
    return value, why + (f", {context.given} of {context.wanted} values" if context.wanted else "")


def slots(tools: Iterable[Mapping[str, JsonObject]], text: str, known: Mapping[str, str]) -> tuple[int, int]:
    """How many values of the tools can be told by their form alone (addresses, numbers, ids), and how many of them are
    known or in the message. Names and dates are read by the model: nothing is counted that code cannot see."""
    wanted: dict[str, str] = {}
    for properties in tools:
        for name, schema in properties.items():
            if form := _form(name, schema):
                wanted[name] = form
    seen = {"address": "@" in text, "number": any(sign.isdigit() for sign in text)}
    return len(wanted), sum(name in known or seen[form] for name, form in wanted.items())


def _form(name: str, schema: JsonObject) -> str:
    if schema.get("format") == "email" or name.lower() in ("email", "e_mail", "to"):
        return "address"
    return "number" if schema.get("type") in ("number", "integer") or name.lower().endswith("id") else ""


def tool_success_rate(executions: Iterable[Execution]) -> tuple[float, str]:
    """Of the calls of this conversation that have ended, those that succeeded. Unknown outcomes did not succeed."""
    ended = [one.state for one in executions if one.state in ("succeeded", "failed", "indeterminate")]
    if not ended:
        return 1.0, "no tool has run"
    succeeded = ended.count("succeeded")
    return succeeded / len(ended), f"{succeeded} of {len(ended)} calls succeeded"


def _scale_match(score: float) -> float:
    return min(1.0, max(0.0, (score - _CHANCE) / (_ABOUT_IT - _CHANCE)))


def _authority(document: str, authority: Mapping[str, float]) -> float:
    return next((weight for pattern, weight in authority.items() if fnmatchcase(document, pattern)), 1.0)
