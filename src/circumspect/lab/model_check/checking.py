"""One message to an agent, and how the model did: agent, case -> ModelCheckOutcome; outcomes -> ModelCheckReport.

A whole turn is taken, as a user would: what is measured is what the rest of the code had to mend, hold or correct.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import takewhile
from typing import Literal

from circumspect.agent import Agent
from circumspect.journal import AssessmentEvent, DraftEvent, Event, PromptEvent, RulingEvent, read_event
from circumspect.lab.model_check.cases import ModelCheckCase
from circumspect.language.detection import find_language
from circumspect.policy.parsing import assessment as assessments
from circumspect.reasons import ReasonCode
from circumspect.values import Json, TurnResult

BROKEN = frozenset(
    (
        ReasonCode.ASSESSMENT_UNPARSABLE,
        ReasonCode.ANALYSIS_UNREADABLE,
        ReasonCode.INVALID_DECISION,
        ReasonCode.CRITIQUE_FAILED,
    )
)
Marks = dict[str, float]
MARKS: Marks = {"format": 0.95, "tools": 0.8, "values": 0.95, "claims": 0.95, "language": 0.95}
"""The shares below which a model is not fit for its work unwatched."""
_TELLING = 12


@dataclass(frozen=True, slots=True)
class ModelCheckOutcome:
    """What became of one case. None where the case says nothing about it."""

    case: str
    language: str
    format: Literal["kept", "mended", "broken", "unanswered"]
    tool: bool | None = None
    invented: tuple[str, ...] = ()
    values: bool | None = None
    false_claim: bool = False
    spoke: bool | None = None
    """In the language of the message, where it wrote words of its own."""
    mendings: tuple[str, ...] = ()
    proposed: tuple[str, ...] = ()
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    seconds: float = 0.0


async def check_case(agent: Agent, case: ModelCheckCase) -> ModelCheckOutcome:
    started = time.monotonic()
    turn = await agent.turn(case.say, conversation=case.id)
    events = [read_event(entry) for entry in turn.entries]
    # From where code takes a wish up, the calls are no longer the model's.
    own = takewhile(lambda entry: entry.reason is not ReasonCode.WISH_NEGLECTED, turn.entries)
    rulings = [event for event in map(read_event, own) if isinstance(event, RulingEvent)]
    mendings = tuple(line for event in events for line in _mendings(event))
    invented = tuple(dict.fromkeys(name for one in rulings for name in _invented(one, case)))
    tool, values = _judge(rulings, case)
    usage = turn.usage
    return ModelCheckOutcome(
        case.id,
        case.language,
        _format(turn, mendings),
        tool=None if case.form else tool,
        invented=invented,
        values=None if case.form or not (case.values or case.missing) else values and not invented,
        false_claim=ReasonCode.UNSUPPORTED_CLAIM in turn.reason_codes,
        spoke=_speaks(events, case),
        mendings=mendings,
        proposed=tuple(one.tool for one in rulings),
        calls=len(usage.calls),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=sum(call.cost_usd for call in usage.calls),
        seconds=time.monotonic() - started,
    )


def _mendings(event: Event) -> tuple[str, ...]:
    return event.mendings or () if isinstance(event, PromptEvent | RulingEvent) else ()


def _format(turn: TurnResult, mendings: Sequence[str]) -> Literal["kept", "mended", "broken", "unanswered"]:
    codes = set(turn.reason_codes)
    if ReasonCode.MODEL_FAILED in codes:
        return "unanswered"
    if codes & BROKEN:
        return "broken"
    return "mended" if mendings or ReasonCode.ASSESSMENT_MISSING in codes else "kept"


def _invented(ruling: RulingEvent, case: ModelCheckCase) -> Iterator[str]:
    """Values that nobody gave, where the rules say so or the case does."""
    if any(one.reason == ReasonCode.UNGROUNDED_PARAM for one in ruling.findings):
        yield ruling.tool
    for name in case.missing:
        if ruling.arguments.get(name):
            yield name


def _judge(rulings: Sequence[RulingEvent], case: ModelCheckCase) -> tuple[bool, bool]:
    """Was the right tool proposed, and with the values that were said?"""
    if case.tool is None:
        harmless = all(one.effect == "read" for one in rulings)
        return harmless or bool(case.missing), True
    named = [one for one in rulings if one.tool == case.tool]
    others = [one for one in rulings if one.tool != case.tool and one.effect != "read"]
    values = any(all(one.arguments.get(key) == value for key, value in case.values.items()) for one in named)
    return bool(named) and not others, values


def _speaks(events: Sequence[Event], case: ModelCheckCase) -> bool | None:
    drafts = [event for event in events if isinstance(event, AssessmentEvent | DraftEvent)]
    words = [assessments.read(event.content)[0] for event in drafts]
    heard = [find_language(text) for text in words if len(text) >= _TELLING]
    told = [language for language in heard if language]
    return all(language == case.language for language in told) if told else None


@dataclass(frozen=True, slots=True)
class ModelCheckReport:
    """How a model did, over the cases that were played."""

    model: str
    cases: int
    played: int
    shares: dict[str, float | None]
    """By what is measured, from 0 to 1; None where nothing was said about it."""
    formats: dict[str, int]
    mendings: tuple[tuple[str, int], ...]
    """The commonest, and how often."""
    by_language: dict[str, float | None]
    """Right tools, by language."""
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    seconds: tuple[float, float]
    """A turn: half of them are quicker than the first, nineteen of twenty than the second."""
    outcomes: tuple[ModelCheckOutcome, ...] = field(default_factory=tuple)

    @property
    def below(self) -> tuple[str, ...]:
        """What is below its mark."""
        return tuple(name for name, mark in MARKS.items() if (share := self.shares[name]) is not None and share < mark)

    def to_json(self) -> dict[str, Json]:
        return {**asdict(self), "complete": self.played == self.cases, "below": list(self.below)}


def report(model: str, outcomes: Sequence[ModelCheckOutcome], cases: int) -> ModelCheckReport:
    seconds = sorted(one.seconds for one in outcomes) or [0.0]
    return ModelCheckReport(
        model,
        cases,
        len(outcomes),
        shares={
            "format": _share(outcomes, lambda one: one.format in ("kept", "mended")),
            "unmended": _share(outcomes, lambda one: one.format == "kept"),
            "tools": _share(outcomes, lambda one: one.tool),
            "values": _share(outcomes, lambda one: one.values),
            "claims": _share(outcomes, lambda one: not one.false_claim),
            "language": _share(outcomes, lambda one: one.spoke),
        },
        formats=dict(Counter(one.format for one in outcomes)),
        mendings=tuple(Counter(line for one in outcomes for line in set(one.mendings)).most_common(5)),
        by_language={
            code: _share([one for one in outcomes if one.language == code], lambda one: one.tool)
            for code in dict.fromkeys(one.language for one in outcomes)
        },
        calls=sum(one.calls for one in outcomes),
        input_tokens=sum(one.input_tokens for one in outcomes),
        output_tokens=sum(one.output_tokens for one in outcomes),
        cost_usd=sum(one.cost_usd for one in outcomes),
        seconds=(seconds[len(seconds) // 2], seconds[min(len(seconds) - 1, len(seconds) * 19 // 20)]),
        outcomes=tuple(outcomes),
    )


def _share(outcomes: Sequence[ModelCheckOutcome], good: Callable[[ModelCheckOutcome], bool | None]) -> float | None:
    said = [value for one in outcomes if (value := good(one)) is not None]
    return sum(said) / len(said) if said else None
