"""The debug view of a turn: what was assessed, ruled, criticised, fetched and run, and what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.panel import Panel
from rich.text import Text

from circumspect import locales
from circumspect.turn import Entry, TurnResult
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
}


def show(turn: TurnResult, console: Console) -> None:
    body = Text()
    for entry in turn.entries:
        body.append(f"{entry.kind:<11}", style=f"bold {STYLES.get(entry.kind, 'white')}")
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
        body.append(f"{code}", style="bold").append(f"  {locales.meaning(code)}\n", style="dim")
    console.print(
        Panel(body, title=f"{turn.usage.mode} · {turn.outcome}", border_style=COLOURS[turn.outcome], title_align="left")
    )


def _line(entry: Entry) -> str:
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
        case _:
            return " ".join(entry.content.split())[:200]
