"""The audit as one HTML page to send to somebody: figures, charts, cases with filters. No network, nothing external.

Charts are SVG drawn here. Everything that comes from a transcript is escaped; the page's own style and script are
allowed by their hashes in its Content-Security-Policy, and nothing else is.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from html import escape
from importlib.resources import files

import orjson

from circumspect.audit.ground_truth import AuditScore
from circumspect.audit.report_text import clean, format_count
from circumspect.audit.rulings import AuditedCall
from circumspect.audit.summary import VERDICTS, AuditSummary, evidence

_WORDS: Mapping[str, str] = {
    "allow": "would run",
    "ask": "would ask the user",
    "escalate": "would go to a person",
    "deny": "would be refused",
}


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
    style, script = _file("page.css"), _file("page.js")
    parts = {
        "title": escape(title),
        "subtitle": escape(_subtitle(summary, policy, at)),
        "style": style,
        "script": script,
        "style-hash": _hash(style),
        "script-hash": _hash(script),
        "figures": "".join(_figures(summary)),
        "charts": "".join(_charts(summary)),
        "score": "".join(_score(score)) if score else "",
        "cases": "".join(_cases(summary.telling(most), summary, meanings or {})),
        "claims": "".join(_claims(summary)),
        "problems": "".join(_problems(summary)),
        "footer": "Made by circumspect audit. No model was asked, and nothing was run.",
    }
    # One pass over the template: what is put in is never looked at again.
    return re.sub(r"\[\[([a-z-]+)\]\]", lambda match: parts[match[1]], _file("page.html"))


def _file(name: str) -> str:
    return (files("circumspect.audit") / "page" / name).read_text("utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _subtitle(summary: AuditSummary, policy: str, at: datetime | None) -> str:
    parts = [f"{format_count(summary.calls, 'proposed call')} in {format_count(summary.conversations, 'conversation')}"]
    parts.append(f"policy {policy}" if policy else "no policy: effects guessed from the tools")
    if at:
        parts.append(at.strftime("%Y-%m-%d %H:%M %Z").strip())
    return " · ".join(parts)


def _figures(summary: AuditSummary) -> Iterator[str]:
    yield '<div class="figures">'
    for verdict in VERDICTS:
        count = summary.verdicts[verdict]
        share = f"{100 * count / summary.calls:.1f} %" if summary.calls else "–"
        yield f'<div class="figure {verdict}"><b>{count:,}</b>{_WORDS[verdict]}<br>'
        yield f'<span class="soft">{share}</span></div>'
    if summary.claim_count:
        yield f'<div class="figure deny"><b>{summary.claim_count:,}</b>replies claim what no call did</div>'
    yield "</div>"


# --- charts -----------------------------------------------------------------------------------------------------------


def _charts(summary: AuditSummary) -> Iterator[str]:
    yield '<h2>At a glance</h2><div class="charts">'
    if summary.reasons:
        yield '<div class="chart"><h3>Why calls were held</h3>'
        yield _bars(summary.reasons.most_common(12))
        yield "</div>"
    tools = sorted(summary.tools.items(), key=lambda one: (-(sum(one[1].values()) - one[1]["allow"]), one[0]))[:12]
    if tools:
        yield '<div class="chart"><h3>By tool</h3>'
        yield _stacks(tools)
        yield "</div>"
    yield "</div>"


def _bars(counts: Sequence[tuple[str, int]], width: int = 460, row: int = 24, label: int = 230) -> str:
    most = max((count for _, count in counts), default=1)
    room = width - label - 60
    drawn = []
    for at, (name, count) in enumerate(counts):
        y, wide = at * row, max(2.0, room * count / most)
        drawn.append(
            f'<text x="0" y="{y + 16}">{escape(name)}</text>'
            f'<rect class="bar" x="{label}" y="{y + 5}" width="{wide:.1f}" height="14" rx="3"/>'
            f'<text class="count" x="{label + wide + 8:.1f}" y="{y + 16}">{count:,}</text>'
        )
    return _svg(drawn, width, row * len(counts), "Number of held calls by reason")


def _stacks(tools: Sequence[tuple[str, Counter[str]]], width: int = 460, row: int = 24, label: int = 230) -> str:
    most = max((sum(counts.values()) for _, counts in tools), default=1)
    room = width - label - 60
    drawn = []
    for at, (name, counts) in enumerate(tools):
        y, x = at * row, float(label)
        drawn.append(f'<text x="0" y="{y + 16}">{escape(clean(name, 34))}</text>')
        for verdict in ("deny", "escalate", "ask", "allow"):
            wide = room * counts[verdict] / most
            if counts[verdict]:
                drawn.append(
                    f'<rect class="{verdict}" x="{x:.1f}" y="{y + 5}" width="{max(wide, 1.0):.1f}" height="14">'
                    f"<title>{escape(name)}: {counts[verdict]:,} {_WORDS[verdict]}</title></rect>"
                )
                x += max(wide, 1.0)
        held = sum(counts.values()) - counts["allow"]
        drawn.append(f'<text class="count" x="{x + 8:.1f}" y="{y + 16}">{held:,}/{sum(counts.values()):,}</text>')
    return _svg(drawn, width, row * len(tools), "Calls by tool and verdict; the first number is how many were held")


def _svg(drawn: Iterable[str], width: int, height: int, title: str) -> str:
    return (
        f'<svg viewBox="0 0 {width} {max(height, 1)}" width="100%" role="img" aria-label="{escape(title)}">'
        f"{''.join(drawn)}</svg>"
    )


# --- the rest ---------------------------------------------------------------------------------------------------------


def _score(score: AuditScore) -> Iterator[str]:
    (held, wrong), (needless, right) = score.wrong, score.right
    yield "<h2>Against the labels</h2><div class=figures>"
    for name, number, note in (
        ("deny", score.catch_rate, f"wrong calls held ({held:,} of {wrong:,})"),
        ("ask", score.friction, f"right calls held ({needless:,} of {right:,})"),
        ("allow", score.precision, "of held calls were wrong"),
    ):
        said = "–" if number is None else f"{100 * number:.1f} %"
        yield f'<div class="figure {name}"><b>{said}</b>{note}</div>'
    cost = "–" if score.cost is None else f"{score.cost:.3f}"
    yield f'<div class="figure"><b>{cost}</b>cost, of letting everything through</div></div>'
    yield "<h2>By reason</h2><table><tr><th>reason<th class=number>wrong held<th class=number>right held"
    yield "<th class=number>precision</tr>"
    for code, tally in sorted(score.reasons.items(), key=lambda one: -one[1].wrong):
        precision = "–" if tally.precision is None else f"{100 * tally.precision:.0f} %"
        yield (
            f"<tr><td>{escape(code)}<td class=number>{tally.wrong:,}<td class=number>{tally.right:,}"
            f"<td class=number>{precision}</tr>"
        )
    yield "</table>"


def _cases(cases: Sequence[AuditedCall], summary: AuditSummary, meanings: Mapping[str, str]) -> Iterator[str]:
    if not cases:
        return
    yield f"<h2>Cases</h2><p class=soft>The most telling {len(cases):,} of {summary.held_calls:,} held calls.</p>"
    yield '<div class="filters">'
    yield _choice("verdict", "any verdict", [verdict for verdict in VERDICTS if verdict != "allow"])
    yield _choice("reason", "any reason", sorted({str(code) for row in cases for code in row.reason_codes}))
    yield _choice("tool", "any tool", sorted({row.tool for row in cases}))
    yield '<input id="words" type="search" placeholder="search words, ids, values" aria-label="search">'
    yield '<span id="shown" class="soft"></span></div>'
    for row in cases:
        yield from _case(row, meanings)


def _choice(name: str, every: str, values: Sequence[str]) -> str:
    options = "".join(f'<option value="{escape(value)}">{escape(clean(value, 60))}</option>' for value in values)
    return f'<select id="{name}" aria-label="{name}"><option value="">{every}</option>{options}</select>'


def _case(row: AuditedCall, meanings: Mapping[str, str]) -> Iterator[str]:
    codes = [str(code) for code in row.reason_codes]
    yield (
        f'<details class="case {row.verdict}" data-verdict="{row.verdict}" data-reasons="{escape(" ".join(codes))}" '
        f'data-tool="{escape(row.tool)}"><summary><span class="tag {row.verdict}">{row.verdict}</span>'
        f"<code>{escape(clean(row.tool, 80))}</code>"
    )
    for code in codes:
        yield f'<span class="tag code" title="{escape(meanings.get(code, ""))}">{escape(code)}</span>'
    yield '</summary><div class="inside">'
    yield "<ul class=why>"
    for name, why in evidence(row):
        yield f"<li><b>{escape(clean(name, 60))}</b> {escape(clean(why, 500))}</li>"
    arguments = orjson.dumps(row.arguments, default=str, option=orjson.OPT_INDENT_2).decode()
    yield f"</ul><pre>{escape(arguments[:4000])}</pre>"
    if row.question:
        yield f'<div class="said"><b>assistant</b>{escape(row.question[-1200:])}</div>'
    if row.answer:
        yield f'<div class="said"><b>user</b>{escape(row.answer[:1200])}</div>'
    where = f"{row.path}:{row.line} · {row.id} · message {row.index}, call {row.call}"
    yield f"<p class=soft>{escape(clean(where, 300))}</p></div></details>"


def _claims(summary: AuditSummary) -> Iterator[str]:
    if not summary.claims:
        return
    yield "<h2>Replies that claim what no call did</h2>"
    for claim in summary.claims:
        yield (
            f'<div class="said"><b>{escape(clean(claim.id, 120))}, message {claim.index}</b>'
            f"{escape(clean(claim.claim.sentence))}</div>"
        )


def _problems(summary: AuditSummary) -> Iterator[str]:
    if not summary.problem_counts:
        return
    yield f"<h2>Could not be read: {sum(summary.problem_counts.values()):,}</h2><table>"
    for problem in summary.problems:
        yield f"<tr><td>{escape(clean(str(problem)))}</tr>"
    yield "</table>"
