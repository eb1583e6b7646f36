"""What a turn took: its journal, its result and the ledger in, its steps with their seconds and tokens out.

Model calls and tool calls stand in the order in which they were made, each below the turn that they are part of. A tool
call begins when the ledger says; of a model call only its length is known, so that it follows what came before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import sqlalchemy as sa

from circumspect.journal import ExecutionEvent, read_event
from circumspect.server.console.charts import Chart, WaterfallSpan, waterfall
from circumspect.stores.codec import moment, moment_of
from circumspect.stores.tables import tool_executions, turns
from circumspect.values import Message, ModelUsage, TurnResult, Usage

LOOKS = {"assessment": "fa", "critique": "fc", "tool": "f3"}
_THOUGHT = ("assessment", "model", "critique")


@dataclass(frozen=True, slots=True)
class TimeSpan:
    begin: datetime
    end: datetime | None

    @property
    def seconds(self) -> float | None:
        return None if self.end is None else max(0.0, (self.end - self.begin).total_seconds())


@dataclass(frozen=True, slots=True)
class TurnStep:
    """A model call, or a call of a tool."""

    kind: str
    call: ModelUsage | None = None
    tool: str = ""
    time: TimeSpan | None = None

    @property
    def seconds(self) -> float:
        if self.call is not None:
            return self.call.seconds
        return (self.time.seconds if self.time else None) or 0.0


@dataclass(frozen=True, slots=True)
class TurnTimes:
    turn: str
    usage: Usage
    steps: Sequence[TurnStep]
    whole: TimeSpan | None

    @property
    def is_timed(self) -> bool:
        """The offline model takes no time to speak of."""
        return any(one.call.seconds for one in self.steps if one.call)

    @property
    def tools(self) -> int:
        return sum(one.call is None for one in self.steps)


@dataclass(frozen=True, slots=True)
class TimeLedger:
    """When the turns of a page, and the calls that they made, began and ended."""

    turns: Mapping[str, TimeSpan]
    executions: Mapping[str, TimeSpan]


def read_times(connection: sa.Connection, tenant: str, conversation: str, ids: Sequence[str]) -> TimeLedger:
    spans, calls = {}, {}
    rows = tool_executions.c
    for at in range(0, len(ids), 500):
        own = sa.select(turns.c.id, turns.c.started_at, turns.c.finished_at).where(turns.c.id.in_(ids[at : at + 500]))
        for row in connection.execute(own):
            spans[row.id] = TimeSpan(moment(row.started_at), moment_of(row.finished_at))
    made = sa.select(rows.id, rows.started_at, rows.finished_at)
    for row in connection.execute(made.where(rows.tenant == tenant, rows.conversation == conversation)):
        calls[row.id] = TimeSpan(moment(row.started_at), moment_of(row.finished_at))
    return TimeLedger(spans, calls)


def list_steps(result: TurnResult | None, journal: Sequence[Message], ledger: TimeLedger) -> TurnTimes | None:
    """None where nothing was asked of a model or a tool."""
    if result is None:
        return None
    calls = result.usage.calls
    thoughts = [one for one in journal if one.kind in _THOUGHT]
    steps: list[TurnStep] = []
    if len(thoughts) == len(calls):
        waiting = iter(calls)
        for one in journal:
            if one.kind in _THOUGHT:
                steps.append(TurnStep(one.kind, next(waiting)))
            elif step := _read_tool_step(one, ledger):
                steps.append(step)
    else:
        steps = [TurnStep("model", call) for call in calls]
        steps += [step for one in journal if (step := _read_tool_step(one, ledger))]
    return TurnTimes(result.turn, result.usage, steps, ledger.turns.get(result.turn)) if steps else None


def _read_tool_step(row: Message, ledger: TimeLedger) -> TurnStep | None:
    event = read_event(row)
    if not isinstance(event, ExecutionEvent):
        return None
    return TurnStep("tool", None, event.tool, ledger.executions.get(event.execution))


def draw_times(times: TurnTimes, t: Callable[..., str], number: Callable[..., str]) -> Chart:
    """Where no model call was timed, the length is the tokens', and the words beside a tool say how long it took."""
    named = list(_place(times))
    beside = [_say_beside(step, times.is_timed, t, number) for step, _, _ in named]
    spans = [
        WaterfallSpan(
            step.tool or t(f"kind-{step.kind}"), begin, length, LOOKS.get(step.kind, "f6"), _tip(step, said, t, number)
        )
        for (step, begin, length), said in zip(named, beside, strict=True)
    ]
    whole = times.whole.seconds if times.whole else None
    if times.is_timed and whole:
        took = t("model-call-seconds", seconds=number(whole, 2))
        spans.insert(0, WaterfallSpan(t("turn-whole"), 0.0, whole, "f-whole", took))
        beside.insert(0, took)
    chart = waterfall(spans, nested=len(spans) > len(named))
    labels = list(chart.labels)
    for at, text in enumerate(beside):
        labels[2 * at + 1] = replace(labels[2 * at + 1], text=text)
    rows = tuple((_isolate(span.name), text, span.tip) for span, text in zip(spans, beside, strict=True))
    return replace(chart, labels=tuple(labels), rows=rows)


def _place(times: TurnTimes) -> Iterator[tuple[TurnStep, float, float]]:
    """Each step with where it begins and how long it is."""
    at = 0.0
    for step in times.steps:
        length = step.seconds
        if not times.is_timed:
            length = (step.call.input_tokens + step.call.output_tokens) / 1000 if step.call else 0.0
        elif step.time and times.whole:
            at = max(at, (step.time.begin - times.whole.begin).total_seconds())
        yield step, at, length
        at += length


def _say_beside(step: TurnStep, is_timed: bool, t: Callable[..., str], number: Callable[..., str]) -> str:
    if step.call is None:
        ended = step.time and step.time.seconds is not None
        return t("model-call-seconds", seconds=number(step.seconds, 2)) if ended else "–"
    tokens = t("model-call-tokens", sent=number(step.call.input_tokens), back=number(step.call.output_tokens))
    return f"{t('model-call-seconds', seconds=number(step.seconds, 2))} · {tokens}" if is_timed else tokens


def _tip(step: TurnStep, said: str, t: Callable[..., str], number: Callable[..., str]) -> str:
    if step.call is None:
        return f"{t('kind-tool')} · {_isolate(step.tool)} · {said}"
    took = t("model-call-seconds", seconds=number(step.seconds, 2))
    tokens = t("model-call-tokens", sent=number(step.call.input_tokens), back=number(step.call.output_tokens))
    return f"{_isolate(step.call.model)} · {tokens} · {took} · {_isolate(f'${step.call.cost_usd:.6f}')}"


def _isolate(name: str) -> str:
    """A name or a sum keeps its own direction in a line of Hebrew."""
    return f"\u2068{name}\u2069"
