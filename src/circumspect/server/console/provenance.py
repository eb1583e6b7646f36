"""Where the arguments of a proposed call came from: a stored conversation in, the words behind each argument out.

Nothing of this is stored: it is worked out again from what was said and done before the ruling, by the code that the
rules themselves use.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from circumspect.journal import Journal
from circumspect.lab.replay.past_calls import Record
from circumspect.lab.replay.recorded_turns import Ruling, rulings
from circumspect.language.folding import fold
from circumspect.policy.grounding.tracing import Traced, trace
from circumspect.policy.policy_file import Policy
from circumspect.recall import recall
from circumspect.steps.enforce import look_at
from circumspect.values import History, PastCall, ToolSpec, Utterance

AROUND = 60
"""Characters of the source shown on either side."""


@dataclass(frozen=True, slots=True)
class SourceExcerpt:
    """`origin` is tracing's word for where a value was first seen; `words` are what was said there."""

    argument: str
    origin: str
    words: str
    field: str


async def sources(
    record: Record, specs: Mapping[str, ToolSpec], wanted: Collection[int]
) -> dict[int, dict[str, SourceExcerpt]]:
    """By the number of the ruling's message, then by argument. What cannot be worked out is left out."""
    found = {}
    for ruling in rulings(record):
        if ruling.seq in wanted and ruling.moment is not None and ruling.call.tool in specs:
            found[ruling.seq] = await _of(ruling, specs)
    return found


async def _of(ruling: Ruling, specs: Mapping[str, ToolSpec]) -> dict[str, SourceExcerpt]:
    moment = ruling.moment
    assert moment is not None
    notes, past = Journal(), _any(moment.past)
    notes.ran.extend(moment.ran)
    session = await recall(moment.screened, ruling.call.tool, None, specs, notes, past)
    facts = look_at(
        ruling.call, moment.screened, moment.drafted, Policy(), specs, moment.profile.mode, moment.now, session
    )
    return {one.argument: _source(one, session) for one in trace(facts)}


def _any(past: object) -> Any:
    """The past answers what a rule may ask of a store, and nothing else."""
    return past


def _source(traced: Traced, session: History) -> SourceExcerpt:
    event = next((one for one in session.events if one.index == traced.index), None) if traced.index >= 0 else None
    match event:
        case Utterance(text=text):
            words = _excerpt(text, str(traced.value))
        case PastCall(call=call):
            words = call.tool
        case _:
            words = ""
    return SourceExcerpt(traced.argument, traced.origin, words, traced.field)


def _excerpt(text: str, value: str) -> str:
    """The value with what stands round it; the beginning, where it is spelt differently."""
    at = max(0, fold(text).find(fold(value)))
    begin, end = max(0, at - AROUND), at + len(value) + AROUND
    return f"{'…' if begin else ''}{' '.join(text[begin:end].split())}{'…' if end < len(text) else ''}"
