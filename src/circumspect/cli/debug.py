"""The debug view of a turn: what was understood, assessed, ruled, criticised, fetched and run, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.panel import Panel
from rich.text import Text

from circumspect.language import catalogue
from circumspect.values import JournalEntry, Json, TurnResult
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
    meta = entry.meta
    match entry.kind:
        case "assessment":
            shown = {
                name: meta[name]
                for name in ("confidence", "tool_call", "tool_params", "missing_params", "needs_more_context")
                if meta.get(name)
            }
            return compact(shown)
        case "policy":
            findings = meta.get("findings")
            rules = (
                [str(one["rule"]) for one in findings if isinstance(one, dict)] if isinstance(findings, list) else []
            )
            confidence = meta.get("confidence")
            return (
                f"{entry.content}"
                + (f" (confidence {confidence})" if confidence is not None else "")
                + (f": {', '.join(rules)}" if rules else "")
            )
        case "critique":
            return f"{meta.get('decision', '')} {entry.content}".strip()
        case "tool":
            outcome = meta.get("result") or meta.get("error")
            return f"{entry.content} {compact(meta.get('arguments'))} -> {compact(outcome)}"
        case "understanding":
            return f"\n{' ' * WIDTH}".join(_describe_understanding(entry))
        case _:
            return _short(entry.content)


def _short(text: str) -> str:
    return " ".join(text.split())[:200]


def _describe_understanding(entry: JournalEntry) -> list[str]:
    """What is behind an entry about understanding, one thing a line."""
    meta = entry.meta
    match meta:
        case {"synthetic": True}:
            return [f"for the model only: {_short(entry.content)}"]
        case {"action": str(action)}:
            return [*_describe_routing(action, meta), *_describe_decision(meta.get("decision"))]
        case {"sides": [*sides]}:
            return ["the sources contradict each other", *(_side(one) for one in sides if isinstance(one, Mapping))]
        case {"verdict": str(verdict)}:
            return [*_describe_lookup(verdict, meta), *_confidence(meta.get("confidence"))]
        case {"categories": [*categories]}:
            found = ", ".join(map(str, categories)) or "nothing"
            return [f"{_short(entry.content)}: {found}{'' if meta.get('flagged') else ' (not flagged)'}"]
        case _:
            return [_short(entry.content)]


def _describe_routing(action: str, meta: Mapping[str, Json]) -> list[str]:
    analysis = meta.get("analysis")
    lines = [f"action {action}" + (" (not the model's choice)" if meta.get("overridden") else "")]
    if isinstance(analysis, Mapping):
        lines.append(f"intent: {analysis['user_intent']}")
        lines.append(f"clear {analysis['intent_confidence']}, spam {analysis['spam_score']}")
    return lines


def _describe_decision(decision: Json) -> list[str]:
    if not isinstance(decision, Mapping):
        return []
    tools = decision.get("tools")
    with_tools = f" with {', '.join(map(str, tools))}" if isinstance(tools, Sequence) and tools else ""
    return [f"decision {decision['decision']}{with_tools}: {decision['why']}"]


def _side(side: Mapping[str, Json]) -> str:
    return f"  {side['document']} says {side['value']}: “{_short(str(side['quote']))}”"


def _describe_lookup(verdict: str, meta: Mapping[str, Json]) -> list[str]:
    sources = meta.get("sources")
    searched = "no search was needed: one saved" if meta.get("saved") else f"{meta.get('searches')} round(s) of search"
    lines = [f"{verdict}, {searched}"]
    for one in sources if isinstance(sources, Sequence) else ():
        if isinstance(one, Mapping):
            page = f", page {one['page']}" if one.get("page") else ""
            lines.append(f"  source [{one['number']}] {one['document']} § {one['section']}{page}, score {one['score']}")
    return lines


def _confidence(confidence: Json) -> list[str]:
    """Each factor with what it gave of what it could have given; complexity is one that counts against."""
    if not isinstance(confidence, Mapping):
        return []
    penalty = confidence.get("penalty")
    less = [
        *(["halved: the sources contradict each other"] if confidence.get("conflict") else []),
        *([f"times {penalty}: the search failed"] if penalty != 1.0 else []),
    ]
    lines = [f"confidence {confidence['value']}" + (f" ({'; '.join(less)})" if less else "")]
    factors = confidence.get("factors")
    for one in factors if isinstance(factors, Sequence) else ():
        if isinstance(one, Mapping):
            given = f"{one['contribution']} of {one['weight']}"
            lines.append(f"  {one['name']} {one['value']} gives {given}: {one['why']}")
    return lines
