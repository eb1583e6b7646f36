"""The audit as one HTML page to send to somebody: figures, charts, cases with filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import orjson

from circumspect.audit.ground_truth import AuditScore
from circumspect.audit.report_text import clean, format_count
from circumspect.audit.rulings import AuditedCall
from circumspect.audit.summary import VERDICTS, AuditSummary, evidence
from circumspect.reports import render

_WORDS: Mapping[str, str] = {
    "allow": "would run",
    "redo": "would go back to the model to look something up",
    "ask": "would ask the user",
    "escalate": "would go to a person",
    "deny": "would be refused",
}
_CHART_ROWS = 12
_BARS_START, _BARS_ROOM = 230, 170
"""In the units of the SVG, which is 460 wide: names stand before the bars and counts behind them."""


def page(
    summary: AuditSummary,
    score: AuditScore | None = None,
    *,
    title: str = "What would have been held",
    policy: str = "",
    at: datetime | None = None,
    meanings: Mapping[str, str] | None = None,
    most: int = 300,
) -> str:
    """The whole page. `policy` is the name to show; `meanings` the one-line meanings of reason codes."""
    cases = summary.telling(most)
    return render(
        "audit",
        title=title,
        subtitle=_subtitle(summary, policy, at),
        summary=summary,
        score=score,
        verdicts={verdict: _WORDS[verdict] for verdict in VERDICTS},
        reasons=_chart_reasons(summary),
        tools=_chart_tools(summary),
        cases=cases,
        held_verdicts=[verdict for verdict in VERDICTS if verdict != "allow"],
        held_codes=sorted({str(code) for row in cases for code in row.reason_codes}),
        held_tools=sorted({row.tool for row in cases}),
        meanings=meanings or {},
        clean=clean,
        evidence=evidence,
        format_arguments=_format_arguments,
    )


def _subtitle(summary: AuditSummary, policy: str, at: datetime | None) -> str:
    parts = [f"{format_count(summary.calls, 'proposed call')} in {format_count(summary.conversations, 'conversation')}"]
    parts.append(f"policy {policy}" if policy else "no policy: effects guessed from the tools")
    if summary.undefined_count:
        parts.append(f"{format_count(summary.undefined_count, 'conversation')} without tool definitions")
    if at:
        parts.append(at.strftime("%Y-%m-%d %H:%M %Z").strip())
    return " · ".join(parts)


def _format_arguments(row: AuditedCall) -> str:
    return orjson.dumps(row.arguments, default=str, option=orjson.OPT_INDENT_2).decode()[:4000]


@dataclass(frozen=True, slots=True)
class BarPart:
    look: str
    x: float
    width: float
    title: str = ""


@dataclass(frozen=True, slots=True)
class BarRow:
    name: str
    parts: list[BarPart]
    count: str

    @property
    def end(self) -> float:
        return self.parts[-1].x + self.parts[-1].width


def _chart_reasons(summary: AuditSummary) -> list[BarRow]:
    counts = summary.reasons.most_common(_CHART_ROWS)
    most = max((count for _, count in counts), default=1)
    return [
        BarRow(name, [BarPart("bar", _BARS_START, max(2.0, _BARS_ROOM * count / most))], f"{count:,}")
        for name, count in counts
    ]


def _chart_tools(summary: AuditSummary) -> list[BarRow]:
    """A row for each tool, those with the most held calls first; a part for each verdict."""
    held = {name: counts.total() - counts["allow"] for name, counts in summary.tools.items()}
    names = sorted(held, key=lambda name: (-held[name], name))[:_CHART_ROWS]
    most = max((summary.tools[name].total() for name in names), default=1)
    rows = []
    for name in names:
        counts, x, parts = summary.tools[name], float(_BARS_START), list[BarPart]()
        for verdict in reversed(VERDICTS):
            if count := counts[verdict]:
                width = max(_BARS_ROOM * count / most, 1.0)
                parts.append(BarPart(verdict, x, width, f"{name}: {count:,} {_WORDS[verdict]}"))
                x += width
        rows.append(BarRow(name, parts, f"{held[name]:,}/{counts.total():,}"))
    return rows
