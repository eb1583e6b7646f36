"""The debug view of a turn: what was understood, assessed, ruled, criticised, fetched and run, and what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.panel import Panel
from rich.text import Text

from circumspect.journal import (
    AssessmentEvent,
    CritiqueEvent,
    Event,
    ExecutionEvent,
    LookEvent,
    RulingEvent,
    read_event,
)
from circumspect.language import catalogue
from circumspect.policy.understanding.journal_events import (
    AnalysisMessageEvent,
    ConfidenceRecord,
    ConflictEvent,
    ConflictSideRecord,
    DecisionRecord,
    RetrievalEvent,
    ScreeningEvent,
    UnderstoodEvent,
)
from circumspect.values import JournalEntry, TurnResult
from circumspect.wording import compact

if TYPE_CHECKING:
    from rich.console import Console

COLOURS = {
    "answered": "cyan",
    "asked": "yellow",
    "acted": "green",
    "escalated": "magenta",
    "blocked": "red",
    "failed": "red",
}
STYLES = {
    "assessment": "blue",
    "critique": "magenta",
    "policy": "yellow",
    "context": "cyan",
    "tool": "green",
    "intent": "bright_yellow",
    "model": "white",
    "notice": "red",
    "understanding": "bright_cyan",
}
WIDTH = 14
"""Of the first column."""


def show(turn: TurnResult, console: Console) -> None:
    body = Text()
    for entry in turn.entries:
        body.append(f"{entry.kind:<{WIDTH}}", style=f"bold {STYLES.get(entry.kind, 'white')}")
        body.append(_line(entry))
        if entry.reason:
            body.append(f"  [{entry.reason}]", style="bold red" if entry.reason.category != "success" else "bold green")
        body.append("\n")
    usage = turn.usage
    body.append(
        f"{len(usage.calls)} model call(s) · {usage.input_tokens} tokens in, {usage.output_tokens} out"
        f"{' (estimated)' if any(call.estimated for call in usage.calls) else ''} · ${usage.cost_usd:.6f}"
        f" · {usage.context_rounds} context round(s) · {usage.critiques} critique(s)\n",
        style="dim",
    )
    for code in turn.reason_codes:
        body.append(f"{code}", style="bold").append(f"  {catalogue.meaning(code)}\n", style="dim")
    console.print(
        Panel(body, title=f"{turn.usage.mode} · {turn.outcome}", border_style=COLOURS[turn.outcome], title_align="left")
    )


def _line(entry: JournalEntry) -> str:
    match read_event(entry):
        case AssessmentEvent() as event:
            shown = {
                "confidence": event.confidence,
                "tool_call": event.tool_call,
                "tool_params": event.tool_params,
                "missing_params": event.missing_params,
                "needs_more_context": event.needs_more_context,
            }
            return compact({name: value for name, value in shown.items() if value})
        case RulingEvent() as event:
            return (
                f"{event.content}"
                + (f" (confidence {event.confidence})" if event.confidence is not None else "")
                + (f": {', '.join(one.rule for one in event.findings)}" if event.findings else "")
            )
        case CritiqueEvent() as event:
            return f"{event.decision} {event.content}".strip()
        case ExecutionEvent() | LookEvent() as event:
            return f"{event.content} {compact(event.arguments)} -> {compact(event.result or event.error)}"
        case Event(kind="understanding") as event:
            return f"\n{' ' * WIDTH}".join(_describe_understanding(event))
        case event:
            return _short(event.content)


def _short(text: str) -> str:
    return " ".join(text.split())[:200]


def _describe_understanding(event: Event) -> list[str]:
    """What is behind an entry about understanding, one thing a line."""
    match event:
        case AnalysisMessageEvent():
            return [f"for the model only: {_short(event.content)}"]
        case UnderstoodEvent():
            return [*_describe_routing(event), *_describe_decision(event.decision)]
        case ConflictEvent(sides=sides):
            return ["the sources contradict each other", *map(_describe_side, sides)]
        case RetrievalEvent():
            return [*_describe_lookup(event), *_describe_confidence(event.confidence)]
        case ScreeningEvent(categories=categories, flagged=flagged):
            found = ", ".join(categories) or "nothing"
            return [f"{_short(event.content)}: {found}{'' if flagged else ' (not flagged)'}"]
        case _:
            return [_short(event.content)]


def _describe_routing(event: UnderstoodEvent) -> list[str]:
    lines = [f"action {event.action}" + (" (not the model's choice)" if event.overridden else "")]
    if event.analysis:
        lines.append(f"intent: {event.analysis.user_intent}")
        lines.append(f"clear {event.analysis.intent_confidence}, spam {event.analysis.spam_score}")
    return lines


def _describe_decision(made: DecisionRecord | None) -> list[str]:
    if made is None:
        return []
    with_tools = f" with {', '.join(made.tools)}" if made.tools else ""
    return [f"decision {made.decision}{with_tools}: {made.why}"]


def _describe_side(side: ConflictSideRecord) -> str:
    return f"  {side.document} says {side.value}: “{_short(side.quote)}”"


def _describe_lookup(event: RetrievalEvent) -> list[str]:
    searched = "no search was needed: one saved" if event.saved else f"{event.searches} round(s) of search"
    lines = [f"{event.verdict}, {searched}"]
    for one in event.sources:
        page = f", page {one.page}" if one.page else ""
        lines.append(f"  source [{one.number}] {one.document} § {one.section}{page}, score {one.score}")
    return lines


def _describe_confidence(confidence: ConfidenceRecord | None) -> list[str]:
    """Each factor with what it gave of what it could have given; complexity is one that counts against."""
    if confidence is None:
        return []
    less = [
        *(["halved: the sources contradict each other"] if confidence.conflict else []),
        *([f"times {confidence.penalty}: the search failed"] if confidence.penalty != 1.0 else []),
    ]
    lines = [f"confidence {confidence.value}" + (f" ({'; '.join(less)})" if less else "")]
    for one in confidence.factors:
        lines.append(f"  {one.name} {one.value} gives {one.contribution} of {one.weight}: {one.why}")
    return lines
